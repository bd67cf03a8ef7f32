"""Checks that a network treats every row by itself: no layer draws, mixes rows, or keeps statistics of them."""

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.instancenorm import _InstanceNorm

from rpo.exceptions import InputError


def drawing(module: nn.Module) -> list[str]:
    """Return the names of the layers that draw random numbers when they train.

    >>> drawing(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1), nn.Dropout(0.0)))
    ['1']
    """
    names = []
    for name, layer in module.named_modules():
        chance = layer.dropout if isinstance(layer, nn.MultiheadAttention) else getattr(layer, "p", 0.0)
        if isinstance(layer, _DropoutNd | nn.MultiheadAttention) and chance > 0:
            names.append(name)
    return names


def mixing(module: nn.Module) -> list[str]:
    """Return the names of the layers that mix the rows of a batch.

    >>> mixing(nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.GroupNorm(2, 4)))
    ['1']
    """
    return [
        name
        for name, layer in module.named_modules()
        if isinstance(layer, _BatchNorm | _InstanceNorm) and not _by_row(layer)
    ]


def _by_row(layer: nn.Module) -> bool:
    """Return whether a norm uses one row at a time: an instance norm without running statistics."""
    return isinstance(layer, _InstanceNorm) and not layer.track_running_stats


def check_module(module: nn.Module, method: str | None = None) -> None:
    """Raise an error if a layer draws random numbers, mixes rows or tracks statistics of them."""
    for name, layer in module.named_modules():
        kind, whose = type(layer).__name__, f"; method {method!r} differentiates every row by itself" if method else ""
        if name in mixing(module):
            raise InputError(
                f"layer {name!r} is a {kind}, which mixes or tracks samples{whose}: use GroupNorm or LayerNorm"
            )
        if name in drawing(module):
            raise InputError(f"layer {name!r} is a {kind}, whose draws break determinism{whose}: remove it or set p=0")
