"""No bound takes evidence that it is not listed for, whatever a user passes as ``bound``."""

import pytest

from skbound.bounds import BOUNDS
from skbound.exceptions import MissingEvidenceError
from skbound.protocols import (
    CrossFit,
    DescriptionLength,
    FrozenFeatures,
    Holdout,
    PACBayes,
    PickToLearn,
    Progressive,
    RecursivePACBayes,
)

PROTOCOLS = [
    *(Holdout(), PickToLearn(), RecursivePACBayes(), DescriptionLength(), FrozenFeatures()),
    *(Progressive(predictor=how) for how in ("gibbs", "vote", "average", "last")),
    *(PACBayes(predictor=how) for how in ("single_draw", "gibbs", "vote", "average")),
    *(CrossFit(3, how) for how in ("vote", "gibbs", "average")),
    CrossFit(3, scheme="bags"),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=repr)
def test_only_listed_bounds_take_the_evidence(protocol):
    evidence = protocol.example
    listed = {repr(bound) for bound in BOUNDS[evidence.kind].values()}
    others = [b for home in BOUNDS.values() for b in home.values() if repr(b) not in listed]
    for bound in others:
        with pytest.raises(MissingEvidenceError):
            bound.terms(evidence, 0.05)
