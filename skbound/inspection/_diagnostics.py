"""What a fitted net looks like, in numbers, with what they may suggest."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from skbound.evidence import Evidence, Layer, NetRecord
from skbound.inspection._advice import Suggestion, suggestions
from skbound.measures import effective_ranks

__all__ = ["DIAGNOSTICS_NEED", "Diagnostics"]

# What is collected for them, on a few rows.
DIAGNOSTICS_NEED = (
    "gradients",
    "features",
    "attention",
    "log_lipschitz_upper",
    "log_lipschitz_local_upper",
    "jacobian_norm",
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Diagnostics(Mapping[str, float]):
    """Numbers about a fitted net; none of them is a bound on its error.

    A mapping of the global numbers; ``to_frame()`` gives those of the layers.

    Parameters
    ----------
    net : NetRecord
        Weights, training margins, and what was measured on `n_rows` training rows.
    evidence : Evidence
        Of the fit.
    certificate_value, delta : float
        The fit's own certificate, and its level.
    n_rows : int
        Training rows that gradients, features, attention and Jacobians were measured on.
    training_error : float
        Of what ``predict`` uses, on rows that all of it was trained on; NaN where several nets
        answer that were trained on different rows, or nothing is known.
    params : mapping of str to object
        Parameters of the classifier, which suggestions start from.
    """

    net: NetRecord
    evidence: Evidence
    certificate_value: float
    delta: float
    n_rows: int
    training_error: float
    params: Mapping[str, Any]

    def __getitem__(self, name: str) -> float:
        return self._numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __repr__(self) -> str:
        lines = [f"  {name}: {value:.4g}" for name, value in self.items()]
        return "\n".join(["Diagnostics", *lines])

    @property
    def _numbers(self) -> dict[str, float]:
        """All global numbers; NaN for what could not be had, as `reasons` says."""
        net, nan = self.net, float("nan")
        margins = net.margins
        held_out = nan if self.evidence.evaluated is None else self.evidence.evaluated.error
        numbers = {
            "training_error": self.training_error,
            "held_out_error": held_out,
            "gap": held_out - self.training_error,
            "certificate": self.certificate_value,
            "weight_norm": math.sqrt(math.fsum(s.frobenius_norm**2 for s in net.layers)),
            "distance_from_start": _distance(net.layers),
            "largest_spectral_norm": max((s.spectral_norm for s in net.layers), default=nan),
        }
        if margins is not None:
            for name, share in (("lowest", 0.0), ("tenth", 0.1), ("median", 0.5)):
                numbers[f"{name}_margin"] = float(np.quantile(margins, share))
        gradients = net.gradients
        numbers["gradient_norm"] = nan if gradients is None else gradients.of_mean
        numbers["mean_row_gradient_norm"] = (
            nan if gradients is None else float(gradients.per_row.mean())
        )
        for name in ("log_lipschitz_upper", "log_lipschitz_local_upper", "jacobian_norm"):
            value = getattr(net, name)
            numbers[name] = nan if value is None else float(value)
        attention = net.attention
        if attention is not None:
            most = math.log(attention.n_tokens) if attention.n_tokens > 1 else 1.0
            numbers["attention_entropy_share"] = float(attention.entropy.mean()) / most
            numbers["attention_span"] = float(attention.span.mean())
            numbers["head_specialisation"] = _specialisation(attention.entropy)
        return numbers

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why something could not be measured on this net."""
        return self.net.reasons

    @property
    def uncovered(self) -> Mapping[str, int]:
        """Parameters that belong to no layer of the table, and how many numbers they hold."""
        return self.net.uncovered

    def to_frame(self) -> Any:
        """Return a table with one row per layer.

        Returns
        -------
        pandas.DataFrame
            Exact spectral and Frobenius norms, effective ranks of weights and inputs, and the
            distance from initialisation; NaN for what is not known.
        """
        import pandas as pd  # type: ignore[import-untyped]

        spectra = {f.name: f.eigenvalues for f in self.net.features or ()}
        rows = {layer.name: _layer_row(layer, spectra.get(layer.name)) for layer in self.net.layers}
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("layer")

    def heads_to_frame(self) -> Any:
        """Return a table with one row per head of attention.

        Returns
        -------
        pandas.DataFrame
            Entropy in nats, span in tokens and largest weight, means over rows and tokens; empty
            for a net without attention.
        """
        import pandas as pd  # type: ignore[import-untyped]

        attention, rows = self.net.attention, []
        if attention is None:
            return pd.DataFrame(columns=["attention", "head", "entropy", "span", "top_mass"])
        for block, name in enumerate(attention.names):
            for head in range(attention.entropy.shape[1]):
                rows.append(
                    {
                        "attention": name,
                        "head": head,
                        "entropy": attention.entropy[block, head],
                        "span": attention.span[block, head],
                        "top_mass": attention.top_mass[block, head],
                    }
                )
        return pd.DataFrame(rows)

    def suggest_interventions(self, target: float | None = None) -> list[Suggestion]:
        """Say what the numbers may suggest, each with its reason.

        Rules of thumb, none of which follows from a theorem. Some of them read the error on the
        certified rows: a fit with other parameters that were chosen so, certified on the same rows,
        is a choice that nobody has paid for. What is suggested is tried validly by a search on
        the training side (:func:`skbound.model_selection.search_advice`), which asks a first fit
        that has not read those rows.

        Parameters
        ----------
        target : float or None, default=None
            A wanted certificate; then one of the suggestions says how many rows it would take.

        Returns
        -------
        list of Suggestion
            Empty if nothing stands out.
        """
        return suggestions(self, target)


def _layer_row(layer: Layer, eigenvalues: Any) -> dict[str, Any]:
    ranks = effective_ranks(layer.singular_values**2)
    row: dict[str, Any] = {
        "role": layer.role,
        "n_outputs": layer.weight.shape[0],
        "n_inputs": layer.weight.shape[1],
        "spectral_norm": layer.spectral_norm,
        "frobenius_norm": layer.frobenius_norm,
        "stable_rank": ranks.stable,
        "entropy_rank": ranks.entropy,
        "distance_from_start": (
            float("nan") if layer.initial is None else float(np.linalg.norm(layer.change))
        ),
        "spectral_growth": (
            float("nan")
            if layer.initial is None
            else layer.spectral_norm / float(np.linalg.norm(layer.initial, 2))
        ),
        "input_rank": float("nan"),
    }
    if eigenvalues is not None:
        row["input_rank"] = effective_ranks(eigenvalues).participation
    return row


def _distance(layers: tuple[Layer, ...]) -> float:
    if any(layer.initial is None for layer in layers):
        return float("nan")
    return math.sqrt(math.fsum(float(np.sum(layer.change**2)) for layer in layers))


def _specialisation(entropy: Any) -> float:
    """Return how much heads of one block differ in entropy: their standard deviation, averaged."""
    return float(np.std(entropy, axis=1).mean())
