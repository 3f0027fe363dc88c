"""Norms, distances and margin terms against torch and by hand; rescaling; signed margins."""

import math

import numpy as np
import pytest
import torch

from skbound.evidence import ConvolutionNorms
from skbound.exceptions import MissingEvidenceError
from skbound.measures import (
    MEASURES,
    Distance,
    L2Distance,
    L2Norm,
    NormProduct,
    NormSquares,
    NormSum,
    SpectralComplexity,
    SpectralMain,
    StableRankSum,
    margin_quantile,
    measure,
)
from tests.measures.records import MARGINS, net_of, random_matrices

W, W0 = random_matrices(0), random_matrices(1)
NET = net_of(W, initial=W0)
# The second smallest of 20: at least a tenth of the rows has no larger margin.
MARGIN = MARGINS[1]


def torch_norms(matrices, norm):
    for matrix in map(torch.as_tensor, matrices):
        if norm == "spectral":
            yield float(torch.linalg.svdvals(matrix)[0])
        elif norm == "frobenius":
            yield float(matrix.norm())
        else:
            yield float(matrix.T.norm(dim=0).sum())


NORMS = ["spectral", "frobenius", "two_one"]
CHANGES = [w - w0 for w, w0 in zip(W, W0, strict=True)]


@pytest.mark.parametrize("norm", NORMS)
def test_products_sums_and_distances(norm):
    squares = np.array(list(torch_norms(W, norm))) ** 2
    changes = np.array(list(torch_norms(CHANGES, norm))) ** 2
    for over in (False, True):
        product = squares.prod() / (MARGIN**2 if over else 1.0)
        assert NormProduct(norm, over_margin=over)(NET).value == pytest.approx(product, rel=1e-9)
        mean = 3.0 * product ** (1.0 / 3.0)
        assert NormSum(norm, over_margin=over)(NET).value == pytest.approx(mean, rel=1e-9)
    assert NormSquares(norm)(NET).value == pytest.approx(squares.sum(), rel=1e-9)
    assert Distance(norm)(NET).value == pytest.approx(changes.sum(), rel=1e-9)


def test_vectors_of_parameters():
    assert L2Norm()(NET).value == pytest.approx(np.linalg.norm(np.concatenate([*map(np.ravel, W)])))
    changes = np.concatenate([*map(np.ravel, CHANGES)])
    assert L2Distance()(NET).value == pytest.approx(np.linalg.norm(changes))


def test_terms_of_margin_bounds():
    spectral = np.array(list(torch_norms(W, "spectral")))
    frobenius = np.array(list(torch_norms(W, "frobenius")))
    changes = np.array(list(torch_norms(CHANGES, "frobenius")))
    rows = np.array(list(torch_norms(CHANGES, "two_one")))
    stable = ((frobenius / spectral) ** 2).sum()
    assert StableRankSum()(NET).value == pytest.approx(stable)
    product = (spectral**2).prod() / MARGIN**2
    main = product * ((changes / spectral) ** 2).sum()
    assert SpectralMain()(NET).value == pytest.approx(main)
    assert SpectralMain("origin")(NET).value == pytest.approx(product * stable)
    complexity = spectral.prod() * ((rows / spectral) ** (2 / 3)).sum() ** 1.5 / MARGIN
    assert SpectralComplexity()(NET).value == pytest.approx(complexity)


def test_convolutions_take_the_place_of_their_matrices():
    exact = ConvolutionNorms(name="layers.1", spectral_norm=9.0, change_norm=8.0, exact=True)
    net = net_of(W, initial=W0, convolutions=(exact,))
    spectral = list(torch_norms(W, "spectral"))
    spectral[1] = 9.0
    assert NormProduct("exact_spectral")(net).value == pytest.approx(np.prod(spectral) ** 2)
    changes = list(torch_norms(CHANGES, "spectral"))
    changes[1] = 8.0
    distance = Distance("exact_spectral")(net).value
    assert distance == pytest.approx(np.square(changes).sum())
    frobenius = list(torch_norms(W, "frobenius"))
    stable = sum((f / s) ** 2 for f, s in zip(frobenius, spectral, strict=True))
    assert StableRankSum("exact_spectral")(net).value == pytest.approx(stable)
    main = SpectralMain("origin", "exact_spectral")(net).value
    assert main == pytest.approx(np.prod(spectral) ** 2 / MARGIN**2 * stable)


def test_products_of_many_layers_do_not_overflow():
    net = net_of([1e200 * np.eye(3)] * 4)
    assert NormProduct()(net).log_value == pytest.approx(8 * 200 * math.log(10.0))
    assert NormProduct()(net).value == math.inf


OVER_MARGIN = [key for key, rule in MEASURES.items() if "margins" in rule.depends_on]


def test_margins_keep_their_sign():
    margins = np.where(np.arange(20) < 4, -3.0, 5.0)
    net = net_of(W, initial=W0, margins=margins, path_norm=2.0)
    assert margin_quantile(net) == -3.0
    found = measure(net)
    kinds = set(OVER_MARGIN) & set(found)
    assert len(kinds) >= 9
    for key in kinds - {"spectrum_adaptive"}:
        assert found[key].value == math.inf, key
        assert found[key].log_value == math.inf, key
        assert "The 0.1 quantile of the margins is -3" in found[key].note
    assert all(not m.note for key, m in found.items() if key not in OVER_MARGIN)


def test_a_few_errors_do_not_matter_and_few_rows_do():
    margins = np.where(np.arange(20) < 1, -3.0, 5.0)
    assert margin_quantile(net_of(W, margins=margins)) == 5.0
    assert margin_quantile(net_of(W, margins=np.array([2.0]))) == 2.0


# What stays if two consecutive layers of a ReLU chain are rescaled against each other.
STAY = {
    *("spectral_product", "frobenius_product", "two_one_product", "spectral_sum", "frobenius_sum"),
    *("stable_rank_sum", "spectral_init_main", "spectral_orig_main", "spectral_complexity"),
    *("weight_entropy_rank", "schatten_1_sum", "spectrum_adaptive", "weight_bits"),
}
CHANGE = {
    *("l2_norm", "l2_distance", "spectral_squares", "frobenius_squares", "frobenius_distance"),
    *("spectral_distance", "two_one_distance"),
}


def test_rescaling_layers():
    factors = [4.0, 0.25, 1.0]
    rescaled = measure(
        net_of(
            [f * w for f, w in zip(factors, W, strict=True)],
            initial=[f * w for f, w in zip(factors, W0, strict=True)],
        )
    )
    found = measure(NET)
    for key in STAY:
        assert rescaled[key].value == pytest.approx(found[key].value, rel=1e-9), key
    for key in CHANGE:
        assert rescaled[key].value != pytest.approx(found[key].value, rel=0.01), key


def test_zero_matrices_and_missing_ones():
    zero = net_of([np.zeros((3, 2)), np.eye(3)], initial=[np.zeros((3, 2)), np.eye(3)])
    assert NormProduct()(zero).value == 0.0
    assert NormProduct()(zero).log_value == -math.inf
    assert math.isnan(StableRankSum()(zero).value)
    assert math.isnan(SpectralComplexity()(zero).value)
    with pytest.raises(MissingEvidenceError, match=r"initial weight of layers\.0"):
        Distance()(net_of(W))
    nothing = measure(net_of([]))
    assert set(nothing) & {*STAY, *CHANGE} == set()
    assert "no weight matrix" in nothing.not_computed["spectral_sum"]
    with pytest.raises(MissingEvidenceError, match="convolutions"):
        NormSum("exact_spectral")(NET)


def test_the_catalogue_has_all_of_the_published_family():
    published = {
        *("l2_norm", "l2_distance", "parameter_count", "inverse_margin"),
        *("frobenius_distance", "spectral_distance", "exact_spectral_distance"),
        *("frobenius_squares", "path_norm", "path_norm_over_margin"),
        *("pac_bayes_init", "pac_bayes_orig", "pac_bayes_flatness"),
        *("pac_bayes_mag_init", "pac_bayes_mag_orig", "pac_bayes_mag_flatness"),
        *("frobenius_product", "frobenius_product_over_margin"),
        *("frobenius_sum", "frobenius_sum_over_margin"),
    }
    for norm in ("spectral", "exact_spectral"):
        published |= {f"{norm}_{kind}_main" for kind in ("init", "orig")}
        for kind in ("product", "sum"):
            published |= {f"{norm}_{kind}", f"{norm}_{kind}_over_margin"}
    published |= {"stable_rank_sum", "exact_stable_rank_sum"}
    assert len(published) == 34
    assert published <= set(MEASURES)
    assert all(rule.key == key for key, rule in MEASURES.items())
