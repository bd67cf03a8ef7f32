"""First stages kept: RPO, its ablations and its controls differ only in what they make of the same one."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import nn

from rpo.engine import Config, Data
from rpo.engine.training import first_stage
from rpo.experiments.specification import Run, canonical
from rpo.methods import Method, get_method
from rpo.methods.registry import State

KEPT = 128

_kept: "OrderedDict[bytes, State]" = OrderedDict()


def first_of(
    runs: Sequence[Run],
    left_out: Sequence[int | None],
    build: Callable[[], nn.Module],
    data: Data,
    numbers: Mapping[str, Any],
    config: Config,
) -> State | None:
    """What the first stage of a stack gives, taken from an earlier stack that had the same; None if its method has
    one stage only. There is a run and a domain left out, or none, for each model."""
    method = get_method(runs[0].method)
    if method.first_stage is None:
        return None
    stage = f"{method.first_stage.__module__}.{method.first_stage.__name__}"
    key = canonical([stage, config.steps, [_seen(run, method) for run in runs], list(left_out)])
    if key not in _kept:
        seeds = [run.seed for run in runs]
        _kept[key] = first_stage(
            method, build, data, seeds=seeds, numbers=numbers, options=runs[0].options, config=config
        )
    _kept.move_to_end(key)
    if len(_kept) > KEPT:
        _kept.popitem(last=False)
    return _kept[key]


def _seen(run: Run, method: Method) -> list[Any]:
    """All of a run that its first stage looks at."""
    values = [{n: v for n, v in some.items() if n not in method.later} for some in (run.numbers, run.options)]
    return [*values, run.model_dump(mode="json", include={"data", "seed", "training"})]
