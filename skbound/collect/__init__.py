"""The only code that turns a torch module into numbers."""

from skbound.collect._attention import attention_statistics, queries_and_keys
from skbound.collect._collect import GATHER, collect
from skbound.collect._convolutions import convolution_singular_values, convolutions
from skbound.collect._epochs import epochs
from skbound.collect._features import chain_features, downstream_norms, features
from skbound.collect._fisher_rao import fisher_rao
from skbound.collect._gradients import gradient_norms, logit_gradients, loss_gradients
from skbound.collect._initial import initial_state
from skbound.collect._layers import layers_of, matrix, uncovered_parameters
from skbound.collect._lipschitz import attention_lipschitz, log_lipschitz_upper
from skbound.collect._local_lipschitz import (
    jacobian_norm,
    local_log_lipschitz,
    log_lipschitz_local_upper,
)
from skbound.collect._noise import noise_scale, relative_noise_scale
from skbound.collect._parameters import parameters
from skbound.collect._paths import path_norm, paths
from skbound.collect._per_input import per_input
from skbound.collect._perturbed import perturbed_logits
from skbound.collect._probe import Probe
from skbound.collect._sharpness import sharpness
from skbound.collect._tangent_kernel import attention_kernel, tangent_kernel

__all__ = [
    "GATHER",
    "Probe",
    "attention_kernel",
    "attention_lipschitz",
    "attention_statistics",
    "chain_features",
    "collect",
    "convolution_singular_values",
    "convolutions",
    "downstream_norms",
    "epochs",
    "features",
    "fisher_rao",
    "gradient_norms",
    "initial_state",
    "jacobian_norm",
    "layers_of",
    "local_log_lipschitz",
    "log_lipschitz_local_upper",
    "log_lipschitz_upper",
    "logit_gradients",
    "loss_gradients",
    "matrix",
    "noise_scale",
    "parameters",
    "path_norm",
    "paths",
    "per_input",
    "perturbed_logits",
    "queries_and_keys",
    "relative_noise_scale",
    "sharpness",
    "tangent_kernel",
    "uncovered_parameters",
]
