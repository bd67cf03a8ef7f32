"""A small network of convolutions, without any layer that mixes pictures."""

from collections.abc import Sequence

from torch import nn

from rpo.engine.nets import mlp

GROUPS = 4


def cnn(row_shape: Sequence[int], n_outputs: int, channels: Sequence[int] = (16, 32, 64)) -> nn.Sequential:
    """Convolutions that halve the picture `(colours, height, width)`, group norms, ReLUs, an average, a linear head.

    Group norms look at one picture at a time, so that every picture has an input gradient of its own, and the
    Lipschitz term goes through the whole network.

    >>> import torch
    >>> cnn((3, 32, 32), 1)(torch.zeros(5, 3, 32, 32)).shape
    torch.Size([5, 1])
    """
    width = row_shape[0]
    layers: list[nn.Module] = []
    for outputs in channels:
        layers += [nn.Conv2d(width, outputs, 3, stride=2, padding=1), nn.GroupNorm(GROUPS, outputs), nn.ReLU()]
        width = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, n_outputs))


def network(row_shape: Sequence[int], n_outputs: int, widths: Sequence[int]) -> nn.Sequential:
    """What fits the rows: a ReLU network of these widths for vectors, convolutions of as many channels for pictures.

    >>> [type(network(shape, 1, (8,))[0]).__name__ for shape in ((5,), (3, 32, 32))]
    ['Linear', 'Conv2d']
    """
    return mlp(row_shape[0], n_outputs, widths) if len(row_shape) == 1 else cnn(row_shape, n_outputs, widths)
