"""What a Transformer is made of: positions, attention, norms, activations, initial weights."""

from skbound.architectures._sparse_target import SparseTargetHead, position_codes
from skbound.architectures._transformer import TransformerArchitecture, resolve_architecture

__all__ = [
    "SparseTargetHead",
    "TransformerArchitecture",
    "position_codes",
    "resolve_architecture",
]
