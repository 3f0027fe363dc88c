import os
from pathlib import Path

import pytest

# Read once, when torch and matplotlib are imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "Agg")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of data sets kept outside the repository; skips the test where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    data = Path(os.environ.get("SKBOUND_SHARED", beside)) / "data"
    if not data.is_dir():
        pytest.skip("needs the external data: set SKBOUND_SHARED to the folder that holds data/")
    return data
