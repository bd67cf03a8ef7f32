"""Networks on the folds of a table: candidates of a method by fold and seed, trained in stacks; the best is chosen.

RPO and its variants share the first stage, so they are trained together after one.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from rpo._cluster import on_cluster
from rpo._comparison.table_folds import FoldData, Folds, ResultFolder, digest, fold_data
from rpo._io import Bar, Show
from rpo._workers import shared
from rpo.engine import Config, Data, Trained, network, stack_data, train
from rpo.engine.config import HIDDEN
from rpo.engine.data import COLUMNS
from rpo.engine.method import State
from rpo.engine.plugins import check_same, pack_methods, unpack_methods
from rpo.engine.trained import cut
from rpo.engine.training import first_stage
from rpo.exceptions import InputError
from rpo.functional.domains import domain_mean
from rpo.functional.lipirm import dummy_gradient
from rpo.functional.losses import sample_loss
from rpo.methods import get_method

# What the estimators take for RPO and its kin; other methods keep the registry's defaults.
OPTIONS = {"scheme": "calibrated"}
# Rows of all data sets of a stack together: beyond, its tensors leave the processor's cache and each step is dearer.
STACK_ROWS = 24_000
WIDE = 1_000  # columns from which one data set fills the cache by itself
TRIED = 3  # values of a hyper-parameter
DIGITS = 6  # significant digits kept: fewer than the eight or nine that do not depend on the stack
RULES = {
    "validation": "smallest mean risk on validation rows of the training domains",
    "leave-one-out": "smallest mean risk on training domains that are held out in turn",
    "irm": "smallest mean IRM penalty on validation rows",
    "formula": "no selection: hyper-parameters from formulas or defaults",
    "oracle": "ORACLE: best on the test domain itself, which no fair rule can use",
}

Place = tuple[int, int]  # a fold and a seed
Outcome = dict[str, Any]  # of a candidate: "scores" by rule and "errors" by held-out domain, or "failure", the reason
Outcomes = dict[tuple[str, Place], list[Outcome]]  # of a method's candidates at a place, in the order of its grid


class Candidates(NamedTuple):
    """A method, the hash of its code where it is not this library's own, and the values tried."""

    method: str
    source: str
    grid: tuple[Mapping[str, float], ...]

    def fill(self) -> list[tuple[dict[str, float], dict[str, Any]]]:
        """Return numbers and options of each candidate, defaults included."""
        method = get_method(self.method)
        options = OPTIONS if "scheme" in method.options else {}
        return [method.fill({**options, **values}) for values in self.grid]

    def stage(self) -> str | None:
        """Return what identifies the first stage that all candidates share, or None if they share none."""
        method = get_method(self.method)
        early = {
            repr([{name: v for name, v in values.items() if name not in method.later} for values in both])
            for both in self.fill()
        }
        if method.first_stage is None or len(early) > 1:
            return None
        return f"{method.first_stage.__module__}.{method.first_stage.__qualname__} {early.pop()}"


class Stack(NamedTuple):
    """Work of one process: one method, or methods with the same first stage, at several places."""

    methods: tuple[Candidates, ...]
    places: tuple[Place, ...]

    def singles(self) -> list["Stack"]:
        """Return stacks of one candidate each; none if there is but one."""
        alone = [
            Stack((own._replace(grid=(values,)),), (place,))
            for own, place in product(self.methods, self.places)
            for values in own.grid
        ]
        return alone if len(alone) > 1 else []


@dataclass(frozen=True, eq=False)
class Networks:
    """Every network of a comparison: the candidates of each method, on every fold, with every seed."""

    folds: Folds
    names: tuple[str, ...]
    seeds: int
    config: Config
    rule: str

    @cached_property
    def candidates(self) -> dict[str, Candidates]:
        """What is tried of each method."""
        return {name: Candidates(name, get_method(name).source, grid_of(name)) for name in self.names}

    @property
    def keys(self) -> list[tuple[str, Place]]:
        """Every method at every place."""
        return list(product(self.names, product(range(len(self.folds.held_out)), range(self.seeds))))

    def count(self, keys: Sequence[tuple[str, Place]]) -> int:
        """Return how many networks there are to train for these methods and places."""
        return sum(len(self.candidates[name].grid) for name, _ in keys)

    def finished(self, folder: ResultFolder) -> Outcomes:
        """Return the outcomes that are in the folder, those with a failure aside: they are tried again."""
        outcomes = {key: folder.read(self.file(*key)) for key in self.keys}
        return {
            key: results
            for key, results in outcomes.items()
            if results and not any("failure" in outcome for outcome in results)
        }

    def file(self, name: str, place: Place) -> str:
        """Return the name of a file of outcomes: a hash of all that decides them."""
        own, method = self.candidates[name], get_method(name)
        left_out = self.rule == "leave-one-out" and len(own.grid) > 1
        training = [HIDDEN, self.config.steps, self.config.batch_size, left_out]
        return f"runs/{digest([self.folds.sha256, place, own, own.fill(), method.version, training])[:20]}.json"

    def stacks(self, done: Outcomes) -> list[Stack]:
        """Pack what is not done; the same networks always come into the same stacks, whatever the number of workers."""
        families: dict[str, list[Candidates]] = {}
        for name, own in self.candidates.items():
            families.setdefault(own.stage() or name, []).append(own)
        stacks = []
        for family, places in product(families.values(), self._parts()):
            by_places: dict[tuple[Place, ...], list[Candidates]] = {}
            for own in family:
                missing = tuple(place for place in places if (own.method, place) not in done)
                by_places.setdefault(missing, []).append(own)
            stacks += [Stack(tuple(methods), missing) for missing, methods in by_places.items() if missing]
        return sorted(stacks, key=lambda stack: stack.places[0][1])  # by seed: then what is done soon is whole

    def _parts(self) -> list[Sequence[Place]]:
        """Divide places by their number of training domains, and into stacks of limited size."""
        parts: list[Sequence[Place]] = []
        for size in sorted({len(held) for held in self.folds.held_out}):
            folds = [f for f, held in enumerate(self.folds.held_out) if len(held) == size]
            places = [(f, seed) for seed in range(self.seeds) for f in folds]
            parts += _cut(places, int(np.sum(~self.folds.held(folds[0]))), self.folds.X.shape[1])
        return parts

    def train(
        self, strata: NDArray[np.int64], folder: ResultFolder, *, jobs: int, cluster: str | None, verbose: Show
    ) -> tuple[Outcomes, bool]:
        """Train what is not in the folder. Return all outcomes, and whether Ctrl-C ended it early."""
        done = self.finished(folder)
        stacks, threads = self.stacks(done), torch.get_num_threads()
        here = cluster is None and jobs == 1
        work = partial(run_stack, networks=self, strata=strata, carried=b"" if here else pack_methods())
        spread = partial(shared, jobs=jobs) if cluster is None else on_cluster(cluster, what="stack")
        try:
            with Bar(self.count(self.keys) - self.count(list(done)), "networks", verbose, patience=0.0) as bar:
                for _, outcomes in spread(work, stacks) if stacks else ():
                    for key, results in outcomes.items():
                        folder.write(self.file(*key), results)
                    done |= outcomes
                    bar.advance(self.count(list(outcomes)))
        except KeyboardInterrupt:
            return done, True
        finally:
            torch.set_num_threads(threads)
        return done, False

    def errors(self, name: str, outcomes: Outcomes) -> pd.DataFrame:
        """Return the error of the candidates chosen on each held-out domain, a row for each seed that has all."""
        rows = []
        for seed in range(self.seeds):
            by_domain: dict[str, float] = {}
            for fold, held in enumerate(self.folds.held_out):
                best = choose(self.rule, outcomes.get((name, (fold, seed)), []))
                by_domain |= dict(zip(held, best["errors"], strict=True)) if best else {}
            rows.append(by_domain)
        return pd.DataFrame(rows, columns=list(self.folds.rows)).dropna()


def grid_of(name: str) -> tuple[Mapping[str, float], ...]:
    """Return three values of a method's first hyper-parameter: its default, a tenth and ten times, within its range.

    >>> grid_of("coral")
    ({'gamma': 1.0}, {'gamma': 0.1}, {'gamma': 10.0})
    """
    for hyper, space in get_method(name).space.items():
        if hyper != "lr" and space.log and space.default is not None:
            tried = [space.default, max(space.low, space.default / 10), min(space.high, space.default * 10)]
            return tuple({hyper: value} for value in dict.fromkeys(tried))
    return ({},)


def _cut(sets: Sequence[Any], rows: int, columns: int) -> list[Sequence[Any]]:
    """Cut data sets of so many rows into parts that go into one stack, every candidate having a copy."""
    width = 1 if columns >= WIDE else max(1, STACK_ROWS // (TRIED * rows))
    return [sets[start : start + width] for start in range(0, len(sets), width)]


def check_rule(name: str) -> None:
    """Check that there is a selection rule of that name.

    >>> check_rule("luck")
    Traceback (most recent call last):
    rpo.exceptions.InputError: selection must be one of validation, leave-one-out, irm, formula, oracle, got 'luck'
    """
    if name not in RULES:
        raise InputError(f"selection must be one of {', '.join(RULES)}, got {name!r}")


def choose(rule: str, candidates: Sequence[Outcome]) -> Outcome | None:
    """Return the candidate with the smallest score, the first of equals; None if all failed or none is known.

    >>> good, better = ({"scores": {"irm": score}, "errors": [score]} for score in (2.0, 1.0))
    >>> choose("irm", [{"failure": "a term is not finite"}, good, better]) is better
    True
    """
    pool = candidates[:1] if rule == "formula" else candidates
    scores = [None if "failure" in outcome else _score(rule, outcome) for outcome in pool]
    able = [(score, place) for place, score in enumerate(scores) if score is not None]
    return pool[min(able)[1]] if able else None


def _score(rule: str, outcome: Outcome) -> float | None:
    """Return a rule's score; zero where there was nothing to choose from."""
    score: float | None = {**outcome["scores"], "oracle": outcome["errors"][0]}.get(rule, 0.0)
    return score


def run_stack(stack: Stack, networks: Networks, strata: NDArray[np.int64], carried: bytes = b"") -> Outcomes:
    """Train and measure the networks of a stack; what cannot be trained is an outcome with the reason.

    Only a method that is unknown here, or differs, raises an error: that is no network's fault.
    """
    unpack_methods(carried)
    for own in stack.methods:
        check_same(get_method(own.method), own.source)
    torch.set_num_threads(1)
    try:
        return _train_and_measure(stack, networks, strata)
    except Exception as error:
        failure = f"{type(error).__name__}: {' '.join(str(error).split())}"
    outcomes: Outcomes = {}
    for single in stack.singles():  # whose fault it was shows when each is alone
        for key, results in run_stack(single, networks, strata).items():
            outcomes.setdefault(key, []).extend(results)
    return outcomes or {(stack.methods[0].method, stack.places[0]): [{"failure": failure}]}


def _train_and_measure(stack: Stack, networks: Networks, strata: NDArray[np.int64]) -> Outcomes:
    parts = [fold_data(networks.folds, strata, fold, seed) for fold, seed in stack.places]
    seeds = [seed for _, seed in stack.places]
    outcomes: Outcomes = {}
    for own, trained in _fit(stack.methods, seeds, [part.train for part in parts], networks.config):
        copies = [part for part in parts for _ in own.grid]
        validation = _outputs(trained, [part.validation for part in copies])
        held = _outputs(trained, [part.held for part in copies])
        measured = [
            {"failure": failure} if failure else _measure(part, *outputs)
            for failure, part, *outputs in zip(trained.failures, copies, validation, held, strict=True)
        ]
        n = len(own.grid)
        outcomes |= {(own.method, place): measured[k * n : (k + 1) * n] for k, place in enumerate(stack.places)}
    if networks.rule == "leave-one-out":
        for place, part in zip(stack.places, parts, strict=True):
            _score_left_out(stack.methods, place, part.train, networks, outcomes)
    return outcomes


def _fit(
    methods: Sequence[Candidates], seeds: Sequence[int], sets: Sequence[Data], config: Config
) -> Iterator[tuple[Candidates, Trained]]:
    """Train every candidate of each method on every data set at once: model k·n + i is candidate i of n on set k."""
    state: State | None = None

    def build() -> torch.nn.Module:
        return network(sets[0].row_shape, sets[0].n_outputs, HIDDEN)

    for own in methods:
        pairs, n = own.fill(), len(own.grid)
        if own.stage() is not None and state is None:
            numbers = {name: [value] * len(sets) for name, value in pairs[0][0].items()}
            state = first_stage(
                get_method(own.method),
                build,
                stack_data(sets),
                seeds=seeds,
                numbers=numbers,
                options=pairs[0][1],
                config=config,
            )
        trained = train(
            own.method,
            build,
            sets[0] if len(sets) == 1 else stack_data([data for data in sets for _ in own.grid]),
            seeds=[seed for seed in seeds for _ in own.grid],
            numbers={name: [values[name] for values, _ in pairs] * len(sets) for name in pairs[0][0]},
            options=pairs[0][1],
            config=config,
            first=state and {name: value.repeat_interleave(n, 0) for name, value in state.items()},
        )
        yield own, trained


def _outputs(trained: Trained, parts: Sequence[Data]) -> list[Tensor]:
    """Return each model's outputs for its own rows.

    A method with a prediction of its own may look at all rows it is given (MTL takes their mean): it is given one
    domain of one model at a time, and no padding.
    """
    if trained.method.predict is None:
        stacked = trained.output(stack_data(parts).x, stacked=True)
        return [rows[: part.n_rows] for rows, part in zip(stacked, parts, strict=True)]
    outputs = []
    for k, data in enumerate(parts):
        alone = replace(trained, snapshot=cut(trained.snapshot, slice(k, k + 1)))
        output = torch.empty(data.n_rows, data.n_outputs, dtype=trained.snapshot.flat.dtype)
        for rows in (data.domain == e for e in set(data.domain.tolist())):
            output[rows] = alone.output(data.tensor[rows])[0]
        outputs.append(output)
    return outputs


def _measure(part: FoldData, validation: Tensor, held: Tensor) -> Outcome:
    """Compute the scores of a model on validation rows, and its error on each held-out domain."""
    data = part.validation
    columns = (data.domain, data.weight, part.train.n_domains)
    risk = domain_mean(sample_loss(validation, data.y, data.task), *columns)
    slope = dummy_gradient(validation, data.y, *columns, data.task)
    scores = {"validation": fmean(_round(risk)), "irm": fmean(_round(slope.square()))}
    errors = _errors(held, part.held)
    if torch.isfinite(held).all() and all(map(math.isfinite, [*scores.values(), *errors])):
        return {"scores": scores, "errors": errors}
    return {"failure": "the model's output is not finite"}


def _errors(output: Tensor, data: Data) -> list[float]:
    """Return the mean squared error of each domain, or its share of wrong classes."""
    domains = [data.domain == e for e in range(data.n_domains)]
    if data.task == "regression":
        squared = (output[:, 0] - data.y).square()
        return _round(torch.stack([squared[rows].mean() for rows in domains]))
    right = ((output[:, 0] > 0) if data.task == "binary" else output.argmax(1)) == data.y
    return [1 - share for share in _round(torch.stack([right[rows].double().mean() for rows in domains]))]


def _round(values: Tensor) -> list[float]:
    return [float(f"{value:.{DIGITS}g}") for value in values.tolist()]


def _score_left_out(
    methods: Sequence[Candidates], place: Place, data: Data, networks: Networks, outcomes: Outcomes
) -> None:
    """Add each candidate's mean risk on training domains, each left out of a training; None if one of these failed."""
    methods = [own for own in methods if len(networks.candidates[own.method].grid) > 1]  # else nothing to choose from
    risks: dict[str, list[float]] = {own.method: [] for own in methods}
    for domains in _cut(range(data.n_domains), data.n_rows, data.row_shape[0]):
        others = [_rows(data, data.domain != e) for e in domains]
        for own, trained in _fit(methods, [place[1]] * len(others), others, networks.config):
            left_out = [_rows(data, data.domain == e) for e in domains for _ in own.grid]
            for output, rows, failure in zip(_outputs(trained, left_out), left_out, trained.failures, strict=True):
                risk = sample_loss(output, rows.y, rows.task).mean()
                risks[own.method].append(math.nan if failure else _round(risk[None])[0])
    for own in methods:
        for i, outcome in enumerate(outcomes[own.method, place]):
            mean = fmean(risks[own.method][i :: len(own.grid)])
            if "scores" in outcome:
                outcome["scores"]["leave-one-out"] = mean if math.isfinite(mean) else None


def _rows(data: Data, rows: Tensor) -> Data:
    return replace(data, **{name: getattr(data, name)[rows] for name in COLUMNS})
