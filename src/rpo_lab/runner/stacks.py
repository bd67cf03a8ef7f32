"""Packing of runs into stacks, and training and measuring of one stack by a worker.

First stages are kept, because RPO, its ablations and its controls share them.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import prod
from time import process_time
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from rpo.engine import Config, Data, Trained, network, stack_data, train
from rpo.engine.data import COLUMNS
from rpo.engine.method import State, get_method
from rpo.engine.plugins import check_same
from rpo.engine.trained import cut
from rpo.engine.training import first_stage
from rpo.functional.penalties import optimal_lambda
from rpo.methods import Method
from rpo_lab.runner.metrics import measure, risk_of_domain
from rpo_lab.runner.outside import REFERENCES, family_of, is_outside
from rpo_lab.runner.problems import Problem, load, outline
from rpo_lab.runner.specification import Number, Run, canonical
from rpo_lab.runner.store import Measured, Record, versions

# Rows of all data sets of a stack together: beyond, its tensors leave the processor's cache and each step is dearer.
STACK_ROWS = 24_000
# Numbers in a row from which one model fills the cache by itself: pictures, and features of them.
WIDE = 1_000
KEPT_BYTES = 64 * 2**20  # of first stages

_kept: "OrderedDict[bytes, State]" = OrderedDict()


class Model(NamedTuple):
    """One model of a stack: which run it belongs to, what it trains on, and the domain left out, if one is."""

    run: int
    data: Data
    left_out: int | None


class Shape(NamedTuple):
    """Rows of a training set, and what else two of them must share to be in one stack."""

    rows: int
    columns: tuple[int, ...]

    @classmethod
    def of(cls, data: Data) -> "Shape":
        """Return the shape of a data set."""
        return cls(data.n_rows, (data.n_domains, data.n_outputs, *data.row_shape))

    @property
    def together(self) -> int:
        """How many such sets go into one stack."""
        return 1 if prod(self.columns[2:]) >= WIDE else max(1, STACK_ROWS // self.rows)


def pack(runs: Iterable[Run], width: int | None = None) -> list[list[Run]]:
    """Pack runs of one method and option set on data of one shape, up to `STACK_ROWS` rows or `width` runs together.

    The same runs are always packed in the same way, whatever the number of workers.

    >>> from rpo_lab.runner.specification import DataSpec
    >>> cigar = DataSpec(name="confounded")
    >>> runs = [Run(data=cigar, method=m, seed=s) for s in range(3) for m in ("erm-l2", "rpo")]
    >>> [[f"{run.method} {run.seed}" for run in stack] for stack in pack(runs, width=2)]
    [['erm-l2 0', 'erm-l2 1'], ['erm-l2 2'], ['rpo 0', 'rpo 1'], ['rpo 2']]
    """
    known: dict[bytes, Shape] = {}  # the shape of a data set depends neither on the seed nor on a judgement

    def shape_of(run: Run) -> Shape:
        data = outline(run.data)
        key = canonical(data.model_dump(mode="json"))
        if key not in known:
            known[key] = Shape.of(load(data, run.seed).train)
        return known[key]

    # Runs of other libraries come together by their data, whatever the method: what they share is done once.
    together: dict[bytes, list[Run]] = {}
    ours = []
    for run in runs:
        if is_outside(run.method):
            together.setdefault(canonical([run.seed, run.data.model_dump(mode="json")]), []).append(run)
        else:
            ours.append(run)

    def kind(run: Run) -> bytes:
        described = run.model_dump(mode="json", exclude={"numbers", "seed", "data"})
        return canonical([run.data.name, shape_of(run).columns, described])

    stacks: list[list[Run]] = []
    alone: list[list[Run]] = list(together.values())
    for _, group in groupby(sorted(ours, key=kind), key=kind):
        # Runs of the same data come together, for their first stage, or the judgement of their rows, may be the same.
        members = sorted(group, key=lambda run: (*_data_of(run), run.data.judged or ""))
        size = width or shape_of(members[0]).together
        parts = [members[i : i + size] for i in range(0, len(members), size)]
        (stacks if size > 1 else alone).extend(parts)
    # Runs that train alone have large sets: by data, so that a worker draws a set once for all methods; and by seed
    # first, so that what is done of an unfinished study is whole.
    return stacks + sorted(alone, key=lambda stack: (stack[0].seed, canonical(stack[0].data.model_dump(mode="json"))))


def _data_of(run: Run) -> tuple[bytes, int]:
    return canonical([run.data.name, run.data.options]), run.seed


def run_stack(runs: Sequence[Run], steps: int | None = None) -> list[Record]:
    """Train and measure the runs of one stack. A run that cannot be done is a failed record.

    Nothing is raised but for a method that is not known or not installed here, or data that are not, which are no run's
    fault: its record would be kept.
    `steps` cuts the training short, for estimates of the time.
    """
    if is_outside(runs[0].method):
        family = family_of(runs[0].method)
        outcomes, more = family.work(runs), family.versions()
        return [_record(run, outcome, seconds, more) for run, (outcome, seconds) in zip(runs, outcomes, strict=True)]
    if runs[0].method not in REFERENCES:
        check_same(get_method(runs[0].method), runs[0].source)
    torch.set_num_threads(1)
    start = process_time()
    try:
        outcomes = _reference(runs) if runs[0].method in REFERENCES else _trained(runs, steps)
    except Exception as error:
        if len(runs) > 1:  # whose fault it was shows when each is alone
            return [record for run in runs for record in run_stack([run], steps)]
        outcomes = [f"{type(error).__name__}: {' '.join(str(error).split())}"]
    seconds = float(f"{(process_time() - start) / len(runs):.3g}")
    return [_record(run, outcome, seconds) for run, outcome in zip(runs, outcomes, strict=True)]


def _record(
    run: Run, outcome: Measured | str, seconds: float, more: Mapping[str, str] = MappingProxyType({})
) -> Record:
    if isinstance(outcome, Measured) and not outcome.finite:
        outcome = "the model's output is not finite"
    if isinstance(outcome, str):
        return Record(run=run, status="failed", reason=outcome, seconds=seconds, versions={**versions(), **more})
    return Record(run=run, status="done", measured=outcome, seconds=seconds, versions={**versions(), **more})


def _without(place: int, data: Data) -> list[Model]:
    """Return a model for each domain left out: on the rows of the others, which keep their numbers."""
    models = []
    for e in range(data.n_domains):
        mask = data.domain != e
        models.append(Model(place, replace(data, **{name: getattr(data, name)[mask] for name in COLUMNS}), e))
    return models


def _trained(runs: Sequence[Run], steps: int | None) -> list[Measured | str]:
    problems = [load(run.data, run.seed) for run in runs]
    whole = _fit(runs, [Model(place, problem.train, None) for place, problem in enumerate(problems)], steps)
    on_validation = _outputs(whole, [problem.validation for problem in problems])
    on_tests = {name: _outputs(whole, [problem.tests[name] for problem in problems]) for name in problems[0].tests}
    left_out = _left_out(runs, problems, steps) if runs[0].leave_one_out else [None] * len(runs)
    outcomes: list[Measured | str] = []
    for k, (problem, failure) in enumerate(zip(problems, whole.failures, strict=True)):
        if failure is not None:
            outcomes.append(failure)
            continue
        measured = measure(problem, on_validation[k], {name: outputs[k] for name, outputs in on_tests.items()})
        outcomes.append(measured.model_copy(update={"left_out_risk": left_out[k]}))
    return outcomes


def _left_out(runs: Sequence[Run], problems: Sequence[Problem], steps: int | None) -> list[list[float | None] | None]:
    """Return for each run the risk on each domain of the model trained without it."""
    models = [model for place, problem in enumerate(problems) for model in _without(place, problem.train)]
    # There are more of them than runs: as many stacks, all alike, as keep within the size of one.
    parts = -(-len(models) // min(Shape.of(model.data).together for model in models))
    size = -(-len(models) // parts)
    risks: list[list[float | None] | None] = [[] for _ in runs]
    for start in range(0, len(models), size):
        chosen = models[start : start + size]
        trained = _fit(runs, chosen, steps)
        outputs = _outputs(trained, [problems[model.run].train for model in chosen])
        for model, output, failure in zip(chosen, outputs, trained.failures, strict=True):
            row = risks[model.run]
            if row is not None and model.left_out is not None:
                row.append(None if failure else risk_of_domain(output, problems[model.run].train, model.left_out))
    return risks


def _fit(runs: Sequence[Run], models: Sequence[Model], steps: int | None) -> Trained:
    """Train all models of one stack at once."""
    first = runs[0]
    data = stack_data([model.data for model in models])
    numbers = {name: [_number(runs[model.run].numbers[name], model.data) for model in models] for name in first.numbers}
    config = Config(
        steps=steps or first.training.steps,
        batch_size=first.training.batch_size,
        schedule=first.training.schedule,
        device="cpu",
        dtype=getattr(torch, first.training.dtype),
        progress=False,
    )

    def build() -> nn.Module:
        return network(data.row_shape, data.n_outputs, first.training.hidden)

    each = [runs[model.run] for model in models]
    return train(
        first.method,
        build,
        data,
        seeds=[run.seed for run in each],
        numbers=numbers,
        options=first.options,
        config=config,
        first=first_of(each, [model.left_out for model in models], build, data, numbers, config),
    )


def _outputs(trained: Trained, parts: Sequence[Data]) -> list[Tensor]:
    """Return outputs for the rows of each model, without padding.

    A method with a prediction of its own may look at all rows it is given (MTL takes their mean): it is given one
    domain of one model at a time, and no padding.
    """
    if trained.method.predict is not None:
        return [_by_domain(trained, k, part) for k, part in enumerate(parts)]
    stacked = trained.output(stack_data(parts).x, stacked=True)
    return [rows[: part.n_rows] for rows, part in zip(stacked, parts, strict=True)]


def _by_domain(trained: Trained, model: int, data: Data) -> Tensor:
    alone = replace(trained, snapshot=cut(trained.snapshot, slice(model, model + 1)))
    result = torch.empty(data.n_rows, data.n_outputs, dtype=trained.snapshot.flat.dtype)
    for e in range(data.n_domains):
        rows = data.domain == e
        result[rows] = alone.output(data.tensor[rows])[0]
    return result


def _number(value: Number, data: Data) -> float:
    """Return a hyper-parameter for the engine: by formula from the model's own data, NaN if left to the method."""
    if value == "formula":
        return optimal_lambda(data.size(1)[0].numpy())
    return float("nan") if value is None else float(value)


def _reference(runs: Sequence[Run]) -> list[Measured | str]:
    outcomes: list[Measured | str] = []
    for run in runs:
        problem, fit = load(run.data, run.seed), REFERENCES[run.method]
        predict = fit(problem.train)
        tests = {name: predict(data.tensor) for name, data in problem.tests.items()}
        measured = measure(problem, predict(problem.validation.tensor), tests)
        risks = [
            risk_of_domain(fit(model.data)(problem.train.tensor), problem.train, model.left_out)
            for model in (_without(0, problem.train) if run.leave_one_out else [])
            if model.left_out is not None
        ]
        outcomes.append(measured.model_copy(update={"left_out_risk": risks or None}))
    return outcomes


def first_of(
    runs: Sequence[Run],
    left_out: Sequence[int | None],
    build: Callable[[], nn.Module],
    data: Data,
    numbers: Mapping[str, Sequence[float]],
    config: Config,
) -> State | None:
    """Return the first stage of a stack, each model's trained once; None if the method has one stage only.

    It may have been trained in an earlier stack. There is a run and a domain left out, or none, for each model.
    """
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
        stages = first_stage(
            method,
            build,
            replace(data, **{name: getattr(data, name)[chosen] for name in COLUMNS}),
            seeds=[runs[place].seed for place in chosen],
            numbers={name: [values[place] for place in chosen] for name, values in numbers.items()},
            options=runs[0].options,
            config=config,
        )
        _kept.update((key, {name: value[i].clone() for name, value in stages.items()}) for i, key in enumerate(new))
    every = [_kept[key] for key in keys]
    _forget(keys)
    return {name: torch.stack([_fit_to(data, name, state[name]) for state in every]) for name in every[0]}


def _fit_to(data: Data, name: str, value: Tensor) -> Tensor:
    """Trim or pad residuals to the rows of this stack; rows with weight come first."""
    return pad(value, (0, data.n_rows - len(value))) if name == "residual" else value


def _forget(used: Sequence[bytes]) -> None:
    """Remove the least recently used entries."""
    for key in used:
        _kept.move_to_end(key)
    while len(_kept) > 1 and sum(value.nbytes for stage in _kept.values() for value in stage.values()) > KEPT_BYTES:
        _kept.popitem(last=False)


def _seen(run: Run, method: Method) -> list[Any]:
    """Return all of a run that its first stage looks at."""
    values = [{n: v for n, v in part.items() if n not in method.later} for part in (run.numbers, run.options)]
    return [*values, run.model_dump(mode="json", include={"data", "seed", "training"})]
