"""First stages kept: RPO, its ablations and its controls differ only in what they make of the same one."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from rpo.engine import Config, Data
from rpo.engine.training import first_stage
from rpo.experiments.specification import Run, canonical
from rpo.methods import get_method
from rpo.methods.registry import State

KEPT = 128

_kept: "OrderedDict[bytes, State]" = OrderedDict()


def first_of(
    run: Run,
    left_out: int | None,
    build: Callable[[], nn.Module],
    data: Data,
    numbers: Mapping[str, Any],
    config: Config,
) -> State | None:
    """What the first stage of a run that trains alone gives, taken from an earlier run that had the same; None if
    its method has one stage only."""
    method = get_method(run.method)
    if method.first_stage is None:
        return None
    seen = {name: value for name, value in run.numbers.items() if name not in method.later}
    described = run.model_dump(mode="json", include={"data", "options", "seed", "training"})
    stage = f"{method.first_stage.__module__}.{method.first_stage.__name__}"
    key = canonical([stage, seen, described, left_out, config.steps])
    if key not in _kept:
        _kept[key] = first_stage(
            method, build, data, seeds=[run.seed], numbers=numbers, options=run.options, config=config
        )
    _kept.move_to_end(key)
    if len(_kept) > KEPT:
        _kept.popitem(last=False)
    return _kept[key]
