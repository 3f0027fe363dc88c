import numpy as np
import pytest

from skbound.collect import attention_kernel, tangent_kernel
from skbound.exceptions import MissingEvidenceError
from tests.collect.nets import chain, probe_of, record, rows, table_probe
from tests.collect.test_gradients import one_by_one


def test_kernel_is_the_product_of_jacobians():
    probe = table_probe(n=4)
    kernel = tangent_kernel(probe)
    jacobian = np.stack([one_by_one(probe, k) for k in range(3)], axis=1).reshape(12, -1)
    np.testing.assert_allclose(kernel.gram, jacobian @ jacobian.T, rtol=1e-9, atol=1e-11)
    assert kernel.n_parameters == jacobian.shape[1]
    assert kernel.mean_trace == pytest.approx((jacobian**2).sum() / 4)
    summed = np.einsum("ikp,jkp->ij", *[jacobian.reshape(4, 3, -1)] * 2)
    np.testing.assert_allclose(kernel.summed, summed, rtol=1e-9)


def test_linear_net_has_the_kernel_of_the_formula():
    X, codes = rows(5, 4)
    kernel = tangent_kernel(probe_of(chain(4, 3), X, codes))
    np.testing.assert_allclose(kernel.gram, np.kron(X @ X.T + 1.0, np.eye(3)), atol=1e-12)


@pytest.mark.parametrize("n_rows", [1, 2, 3])
def test_chunks_do_not_matter(n_rows):
    probe = table_probe(n=5)
    whole, part = tangent_kernel(probe), tangent_kernel(probe, n_rows=n_rows)
    np.testing.assert_allclose(part.gram, whole.gram, rtol=1e-9, atol=1e-12)


def test_order_of_rows_turns_the_kernel():
    probe = table_probe(n=5)
    turned = probe_of(probe.module, probe.X[::-1], probe.codes[::-1])
    there, back = tangent_kernel(probe), tangent_kernel(turned)
    np.testing.assert_allclose(back.summed, there.summed[::-1, ::-1], rtol=1e-9)


def test_few_rows_are_drawn_from_many():
    X, codes = rows(230, 3)
    kernel = tangent_kernel(probe_of(chain(3, 3), X, codes))
    assert kernel.n_rows == 200
    assert kernel.gram.shape == (600, 600)


def test_parts_of_the_kernel_add_up():
    probe = table_probe(n=4)
    others = tangent_kernel(probe, chosen=lambda name: ".attention." not in name)
    attention = attention_kernel(probe)
    assert 0 < attention.n_parameters < tangent_kernel(probe).n_parameters
    np.testing.assert_allclose(
        attention.gram + others.gram, tangent_kernel(probe).gram, rtol=1e-9, atol=1e-11
    )


def test_a_net_without_attention_says_so():
    probe = probe_of(chain(3, 4, 2), *rows(4, 3, n_classes=2))
    with pytest.raises(MissingEvidenceError, match="this one has none"):
        attention_kernel(probe)
    net = record(probe, "attention_kernel", "tangent_kernel")
    assert net.attention_kernel is None
    assert net.tangent_kernel is not None
    with pytest.raises(MissingEvidenceError, match="this one has none"):
        net.need("attention_kernel")
