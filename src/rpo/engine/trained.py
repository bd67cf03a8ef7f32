"""Trained models, and the snapshot at which their training stopped."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.func import vmap

from rpo.engine.adam import AdamState
from rpo.engine.config import threads_for
from rpo.engine.layers import BUFFER
from rpo.engine.method import Method, State
from rpo.engine.nets import Net, Params
from rpo.engine.source import PIECE, Source
from rpo.exceptions import TrainingError

PREDICT_ROWS = 16_384


@dataclass
class Snapshot:
    """The state of a training at one moment: what to save, and what to continue from."""

    flat: Tensor
    adam: AdamState
    state: State
    step: int
    watch: dict[str, Tensor] = field(default_factory=dict)
    """Memory of a monitor, one entry per model."""


@dataclass
class Trained:
    """K trained models of one method."""

    method: Method
    net: Net
    snapshot: Snapshot
    failures: list[str | None]
    """Reason why the training of each model stopped, or None."""
    curve: Tensor
    """The loss at each step, `(steps, K)`."""

    def output(self, x: Tensor | Source, *, stacked: bool = False) -> Tensor:
        """Compute f(x) of every model, `(K, n, c)`; `stacked` inputs have a leading axis of K."""
        return predict(self.method, self.net, self.snapshot.flat, self.snapshot.state, x, stacked=stacked)

    def check(self) -> "Trained":
        """Raise the first failure, if there is one."""
        for failure in self.failures:
            if failure is not None:
                raise TrainingError(failure)
        return self


def cut(snapshot: Snapshot, models: slice) -> Snapshot:
    """Return the part of a snapshot that belongs to a slice of the models."""
    adam = AdamState(*(moment[models] for moment in snapshot.adam))
    return Snapshot(
        snapshot.flat[models],
        adam,
        {name: value[models] for name, value in snapshot.state.items()},
        snapshot.step,
        {name: value[models] for name, value in snapshot.watch.items()},
    )


def join(parts: Sequence[Trained]) -> Trained:
    """Join several stacks into one."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    snapshots = [part.snapshot for part in parts]
    steps = max(len(part.curve) for part in parts)
    adam = AdamState(*(torch.cat(moments) for moments in zip(*(s.adam for s in snapshots), strict=True)))
    state = {name: torch.cat([s.state[name] for s in snapshots]) for name in first.snapshot.state}
    flat = torch.cat([s.flat for s in snapshots])
    watch = {}
    for name, value in first.snapshot.watch.items():
        parts_of_it = [s.watch[name] for s in snapshots]
        if value.dim() == 1 or len({part.shape[1:] for part in parts_of_it}) == 1:  # else they stopped apart
            watch[name] = torch.cat(parts_of_it)
    return Trained(
        first.method,
        first.net,
        Snapshot(flat, adam, state, first.snapshot.step, watch),
        [failure for part in parts for failure in part.failures],
        # If all models of a stack failed, its curve is shorter: the rest is NaN.
        torch.cat([_lengthen(part.curve, steps) for part in parts], 1),
    )


def _lengthen(curve: Tensor, steps: int) -> Tensor:
    return torch.cat([curve, curve.new_full((steps - len(curve), curve.shape[1]), torch.nan)])


def predict(
    method: Method, net: Net, flat: Tensor, state: State, x: Tensor | Source, *, stacked: bool = False
) -> Tensor:
    """Compute the outputs of every model of a stack, `(K, n, c)`, some thousands of rows at a time.

    Parameters
    ----------
    method : Method
        The method they were trained with.
    net : Net
        The network as a function.
    flat : Tensor
        The parameters, `(K, P)`.
    state : dict
        The state of the method.
    x : Tensor or Source
        The rows.
    stacked : bool
        Whether `x` has a leading axis of K, with separate rows for each model.

    Returns
    -------
    Tensor
        The outputs, of shape `(K, n, c)`.

    Examples
    --------
    >>> import torch
    >>> from rpo.engine import Config, make_data, mlp, predict, train
    >>> x = torch.randn(30, 2, generator=torch.Generator().manual_seed(0))
    >>> data = make_data(x, x[:, 0], torch.arange(30) % 3, task="regression")
    >>> t = train("erm-l2", lambda: mlp(2, 1, (8,)), data, seeds=[0, 1], config=Config(steps=5))
    >>> predict(t.method, t.net, t.snapshot.flat, t.snapshot.state, x).shape
    torch.Size([2, 30, 1])
    """

    def predict_one(params: Params, state: State, rows: Tensor) -> Tensor:
        return net(params, rows) if method.predict is None else method.predict(net, params, state, rows)

    net.place(flat)
    buffers = {name.removeprefix(BUFFER): value for name, value in state.items() if name.startswith(BUFFER)}
    params = {**net.unflatten(flat), **buffers}
    axis = 1 if stacked else 0
    alone = len(x.shape) > axis + 2 or net.attends or net.mixes

    def predict_all(rows: Tensor) -> Tensor:
        if len(flat) > 1 and not alone:
            return vmap(predict_one, in_dims=(0, 0, 0 if stacked else None))(params, state, rows)
        # One model needs no `vmap`; layers for pictures are faster without it, and some do not support it.
        outputs = []
        for k in range(len(flat)):
            own, own_state = ({name: value[k] for name, value in values.items()} for values in (params, state))
            outputs.append(predict_one(own, own_state, rows[k] if stacked else rows))
        return torch.stack(outputs)

    count = x.shape[axis]
    if isinstance(x, Source):
        source = x.to(flat.device, flat.dtype)
        size, parts = PIECE, source.pieces()
    else:
        # A method with a prediction of its own may use all rows together.
        size = PREDICT_ROWS if method.predict is None else max(1, count)
        parts = iter(torch.split(x.to(flat), size, axis))
    with torch.no_grad(), net.evaluating(), threads_for(len(flat) * min(size, count) * net.width):
        outputs = [predict_all(rows) for rows in parts]
    return torch.cat(outputs, 1)
