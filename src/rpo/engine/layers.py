"""Layers that need special treatment: those that draw random numbers, mix the rows of a batch, or attend.

A method whose loss differentiates each row, such as by the Lipschitz term, needs a network that treats every row by
itself; other methods do not. For these, dropout draws from the model's seed and the step's number, and a batch norm
uses the statistics of the batch; the statistics for predictions are measured after the training.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.modules.instancenorm import _InstanceNorm

from rpo.exceptions import InputError
from rpo.functional.rows import mixing

BUFFER = "buffer/"  # prefix of the names of statistics in a state
MEASURED = 100  # maximum number of batches over which statistics are measured
ATTENTION = ("scaled_dot_product", "multi_head_attention", "transformer_encoder")  # in the names of operations


def check_norms(module: nn.Module, batch_size: int | None) -> None:
    """Refuse batch norms that have no running statistics, or that would be trained without mini-batches."""
    for name in mixing(module):
        layer = module.get_submodule(name)
        if isinstance(layer, _InstanceNorm) or getattr(layer, "running_mean", None) is None:
            kind = type(layer).__name__
            raise InputError(
                f"layer {name!r} is a {kind} without running statistics, so it cannot predict: use GroupNorm"
            )
        if batch_size is None:
            raise InputError(f"layer {name!r} is a {type(layer).__name__}, which needs mini-batches: set batch_size")


def hold_statistics(module: nn.Module) -> None:
    """Let batch norms take the batch's statistics in training and change nothing; their buffers are for predictions."""
    for layer in map(module.get_submodule, mixing(module)):
        if not isinstance(layer, _InstanceNorm):  # refused later, by name
            layer.track_running_stats = False  # type: ignore[assignment]


def statistics(module: nn.Module) -> dict[str, Tensor]:
    """Return the running statistics of batch norms by name, as they were built."""
    return {
        f"{name}.{kind}".lstrip("."): getattr(module.get_submodule(name), kind)
        for name in mixing(module)
        for kind in ("running_mean", "running_var")
    }


@contextmanager
def measuring(module: nn.Module) -> Iterator[None]:
    """Let batch norms average the statistics of what they see; everything else is in evaluation mode."""
    layers = [module.get_submodule(name) for name in mixing(module)]
    before = [(layer.momentum, layer.num_batches_tracked) for layer in layers]
    with evaluating(module):
        for layer in layers:
            layer.train()
            layer.track_running_stats, layer.momentum = True, None  # type: ignore[assignment]
            layer.num_batches_tracked = torch.zeros_like(layer.num_batches_tracked)  # type: ignore[arg-type]
        try:
            yield
        finally:
            for layer, (momentum, seen) in zip(layers, before, strict=True):
                layer.track_running_stats, layer.momentum = False, momentum  # type: ignore[assignment]
                layer.num_batches_tracked = seen


def measure_statistics(module: nn.Module, params: Mapping[str, Tensor], batches: Iterator[Tensor]) -> dict[str, Tensor]:
    """Measure the statistics of batch norms for given weights, each as the mean over some batches."""
    like = next(iter(params.values()))
    values = {name: torch.zeros_like(value).to(like) for name, value in statistics(module).items()}
    with measuring(module), torch.no_grad():
        for x in batches:
            functional_call(module, {**params, **values}, (x,))  # changes `values` in place
    return values


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Put the module into evaluation mode while the context lasts."""
    before = [(layer, layer.training) for layer in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for layer, training in before:
            layer.training = training


@contextmanager
def twice_differentiable(wanted: bool) -> Iterator[None]:
    """Compute attention by the plain kernel while the context lasts, if `wanted`.

    The fast kernels have no second derivative, and cannot be stacked.
    """
    if not wanted:
        yield
        return
    with sdpa_kernel(SDPBackend.MATH):
        yield
