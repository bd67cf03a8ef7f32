"""First stages kept: RPO, its ablations and its controls differ only in what they make of the same one."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from rpo.engine import Config, Data
from rpo.engine.data import COLUMNS
from rpo.engine.method import State
from rpo.engine.training import first_stage
from rpo.methods import Method, get_method
from rpo.studies.specification import Run, canonical

KEPT_BYTES = 64 * 2**20

_kept: "OrderedDict[bytes, State]" = OrderedDict()


def first_of(
    runs: Sequence[Run],
    left_out: Sequence[int | None],
    build: Callable[[], nn.Module],
    data: Data,
    numbers: Mapping[str, Sequence[float]],
    config: Config,
) -> State | None:
    """What the first stage of a stack gives, that of each model trained once, in this stack or an earlier one; None if
    the method has one stage only. There is a run and a domain left out, or none, for each model."""
    method = get_method(runs[0].method)
    if method.first_stage is None:
        return None
    stage = f"{method.first_stage.__module__}.{method.first_stage.__name__}"
    keys = [
        canonical([stage, config.steps, _seen(run, method), left]) for run, left in zip(runs, left_out, strict=True)
    ]
    new = {key: place for place, key in enumerate(keys) if key not in _kept}
    if new:
        chosen = list(new.values())
        found = first_stage(
            method,
            build,
            replace(data, **{name: getattr(data, name)[chosen] for name in COLUMNS}),
            seeds=[runs[place].seed for place in chosen],
            numbers={name: [values[place] for place in chosen] for name, values in numbers.items()},
            options=runs[0].options,
            config=config,
        )
        _kept.update((key, {name: value[i].clone() for name, value in found.items()}) for i, key in enumerate(new))
    every = [_kept[key] for key in keys]
    _forget(keys)
    return {name: torch.stack([_fit_to(data, name, one[name]) for one in every]) for name in every[0]}


def _fit_to(data: Data, name: str, value: Tensor) -> Tensor:
    """Residuals cut or padded to the rows of this stack: those that count come first."""
    return pad(value, (0, data.n_rows - len(value))) if name == "residual" else value


def _forget(used: Sequence[bytes]) -> None:
    """Let go of what has not been used for longest."""
    for key in used:
        _kept.move_to_end(key)
    while len(_kept) > 1 and sum(value.nbytes for one in _kept.values() for value in one.values()) > KEPT_BYTES:
        _kept.popitem(last=False)


def _seen(run: Run, method: Method) -> list[Any]:
    """All of a run that its first stage looks at."""
    values = [{n: v for n, v in some.items() if n not in method.later} for some in (run.numbers, run.options)]
    return [*values, run.model_dump(mode="json", include={"data", "seed", "training"})]
