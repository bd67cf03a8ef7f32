"""What helps on this table? Every domain held out in turn, learners and methods side by side, resumable."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pydantic import JsonValue

from rpo._comparing.table_learners import QUALITY, learner_errors, missing, names_of
from rpo._comparing.table_problem import NAME, Folds, dealt, encoded, table_file, use_folder, write_folds
from rpo._comparing.verdict import verdict
from rpo._io import AskedTask, Grouping, Show
from rpo._models.table_model import OURS, PLAIN
from rpo._stats.significance import paired, paired_interval
from rpo._table.table import Table, prepare
from rpo.engine.config import HIDDEN, STEPS, default_batch_size
from rpo.exceptions import InputError
from rpo.functional.statistics import MIN_ROWS
from rpo.methods import get_method
from rpo.methods import methods as registered
from rpo_lab.runner.runner import cluster_at, execute, plan
from rpo_lab.runner.selection import chosen, get_rule
from rpo_lab.runner.specification import DataSpec, Number, Training
from rpo_lab.runner.store import Record, Store
from rpo_lab.runner.study import Row, Setting, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from rpo_lab.runner.cluster import Cluster

# What the estimators take for RPO and its kin; other methods keep the registry's defaults.
OPTIONS: dict[str, JsonValue] = {"scheme": "calibrated"}
MOST_ROWS = 20_000


@dataclass(frozen=True, eq=False)
class Comparison:
    """How each method does on domains it has not seen.

    The error is the mean squared error as a share of the target's variance, or the share of wrong classes. `methods`
    has a row for each method, best first: its mean over held-out domains, the deviation of that over seeds (of networks
    alone), the difference from `quality` with its 95 % interval and p, paired over domains. `domains` has a row for
    each held-out domain. `failed` names the trainings that failed; the same call tries them again.
    """

    methods: pd.DataFrame
    domains: pd.DataFrame
    verdict: str
    protocol: tuple[str, ...]
    table: Table = field(repr=False)
    failed: tuple[str, ...] = ()
    stopped: bool = False
    """Whether it was interrupted: then this is what was known."""

    def figure(self) -> "Figure":
        """The mean error of each method over held-out domains, with its deviation over seeds."""
        from matplotlib.figure import Figure

        table = self.methods.iloc[::-1]
        figure = Figure(figsize=(6.4, 1.2 + 0.26 * len(table)), layout="constrained")
        axis = figure.subplots()
        colours = ["#1f5fa8" if name == QUALITY else "#9aa4af" for name in table["method"]]
        axis.barh(table["method"], table["error"], xerr=table["deviation"], color=colours, error_kw={"lw": 1})
        axis.set_xlabel("mean error on held-out domains, with its standard deviation over seeds")
        axis.spines[["top", "right"]].set_visible(False)
        return figure


def compare(
    frame: pd.DataFrame,
    *,
    target: str,
    domain: str,
    strata: Sequence[str] = (),
    task: AskedTask = "auto",
    grouping: Grouping = "auto",
    methods: Sequence[str] = (),
    every_method: bool = False,
    seeds: int = 3,
    drop: Sequence[str] = (),
    category: Sequence[str] = (),
    steps: int = STEPS,
    selection: str = "validation",
    jobs: int = 1,
    cluster: str | None = None,
    out: Path | str | None = None,
    verbose: Show = "auto",
) -> Comparison:
    """Hold out every domain in turn, and report what helps.

    Compares the mean (or the majority class), a linear model, boosted trees, the Quality model with permuted and
    uniform weights as controls, a network with plain training (erm-l2) and with `rpo`, and the methods you name. Ctrl-C
    while networks are training returns the results so far.

    Parameters
    ----------
    frame : DataFrame
        The table.
    target, domain : str
        Names of the columns with the target and the domain.
    strata : sequence of str
        Columns that define strata (groups of rows).
    task : "auto", "regression" or "classification"
        The task; "auto" recognises it from the target.
    grouping : "auto", "search", "class" or "none"
        How strata are found without `strata`, as in `rpo.quality`.
    methods : sequence of str
        Further methods (`rpo methods` lists them).
    every_method : bool
        Compare all methods.
    seeds : int
        Number of seeds for each network, at least two.
    drop, category : sequence of str
        Columns to ignore; numeric columns to treat as categorical.
    steps : int
        Number of training steps for networks.
    selection : str
        How hyper-parameters are selected: "validation", "irm" or "formula".
    jobs : int
        Number of worker processes.
    cluster : str, optional
        The address of a Dask scheduler: networks are trained on that cluster.
    out : path, optional
        Folder for finished runs: the same call continues an interrupted comparison and repeats runs that failed.
    verbose : bool or "auto"
        Whether to show progress; "auto" does on a terminal.

    Returns
    -------
    Comparison
        `verdict` in plain words, the data frames `methods` and `domains`, `protocol`, and failed runs.

    Examples
    --------
    >>> import numpy as np, pandas as pd, rpo
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame({"x": rng.normal(size=90), "d": ["a", "b", "c"] * 30})
    >>> table["y"] = table["x"] + 0.3 * rng.normal(size=90)
    >>> found = rpo.compare(table, target="y", domain="d", methods=["coral"], seeds=2, steps=20, verbose=False)
    >>> sorted(found.methods["method"])
    ['coral', 'erm-l2', 'linear', 'mean', 'quality', 'quality-permuted', 'quality-uniform', 'rpo', 'trees']
    """
    rule = get_rule(selection)
    workers = cluster_at(cluster)
    if seeds < 2:
        raise InputError(f"seeds must be at least 2 (a standard deviation needs two values), got {seeds}")
    ready = prepare(frame, target=target, domain=domain, strata=strata, task=task, drop=drop, category=category)
    ready = _cut(ready)
    rows = study_rows(ready, methods, every_method)
    with ExitStack() as stack:
        if out is None:
            out = stack.enter_context(tempfile.TemporaryDirectory())
        folder = Path(out)
        folds = write_folds(ready, folder, grouping=grouping, progress=verbose)
        use_folder(folder)
        scale = encoded(ready)[3]
        errors = learner_errors(ready, folds, folder, scale, grouping=grouping, jobs=jobs, verbose=verbose)
        study = _study(ready, folds, rows, seeds, steps, selection == "leave-one-out")
        _forget_failures(study, folder)
        records, stopped = _execute(study, folder, jobs, workers and _with_table(workers, folder, folds), verbose)
    errors |= {row.label: _errors(study, records, row, rule, folds) for row in rows}
    found = summarise(errors, folds, ready, _protocol(study, records, rule.words, folds))
    return replace(found, failed=_failed(study, records, errors), stopped=stopped)


def planned(
    frame: pd.DataFrame,
    *,
    target: str,
    domain: str,
    strata: Sequence[str],
    task: AskedTask,
    grouping: Grouping,
    methods: Sequence[str],
    every_method: bool,
    seeds: int,
    drop: Sequence[str],
    category: Sequence[str],
    steps: int,
    selection: str,
    out: Path | str,
) -> list[str]:
    """What `compare` with the same arguments would do, in sentences; nothing is trained."""
    get_rule(selection)
    ready = _cut(prepare(frame, target=target, domain=domain, strata=strata, task=task, drop=drop, category=category))
    rows = study_rows(ready, methods, every_method)
    folds = dealt(ready, grouping)[0]
    study = _study(ready, folds, rows, seeds, steps, selection == "leave-one-out")
    store = Store(Path(out))
    left = sum(store.read(run) is None for run in study.runs())
    number = len(folds.held_out)
    return [
        f"{len(ready.y):,} rows, {len(folds.rows)} domains, held out in {number} folds",
        f"{', '.join(names_of(ready))}: {missing(ready, folds, Path(out))} of {number} folds to fit",
        f"{', '.join(row.label for row in rows)}: {left:,} of {len(study.runs()):,} networks to train "
        f"({seeds} seeds, {steps} steps)",
        f"kept in {out}",
    ]


def _forget_failures(study: Study, folder: Path) -> None:
    store = Store(folder)
    for run in study.runs():
        record = store.read(run)
        if record is not None and record.status == "failed":
            store.remove(run)


def _failed(study: Study, records: Mapping[str, Record], errors: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """Each method that failed, how often, and the first reason."""
    lines = [] if len(errors[QUALITY]) else [f"{QUALITY} could not be fitted without some of the domains"]
    for row in study.rows:
        runs = {
            run.digest
            for setting in study.settings
            for seed in study.seeds
            for run in study.candidates(row, setting, seed)
        }
        bad = [records[digest] for digest in sorted(runs & records.keys()) if records[digest].status == "failed"]
        if bad:
            lines.append(f"{row.label} failed in {len(bad)} of {len(runs)} trainings: {bad[0].reason}")
    return tuple(lines)


def study_rows(ready: Table, names: Sequence[str], every: bool = False) -> tuple[Row, ...]:
    """The networks to train, with small grids: those named, in that order, plain training and RPO; or all that fit.

    >>> table = pd.DataFrame({"x": range(30), "y": range(30), "d": [0, 1, 2] * 10})
    >>> [row.label for row in study_rows(prepare(table, target="y", domain="d"), ["coral"])]
    ['coral', 'erm-l2', 'rpo']
    """
    fits = encoded(ready)[1]
    wanted = [name for name in names if name not in names_of(ready)]
    for name in wanted:
        get_method(name).check_task(fits)
    wanted += [PLAIN, OURS, *(sorted(method.name for method in registered(fits)) if every else ())]
    return tuple(
        Row(name, name, grid_of(name), OPTIONS if "scheme" in get_method(name).options else {})
        for name in dict.fromkeys(wanted)
        if name not in names_of(ready)
    )


def grid_of(name: str) -> tuple[Mapping[str, Number], ...]:
    """Three values of a method's first hyper-parameter: its default, a tenth and ten times, within its range.

    >>> grid_of("coral")
    ({'gamma': 1.0}, {'gamma': 0.1}, {'gamma': 10.0})
    """
    for hyper, space in get_method(name).space.items():
        if hyper != "lr" and space.log and space.default is not None:
            tried = [space.default, max(space.low, space.default / 10), min(space.high, space.default * 10)]
            return tuple({hyper: value} for value in dict.fromkeys(tried))
    return ({},)


def _cut(ready: Table) -> Table:
    """At most twenty thousand rows, each domain keeping its share: a comparison trains hundreds of models."""
    total = len(ready.y)
    if total <= MOST_ROWS:
        return ready
    kept = np.sort(np.random.default_rng(0).choice(total, MOST_ROWS, replace=False))
    note = f"the comparison used {MOST_ROWS:,} rows drawn from {total:,}"
    return replace(ready.rows(kept), notes=(*ready.notes, note))


def _study(ready: Table, folds: Folds, rows: tuple[Row, ...], seeds: int, steps: int, leave_one_out: bool) -> Study:
    metric = "mse" if ready.task == "regression" else "accuracy"
    settings = tuple(
        Setting(str(f), DataSpec(name=NAME, options={"sha256": folds.sha256, "fold": f}), test="0", metric=metric)
        for f in range(len(folds.held_out))
    )
    batch = default_batch_size(len(ready.y), len(folds.rows))
    training = Training(hidden=HIDDEN, steps=steps, batch_size=batch)
    return Study("compare", rows, settings, tuple(range(seeds)), OURS, training, leave_one_out)


def _with_table(cluster: "Cluster", folder: Path, folds: Folds) -> "Cluster":
    """The cluster, its workers to be given the table, each once."""
    table = table_file(folds.sha256)
    return replace(cluster, files={str(table): (folder / table).read_bytes()}, use=use_folder)


def _execute(
    study: Study, folder: Path, jobs: int, cluster: "Cluster | None", progress: Show
) -> tuple[dict[str, Record], bool]:
    """The records, and whether somebody interrupted: then those that are kept."""
    runs, store = study.runs(), Store(folder)
    options: dict[str, Any] = {"jobs": jobs, "cluster": cluster, "progress": progress, "label": "networks"}
    try:
        # A worker is a process of its own: it must know the table before it is asked for it.
        return execute(runs, store, before=partial(use_folder, folder), **options), False
    except KeyboardInterrupt:
        return plan(runs, store).done, True


def _errors(study: Study, records: Mapping[str, Record], row: Row, rule: Any, folds: Folds) -> pd.DataFrame:
    """The error on each held-out domain, a row a seed; seeds of which a fold failed are missing."""
    found: dict[int, dict[str, float]] = {seed: {} for seed in study.seeds}
    for setting, held in zip(study.settings, folds.held_out, strict=True):
        for seed, record in chosen(study, records, row, setting, rule).items():
            assert record.measured is not None
            for place, name in enumerate(held):
                value = record.measured.test[str(place)][setting.metric]
                found[seed][name] = 1 - value if setting.metric == "accuracy" else value
    return pd.DataFrame.from_dict(found, orient="index", columns=list(folds.rows)).dropna()


def summarise(errors: Mapping[str, pd.DataFrame], folds: Folds, ready: Table, protocol: tuple[str, ...]) -> Comparison:
    """Tables and verdict from errors by seed and held-out domain."""
    known = {name: table for name, table in errors.items() if not table.empty}
    if QUALITY not in known:
        raise InputError("the Quality model could not be fitted with a domain held out: each domain needs more rows")
    ours = known[QUALITY].mean(axis=0)
    judged = [name for name, n in folds.rows.items() if n >= MIN_ROWS] or list(folds.rows)
    lines = []
    for name, table in known.items():
        by_seed, by_domain = table.mean(axis=1), table.mean(axis=0)
        low, high = paired_interval(dict(enumerate(by_domain)), dict(enumerate(ours)))
        same = name == QUALITY
        lines.append(
            {
                "method": name,
                "error": by_seed.mean(),
                "deviation": by_seed.std(ddof=1) if len(by_seed) > 1 else np.nan,
                "worst domain": by_domain[judged].max(),
                "difference": 0.0 if same else float((by_domain - ours).mean()),
                "low": np.nan if same else low,
                "high": np.nan if same else high,
                "p paired": np.nan if same else paired(by_domain.to_numpy(), ours.to_numpy()),
                "worse in": np.nan if same else float(np.mean(by_domain > ours)),
                "seeds": len(table),
            }
        )
    methods = pd.DataFrame(lines).sort_values("error", kind="stable", ignore_index=True)
    domains = pd.DataFrame({name: table.mean(axis=0) for name, table in known.items()})
    words = verdict(domains)
    domains.insert(0, "n", [folds.rows[name] for name in domains.index])
    domains = domains.rename_axis("domain").reset_index().sort_values("n", ascending=False, ignore_index=True)
    return Comparison(methods, domains, words, protocol, ready)


def _protocol(study: Study, records: Mapping[str, Record], words: str, folds: Folds) -> tuple[str, ...]:
    runs = study.runs()
    done = sum(run.digest in records for run in runs)
    failed = sum(records[run.digest].status == "failed" for run in runs if run.digest in records)
    sizes = sorted({len(held) for held in folds.held_out})
    return (
        f"{len(folds.rows)} domains held out, {' or '.join(map(str, sizes))} at a time, {len(folds.held_out)} folds; "
        f"networks: {len(study.seeds)} seeds, {done:,} of {len(runs):,} trainings done, of which {failed} failed",
        f"networks: hyper-parameters by the {words}, three values tried of each method's first; "
        f"hidden layers {', '.join(map(str, study.training.hidden))}, {study.training.steps} steps",
        "error: mean squared error as a share of the target's variance, or share of wrong classes; mean over domains",
        "difference: from quality, with a 95 % interval and p by a t-test paired over held-out domains: what to expect "
        "on a new domain",
    )
