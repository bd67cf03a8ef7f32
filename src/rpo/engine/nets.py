"""Networks as pure functions of their parameters."""

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from rpo.engine import layers
from rpo.engine.drawing import Seeded, Undrawn
from rpo.exceptions import InputError
from rpo.functional.rows import drawing, mixing
from rpo.functional.slope import output_and_slope

Params = dict[str, Tensor]
GROUPS = 4  # of channels, each normed by itself


def mlp(n_inputs: int, n_outputs: int, hidden: Sequence[int] = (64, 64)) -> nn.Sequential:
    """Build a ReLU network; its input gradient is known in closed form.

    Parameters
    ----------
    n_inputs, n_outputs : int
        Number of features and of outputs.
    hidden : sequence of int
        The widths of the hidden layers.

    Returns
    -------
    nn.Sequential
        The network.

    Examples
    --------
    >>> from rpo.engine import mlp
    >>> mlp(3, 1, hidden=(4,))
    Sequential(
      (0): Linear(in_features=3, out_features=4, bias=True)
      (1): ReLU()
      (2): Linear(in_features=4, out_features=1, bias=True)
    )
    """
    stacked: list[nn.Module] = []
    for width in hidden:
        stacked += [nn.Linear(n_inputs, width), nn.ReLU()]
        n_inputs = width
    return nn.Sequential(*stacked, nn.Linear(n_inputs, n_outputs))


def cnn(row_shape: Sequence[int], n_outputs: int, channels: Sequence[int] = (16, 32, 64)) -> nn.Sequential:
    """Build a convolutional network: strided convolutions, group norms, ReLUs, average pooling, a linear head.

    Group norms normalise each picture by itself, so every picture has its own input gradient, and the Lipschitz term
    covers the whole network.

    Parameters
    ----------
    row_shape : sequence of int
        Shape of a picture: channels, height, width.
    n_outputs : int
        Number of outputs.
    channels : sequence of int
        Number of channels of each convolution.

    Returns
    -------
    nn.Sequential
        The network.

    Examples
    --------
    >>> import torch
    >>> from rpo.engine import cnn
    >>> cnn((3, 32, 32), 1)(torch.zeros(5, 3, 32, 32)).shape
    torch.Size([5, 1])
    """
    width = row_shape[0]
    stacked: list[nn.Module] = []
    for outputs in channels:
        stacked += [nn.Conv2d(width, outputs, 3, stride=2, padding=1), nn.GroupNorm(GROUPS, outputs), nn.ReLU()]
        width = outputs
    return nn.Sequential(*stacked, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, n_outputs))


def network(row_shape: Sequence[int], n_outputs: int, widths: Sequence[int]) -> nn.Sequential:
    """Build a default network for rows of a shape: a ReLU network for vectors, convolutions for pictures.

    Parameters
    ----------
    row_shape : sequence of int
        `(features,)`, or channels, height, width.
    n_outputs : int
        Number of outputs.
    widths : sequence of int
        Widths of the hidden layers, or channels of the convolutions.

    Returns
    -------
    nn.Sequential
        The network.

    Examples
    --------
    >>> from rpo.engine import network
    >>> [type(network(shape, 1, (8,))[0]).__name__ for shape in ((5,), (3, 32, 32))]
    ['Linear', 'Conv2d']
    """
    return mlp(row_shape[0], n_outputs, widths) if len(row_shape) == 1 else cnn(row_shape, n_outputs, widths)


class Net:
    """A module split into features and a linear head, with its parameters kept outside.

    The head is the last layer of an `nn.Sequential`, or the submodule or method `head` of a module whose other part is
    `features`. `parts` are further modules that a method trains, such as a discriminator; their names prefix their
    parameters.
    """

    def __init__(self, build: Callable[[], nn.Module], parts: Callable[["Net"], Mapping[str, nn.Module]] | None = None):
        self.build = build
        self.build_parts = parts
        with Seeded(0):
            self.module = build()
            layers.hold_statistics(self.module)
            self.parts = dict(parts(self)) if parts else {}
        self.draws, self.mixes = bool(drawing(self.module)), bool(mixing(self.module))
        self.attends, self.agree = False, True  # set by `check_forward`
        self.shapes = {name: p.shape for name, p in self._named(self.module, self.parts)}
        self.sizes = [shape.numel() for shape in self.shapes.values()]

    @staticmethod
    def _named(module: nn.Module, parts: Mapping[str, nn.Module]) -> list[tuple[str, Tensor]]:
        named: list[tuple[str, Tensor]] = list(module.named_parameters())
        return named + [(f"{part}/{name}", p) for part in parts for name, p in parts[part].named_parameters()]

    def __call__(self, params: Params, x: Tensor) -> Tensor:
        """Compute f(x), always of shape `(n, c)`."""
        output: Tensor = functional_call(self.module, self.own(params), (x,))
        output = output.to(x.dtype)  # bfloat16 is for layers only
        return output if output.dim() > 1 else output[:, None]

    def slope(self, params: Params, x: Tensor) -> tuple[Tensor, Tensor]:
        """Compute f(x), `(n, c)`, and the squared input gradients, `(n,)`."""
        output, slope = output_and_slope(self.module, x, self.own(params))
        return output.to(x.dtype), slope.to(x.dtype)

    def check_forward(self, params: Params, x: Tensor) -> None:
        """Refuse a network that draws random numbers in evaluation mode: its output would not be a function of x."""
        with torch.no_grad(), self.evaluating():
            with Undrawn() as seen:
                output = self(params, x)
            self.agree = not self._named_parts() or self._agrees(params, x, output)
        self.attends = any(word in name for name in seen.operations for word in layers.ATTENTION)

    def _agrees(self, params: Params, x: Tensor, output: Tensor) -> bool:
        """Return whether `head(features(x))` equals the output of the network."""
        try:
            result = self._call("head", params, self._call("features", params, x).flatten(1))
        except (RuntimeError, TypeError):
            return False
        return result.shape == output.shape and bool(torch.allclose(result.to(output), output, rtol=1e-3, atol=1e-5))

    def place(self, like: Tensor) -> None:
        """Move buffers, such as encodings of positions, to the device and precision of `like`."""
        for module in (self.module, *self.parts.values()):
            module.to(like.device, like.dtype)

    def evaluating(self) -> AbstractContextManager[None]:
        """Put the network into evaluation mode while the context lasts."""
        return layers.evaluating(self.module)

    def features(self, params: Params, x: Tensor) -> Tensor:
        """Compute the features φ(x), the input of the head."""
        features: Tensor
        if self._named_parts():
            if not self.agree:
                kind = type(self.module).__name__
                raise InputError(
                    f"{kind} has features and head, but head(features(x)) differs from its output: rename or fix them"
                )
            features = self._call("features", params, x)
        else:
            names, body, _ = self._split()
            features = functional_call(body, _select_params(params, names), (x,))
        return features.flatten(1).to(x.dtype)

    def head(self, params: Params, features: Tensor) -> Tensor:
        """Compute the head's output for given features."""
        output: Tensor
        if self._named_parts():
            output = self._call("head", params, features)
        else:
            _, _, (name, head) = self._split()
            output = functional_call(head, _select_params(params, {name: ""}), (features,))
        return output.to(features.dtype)

    def head_inputs(self, features: Tensor) -> Tensor:
        """Return the inputs of the linear head, with a column of ones for its bias."""
        if self._linear_head().bias is None:
            return features
        return torch.cat([features, features.new_ones(len(features), 1)], 1)

    @property
    def n_features(self) -> int:
        """Width of φ(x)."""
        return self._linear_head().in_features

    def _linear_head(self) -> nn.Linear:
        head = getattr(self.module, "head") if self._named_parts() else self._split()[2][1]  # noqa: B009
        if not isinstance(head, nn.Linear):
            kind = type(head).__name__ if isinstance(head, nn.Module) else "method"
            raise InputError(f"this method needs an nn.Linear as the head of the network, got a {kind}")
        return head

    @property
    def width(self) -> int:
        """Numbers per row in the widest layer; at least one."""
        return max((shape[0] for shape in self.shapes.values() if shape), default=1)

    def through(self, params: Params, x: Tensor, shifts: Sequence[Tensor] = ()) -> tuple[Tensor, list[Tensor]]:
        """Compute f(x) and the input of each layer with weights but the first; `shifts` are added to those inputs."""
        hidden: list[Tensor] = []
        *before, last = self._pieces()
        for index, (names, piece) in enumerate(before):
            x = functional_call(piece, _select_params(params, names), (x,))
            x = x + shifts[index] if shifts else x
            hidden.append(x)
        return functional_call(last[1], _select_params(params, last[0]), (x,)), hidden

    def _pieces(self) -> list[tuple[dict[str, str], nn.Module]]:
        """Cut the network before each layer with weights but the first; return each piece with its layers' names."""
        if not isinstance(self.module, nn.Sequential):
            return self._two_pieces()
        weighted = [i for i, layer in enumerate(self.module) if any(True for _ in layer.parameters())]
        cuts = [0, *weighted[1:], len(self.module)]
        return [({str(i): str(i) for i in range(begin, end)}, self.module[begin:end]) for begin, end in pairwise(cuts)]

    def _two_pieces(self) -> list[tuple[dict[str, str], nn.Module]]:
        """Return features and head of a module that is no sequence, with their parameters' names."""
        if not self._named_parts():
            self._split()  # raises
        own = [name for name, _ in self.module.named_children()]
        own += [name for name, _ in self.module.named_parameters(recurse=False)]
        names = {name: f"module.{name}" for name in own}
        first = {name: f"0.{place}" for name, place in names.items()}
        return [
            (first, nn.Sequential(_Part(self.module, "features"), nn.Flatten())),
            (names, _Part(self.module, "head")),
        ]

    def _named_parts(self) -> bool:
        """Return whether the module has `features` and `head`, as submodules or as methods."""
        if isinstance(self.module, nn.Sequential):
            return False
        return all(callable(getattr(self.module, name, None)) for name in ("features", "head"))

    def _call(self, name: str, params: Params, x: Tensor) -> Tensor:
        """Apply the submodule or method `name` of the module under these parameters."""
        inner = {f"module.{key}": value for key, value in self.own(params).items()}
        output: Tensor = functional_call(_Part(self.module, name), inner, (x,))
        return output

    def part(self, name: str, params: Params, *inputs: Tensor) -> Tensor:
        """Compute the output of a further module."""
        output: Tensor = functional_call(self.parts[name], _select_params(params, {name: ""}, "/"), inputs)
        return output

    def own(self, params: Params) -> Params:
        """Return the parameters of the network itself, without those of further modules."""
        return {name: p for name, p in params.items() if "/" not in name} if self.parts else params

    def _split(self) -> tuple[dict[str, str], nn.Module, tuple[str, nn.Module]]:
        if isinstance(self.module, nn.Sequential) and len(self.module) > 0:
            body, last = self.module[:-1], len(self.module) - 1
            return {str(i): str(i) for i in range(last)}, body, (str(last), self.module[last])
        raise InputError(
            f"this method needs the features of the network, got a {type(self.module).__name__}: "
            "use an nn.Sequential, or a module with submodules or methods `features` and `head`"
        )

    def flatten(self, params: Mapping[str, Tensor]) -> Tensor:
        """Concatenate all parameters into one vector (leading axes kept)."""
        name, shape = next(iter(self.shapes.items()))
        lead = params[name].dim() - len(shape)
        return torch.cat([params[name].flatten(lead) for name in self.shapes], lead)

    def unflatten(self, flat: Tensor) -> Params:
        """Split one vector into parameters by name, as views (leading axes kept)."""
        pieces = torch.split(flat, self.sizes, -1)
        return {
            name: piece.reshape(*flat.shape[:-1], *shape)
            for (name, shape), piece in zip(self.shapes.items(), pieces, strict=True)
        }

    def init(self, seed: Sequence[int]) -> Tensor:
        """Draw initial parameters from a seed, as one vector; torch's own generator is neither read nor set."""
        state = int(np.random.SeedSequence(list(seed)).generate_state(1, np.uint64)[0] >> 1)
        with Seeded(state):
            module = self.build()
            parts = self.build_parts(self) if self.build_parts else {}
        return self.flatten({name: p.detach() for name, p in self._named(module, parts)})


def _select_params(params: Params, names: Mapping[str, str], separator: str = ".") -> Params:
    """Select the parameters of submodules and rename them: {"a": "b"} turns a.weight into b.weight.

    An empty name drops the prefix.
    """
    selected = {}
    for name, value in params.items():
        first, _, rest = name.partition(separator)
        if not rest and names.get(first):  # a parameter of the module itself
            selected[names[first]] = value
        if rest and first in names:
            selected[f"{names[first]}.{rest}" if names[first] else rest] = value
    return selected


class _Part(nn.Module):
    """A submodule or method of a module, wrapped as a module so that parameters can be put into it."""

    def __init__(self, module: nn.Module, name: str) -> None:
        super().__init__()
        self.module, self.name = module, name

    def forward(self, x: Tensor) -> Tensor:
        output: Tensor = getattr(self.module, self.name)(x)
        return output


def factory(module: Any, row_shape: tuple[int, ...], n_outputs: int) -> Callable[[], nn.Module]:
    """Return a function that builds a freshly initialised network from a module or a callable.

    An `nn.Module` is a template: it is copied, and `reset_parameters` of its layers is called. A callable
    `(row_shape, n_outputs)` builds and initialises the network.
    """
    if isinstance(module, nn.Module):
        return lambda: _reset(module)
    if callable(module):

        def build() -> nn.Module:
            built = module(row_shape, n_outputs)
            if not isinstance(built, nn.Module):
                raise InputError(f"module(row_shape, n_outputs) must return an nn.Module, got a {type(built).__name__}")
            return built

        return build
    raise InputError(f"module must be an nn.Module or a function that returns one, got a {type(module).__name__}")


def _reset(template: nn.Module) -> nn.Module:
    module = copy.deepcopy(template)
    for layer in module.modules():
        reset = getattr(layer, "reset_parameters", None)
        if callable(reset):
            reset()
    return module
