"""All measures of one net."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skbound.evidence import NetRecord
from skbound.exceptions import MissingEvidenceError
from skbound.measures._catalogue import MEASURES
from skbound.measures._measure import ComplexityMeasure, Measure

__all__ = ["Measures", "measure", "measure_all"]


class Measures(dict[str, Measure]):
    """Measures of a net by their keys, in the order of the catalogue.

    Attributes
    ----------
    not_computed : dict of str to str
        The keys of measures that do not apply to this net, and why.
    """

    def __init__(self, found: dict[str, Measure], not_computed: dict[str, str]) -> None:
        super().__init__(found)
        self.not_computed = not_computed

    def to_frame(self) -> Any:
        """Return a table with one row per measure, those not computed included.

        Returns
        -------
        pandas.DataFrame
            With columns value, log_value, depends_on, source, note and not_computed, indexed by
            key.
        """
        import pandas as pd  # type: ignore[import-untyped]

        rows = {
            key: {
                "value": m.value,
                "log_value": m.log_value,
                "depends_on": ", ".join(m.depends_on),
                "source": m.source,
                "note": m.note,
                "not_computed": "",
            }
            for key, m in self.items()
        }
        rows |= {key: {"not_computed": why} for key, why in self.not_computed.items()}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("measure")


def measure(net: NetRecord, rules: Iterable[ComplexityMeasure] | None = None) -> Measures:
    """Compute measures from what was collected.

    Parameters
    ----------
    net : NetRecord
        What is known.
    rules : iterable of ComplexityMeasure or None, default=None
        Which; None takes the whole catalogue.

    Returns
    -------
    Measures
        What cannot be computed is listed in ``not_computed`` with its reason.
    """
    found, missing = {}, {}
    for rule in MEASURES.values() if rules is None else rules:
        try:
            found[rule.key] = rule(net)
        except MissingEvidenceError as error:
            missing[rule.key] = str(error)
    return Measures(found, missing)


def measure_all(
    clf: Any, X: Any, y: Any, rules: Iterable[ComplexityMeasure] | None = None
) -> Measures:
    """Compute every measure of a fitted classifier.

    Parameters
    ----------
    clf : TransformerClassifier or BoundedClassifier
        Fitted; a BoundedClassifier around a torch module.
    X : array-like
        The rows that the net was trained on. Measures of rows that it has not seen are something
        else than their names say.
    y : array-like of shape (n_samples,)
        Their labels.
    rules : iterable of ComplexityMeasure or None, default=None
        Which; None takes the whole catalogue.

    Returns
    -------
    Measures
        By key; what does not apply is listed in ``not_computed`` with its reason.

    Raises
    ------
    MissingEvidenceError
        If the classifier does not reveal a net.
    """
    rules = list(MEASURES.values() if rules is None else rules)
    if not hasattr(clf, "_net_record"):
        raise MissingEvidenceError(
            f"Measures are about nets, and {type(clf).__name__} does not reveal one. Pass a fitted "
            f"TransformerClassifier, or a BoundedClassifier around a torch module."
        )
    optional = NetRecord.optional()
    needs = {name for rule in rules for name in rule.depends_on if name in optional}
    return measure(clf._net_record(X, y, needs=sorted(needs)), rules)
