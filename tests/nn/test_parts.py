"""What holds for every part: shapes, gradients per row, copies, and the same answer anywhere."""

import copy
import pickle

import pytest
import torch
from torch.func import functional_call, grad, vmap

from skbound._training._inference import logits_in_blocks
from tests.nn.nets import PARTS, net, of_ids, padded, rows

EMBEDDINGS = {
    "plain": (None, rows()),
    "padded": (
        padded(),
        rows().masked_fill(
            torch.arange(5)[:, None] >= torch.arange(1, 17)[:, None, None], torch.nan
        ),
    ),
    "ids": (of_ids(), torch.randint(0, 7, (16, 5), generator=torch.Generator().manual_seed(0))),
}


@pytest.fixture(params=PARTS)
def parts(request):
    return PARTS[request.param]


@pytest.fixture(params=EMBEDDINGS)
def case(request, parts):
    embedding, x = EMBEDDINGS[request.param]
    pooling = "mean" if request.param == "padded" else "cls"
    return net(embedding, parts=parts, pooling=pooling), x.double()


def test_shapes(parts):
    for pooling in ("cls", "mean"):
        for depth in (1, 3):
            out = net(parts=parts, pooling=pooling, depth=depth)(rows())
            assert out.shape == (16, 3)
            assert out.isfinite().all()


# torch has no rule for its own attention kernel and falls back to a loop.
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
def test_gradients_of_single_rows(case):
    module, x = case
    weights = dict(module.named_parameters())

    def loss(weights, row):
        return functional_call(module, weights, (row[None],)).square().sum()

    by_row = vmap(grad(loss), in_dims=(None, 0))(weights, x)
    together = torch.autograd.grad(
        module(x).square().sum(), list(weights.values()), allow_unused=True
    )
    for (name, rows_), total in zip(by_row.items(), together, strict=True):
        total = torch.zeros_like(weights[name]) if total is None else total
        torch.testing.assert_close(rows_.sum(0), total, rtol=1e-8, atol=1e-10)


def test_copies(case):
    module, x = case
    expected = module(x)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert torch.equal(other(x), expected)


def test_a_row_does_not_depend_on_its_company():
    for parts in PARTS.values():
        for embedding, x in EMBEDDINGS.values():
            for width, n_heads in [(6, 3), (8, 2)]:
                module = net(embedding, parts=parts, width=width, n_heads=n_heads)
                module, x32 = module.float(), x.float().numpy()

                def logits(rows_, module=module):
                    return logits_in_blocks(module, rows_, lambda r: r, n_rows=8, n_classes=3)

                everything = logits(x32)
                for some in ([3], [15, 3, 0], list(range(15, -1, -1))):
                    assert (logits(x32[some]) == everything[some]).all()
