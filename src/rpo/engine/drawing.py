"""Seeded random numbers for torch; the generator of the process is neither read nor set.

torch initialises layers from one generator for the whole process. Two trainings in two threads would draw from the same
sequence, so that neither could be reproduced. A dispatch mode belongs to one thread and sees every operation below
Python: it passes our generator to those that draw.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from rpo.exceptions import InputError


class Seeded(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Context in which torch draws from a generator with this seed, as after `torch.manual_seed(seed)`.

    >>> with Seeded(3):
    ...     first = torch.nn.Linear(2, 1).weight, torch.randn(2)
    >>> with Seeded(3):
    ...     again = torch.nn.Linear(2, 1).weight, torch.randn(2)
    >>> all(torch.equal(one, other) for one, other in zip(first, again))
    True
    """

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.seed = seed
        self.generators: dict[torch.device, torch.Generator] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Run an operation, passing our generator to one that draws and has none."""
        kwargs = dict(kwargs or {})
        if func.overloadpacket is torch.ops.aten.native_dropout:
            return self._dropout(*args, **kwargs)
        if draws(func) and kwargs.get("generator") is None:
            device = _device(args, kwargs)
            if device.type != "meta":  # which has shapes and no numbers
                func = _with_generator(func)
                kwargs["generator"] = self._generator(device)
        return func(*args, **kwargs)

    def _dropout(self, x: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
        """Apply dropout as on GPUs, where it is one operation that takes no generator."""
        if not train:
            return x, torch.ones_like(x, dtype=torch.bool)
        mask = torch.empty_like(x).bernoulli_(1 - p, generator=self._generator(x.device))
        return x * mask / (1 - p), mask.bool()

    def _generator(self, device: torch.device) -> torch.Generator:
        if device not in self.generators:
            self.generators[device] = torch.Generator(device).manual_seed(self.seed)
        return self.generators[device]


class Undrawn(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Context in which operations that draw random numbers are refused.

    >>> with Undrawn():
    ...     torch.rand(2)
    Traceback (most recent call last):
    rpo.exceptions.InputError: the network draws random numbers in its forward pass (rand), ...
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: set[str] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """Run an operation and record its name; refuse one that draws."""
        self.operations.add(func.overloadpacket.__name__)
        if draws(func):
            raise InputError(
                f"the network draws random numbers in its forward pass ({func.overloadpacket.__name__}), "
                "so results would not be reproducible: remove that layer"
            )
        return func(*args, **(kwargs or {}))


def draws(func: Any) -> bool:
    """Return whether an operation of torch draws random numbers.

    >>> draws(torch.ops.aten.uniform_.default), draws(torch.ops.aten.add.Tensor)
    (True, False)
    """
    return torch.Tag.nondeterministic_seeded in func.tags


def _with_generator(func: Any) -> Any:
    """Return the overload of an operation that takes a generator beside the operation's own arguments."""
    packet = func.overloadpacket
    for form in (func, *(getattr(packet, name) for name in packet.overloads())):
        if _arguments(form) == _arguments(func) | {"generator"}:
            return form
    raise InputError(
        f"the network is initialised by {packet.__name__}, which accepts no generator: use another initialisation"
    )


def _arguments(func: Any) -> set[str]:
    return {argument.name for argument in func._schema.arguments}


def _device(args: Any, kwargs: Mapping[str, Any]) -> torch.device:
    tensors = [value for value in args if isinstance(value, Tensor)]
    return tensors[0].device if tensors else torch.device(kwargs.get("device") or "cpu")
