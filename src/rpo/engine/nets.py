"""Networks as pure functions of their parameters."""

import copy
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from rpo.engine.drawing import Seeded, Undrawn
from rpo.exceptions import InputError
from rpo.functional.slope import output_and_slope

Params = dict[str, Tensor]
GROUPS = 4  # of channels, each normed by itself


def mlp(n_inputs: int, n_outputs: int, hidden: Sequence[int] = (64, 64)) -> nn.Sequential:
    """A ReLU network: the architecture whose input gradient we have in closed form.

    >>> mlp(3, 1, hidden=(4,))
    Sequential(
      (0): Linear(in_features=3, out_features=4, bias=True)
      (1): ReLU()
      (2): Linear(in_features=4, out_features=1, bias=True)
    )
    """
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(n_inputs, width), nn.ReLU()]
        n_inputs = width
    return nn.Sequential(*layers, nn.Linear(n_inputs, n_outputs))


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


class Net:
    """A module split into features and a linear head, with its parameters kept outside.

    The head is the last layer of an `nn.Sequential`, or the submodule named `head` (then the rest is found under
    the name `features`). `parts` are further modules that a method trains along, such as a discriminator; their
    parameters are found under their names.
    """

    def __init__(self, build: Callable[[], nn.Module], parts: Callable[["Net"], Mapping[str, nn.Module]] | None = None):
        self.build = build
        self.build_parts = parts
        with Seeded(0):
            self.module = build()
            check_module(self.module)
            self.parts = dict(parts(self)) if parts else {}
        self.shapes = {name: p.shape for name, p in self._named(self.module, self.parts)}
        self.sizes = [shape.numel() for shape in self.shapes.values()]

    @staticmethod
    def _named(module: nn.Module, parts: Mapping[str, nn.Module]) -> list[tuple[str, Tensor]]:
        named: list[tuple[str, Tensor]] = list(module.named_parameters())
        return named + [(f"{part}/{name}", p) for part in parts for name, p in parts[part].named_parameters()]

    def __call__(self, params: Params, x: Tensor) -> Tensor:
        """f(x), always `(n, c)`."""
        output: Tensor = functional_call(self.module, self._own(params), (x,))
        output = output.to(x.dtype)  # bfloat16 is for layers; losses are computed in full
        return output if output.dim() > 1 else output[:, None]

    def slope(self, params: Params, x: Tensor) -> tuple[Tensor, Tensor]:
        """f(x) and the squared input gradients, `(n, c)` and `(n,)`."""
        output, slope = output_and_slope(self.module, x, self._own(params))
        return output.to(x.dtype), slope.to(x.dtype)

    def check_forward(self, params: Params, x: Tensor) -> None:
        """Refuse a network that draws random numbers when it is applied: its output would not be a function of x."""
        with torch.no_grad(), Undrawn():  # type: ignore[no-untyped-call]
            self(params, x)

    def features(self, params: Params, x: Tensor) -> Tensor:
        """φ(x): what goes into the head."""
        names, body, _ = self._split()
        features: Tensor = functional_call(body, _prefixed(params, names), (x,))
        return features.flatten(1).to(x.dtype)

    def head(self, params: Params, features: Tensor) -> Tensor:
        """The head's output for given features."""
        _, _, (name, head) = self._split()
        output: Tensor = functional_call(head, _prefixed(params, {name: ""}), (features,))
        return output.to(features.dtype)

    def head_inputs(self, features: Tensor) -> Tensor:
        """What each weight of a linear head is multiplied with: the features, and one for its bias."""
        if self._linear_head().bias is None:
            return features
        return torch.cat([features, features.new_ones(len(features), 1)], 1)

    @property
    def n_features(self) -> int:
        """Width of φ(x)."""
        return self._linear_head().in_features

    def _linear_head(self) -> nn.Linear:
        head = self._split()[2][1]
        if not isinstance(head, nn.Linear):
            raise InputError(f"the head of the network is a {type(head).__name__}: this method needs an nn.Linear")
        return head

    @property
    def width(self) -> int:
        """Numbers per row in the widest layer; at least one."""
        return max((shape[0] for shape in self.shapes.values() if shape), default=1)

    def through(self, params: Params, x: Tensor, shifts: Sequence[Tensor] = ()) -> tuple[Tensor, list[Tensor]]:
        """f(x), and what goes into each layer with weights but the first; `shifts` are added to those on the way."""
        hidden: list[Tensor] = []
        *before, last = self._pieces()
        for index, (names, piece) in enumerate(before):
            x = functional_call(piece, _prefixed(params, names), (x,))
            x = x + shifts[index] if shifts else x
            hidden.append(x)
        return functional_call(last[1], _prefixed(params, last[0]), (x,)), hidden

    def _pieces(self) -> list[tuple[dict[str, str], nn.Module]]:
        """The network cut before each layer with weights but the first: names of its layers, and the piece."""
        if not isinstance(self.module, nn.Sequential):
            names, body, (head_name, head) = self._split()
            return [(dict.fromkeys(names, "0"), nn.Sequential(body, nn.Flatten())), ({head_name: ""}, head)]
        weighted = [i for i, layer in enumerate(self.module) if any(True for _ in layer.parameters())]
        cuts = [0, *weighted[1:], len(self.module)]
        return [({str(i): str(i) for i in range(begin, end)}, self.module[begin:end]) for begin, end in pairwise(cuts)]

    def part(self, name: str, params: Params, *inputs: Tensor) -> Tensor:
        """The output of a further module."""
        output: Tensor = functional_call(self.parts[name], _prefixed(params, {name: ""}, "/"), inputs)
        return output

    def _own(self, params: Params) -> Params:
        return {name: p for name, p in params.items() if "/" not in name} if self.parts else params

    def _split(self) -> tuple[dict[str, str], nn.Module, tuple[str, nn.Module]]:
        if isinstance(self.module, nn.Sequential) and len(self.module) > 0:
            body, last = self.module[:-1], len(self.module) - 1
            return {str(i): str(i) for i in range(last)}, body, (str(last), self.module[last])
        named = dict(self.module.named_children())
        if "head" in named and "features" in named:
            return {"features": ""}, named["features"], ("head", named["head"])
        raise InputError(
            f"this method needs the features of {type(self.module).__name__}: "
            "give an nn.Sequential, or a module with submodules `features` and `head`"
        )

    def flatten(self, params: Mapping[str, Tensor]) -> Tensor:
        """All parameters as one vector (leading axes kept)."""
        name, shape = next(iter(self.shapes.items()))
        lead = params[name].dim() - len(shape)
        return torch.cat([params[name].flatten(lead) for name in self.shapes], lead)

    def unflatten(self, flat: Tensor) -> Params:
        """Parameters by name, views of one vector (leading axes kept)."""
        pieces = torch.split(flat, self.sizes, -1)
        return {
            name: piece.reshape(*flat.shape[:-1], *shape)
            for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)
        }

    def init(self, seed: Sequence[int]) -> Tensor:
        """Random parameters from a seed, as one vector; torch's own generator is neither read nor set."""
        state = int(np.random.SeedSequence(list(seed)).generate_state(1, np.uint64)[0] >> 1)
        with Seeded(state):
            module = self.build()
            parts = self.build_parts(self) if self.build_parts else {}
        return self.flatten({name: p.detach() for name, p in self._named(module, parts)})


def _prefixed(params: Params, names: Mapping[str, str], separator: str = ".") -> Params:
    """Parameters below the given submodules, renamed: {"a": "b"} turns a.weight into b.weight, "" drops the name."""
    chosen = {}
    for name, value in params.items():
        first, _, rest = name.partition(separator)
        if rest and first in names:
            chosen[f"{names[first]}.{rest}" if names[first] else rest] = value
    return chosen


def check_module(module: nn.Module) -> None:
    """Refuse layers that mix rows or draw random numbers: neither has an input gradient a row can own."""
    for name, layer in module.named_modules():
        kind = type(layer).__name__
        if "BatchNorm" in kind or "InstanceNorm" in kind:
            raise InputError(f"layer {name!r} is a {kind}, which mixes or tracks samples: use GroupNorm or LayerNorm")
        if "Dropout" in kind and getattr(layer, "p", 0) > 0:
            raise InputError(f"layer {name!r} is a {kind}, whose draws break determinism: remove it or set p=0")


def factory(module: Any, row_shape: tuple[int, ...], n_outputs: int) -> Callable[[], nn.Module]:
    """A function that builds a freshly initialised network, from what a user may give.

    An `nn.Module` is a template: it is copied and its layers' `reset_parameters` are called. A callable
    `(row_shape, n_outputs)` builds the network, and decides itself how to initialise it.
    """
    if isinstance(module, nn.Module):
        return lambda: _reset(module)
    if callable(module):

        def build() -> nn.Module:
            built = module(row_shape, n_outputs)
            if not isinstance(built, nn.Module):
                raise InputError(f"module(row_shape, n_outputs) gave a {type(built).__name__}: return an nn.Module")
            return built

        return build
    raise InputError(f"module is a {type(module).__name__}: give an nn.Module or a function that builds one")


def _reset(template: nn.Module) -> nn.Module:
    module = copy.deepcopy(template)
    for layer in module.modules():
        reset = getattr(layer, "reset_parameters", None)
        if callable(reset):
            reset()
    return module
