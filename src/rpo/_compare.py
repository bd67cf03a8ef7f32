"""Comparison of learners and methods on a table whose domains are held out in turn; interrupted work continues."""

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from rpo._cluster import check_scheduler
from rpo._comparison.table_folds import Folds, ResultFolder, encode_target, make_folds, strata_by_fold
from rpo._comparison.table_learners import CONTROLS, QUALITY, STOCK, learner_errors, names_of, read_fold
from rpo._comparison.table_networks import RULES, Networks, Outcomes, check_rule
from rpo._io import AskedTask, Grouping, Show, hold, p_equals, remove_temporaries
from rpo._models.table_model import OURS, PLAIN
from rpo._public import public
from rpo._stats.significance import SURE, paired, paired_interval
from rpo._table.table import Table, prepare
from rpo.engine.config import HIDDEN, STEPS, Config, default_batch_size
from rpo.exceptions import InputError
from rpo.functional.statistics import MIN_ROWS
from rpo.methods import get_method
from rpo.methods import methods as registered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 20_000


@public
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
        """Draw the mean error of each method over held-out domains, with its deviation over seeds."""
        from matplotlib.figure import Figure

        table = self.methods.iloc[::-1]
        figure = Figure(figsize=(6.4, 1.2 + 0.26 * len(table)), layout="constrained")
        axis = figure.subplots()
        colours = ["#1f5fa8" if name == QUALITY else "#9aa4af" for name in table["method"]]
        axis.barh(table["method"], table["error"], xerr=table["deviation"], color=colours, error_kw={"lw": 1})
        axis.set_xlabel("mean error on held-out domains, with its standard deviation over seeds")
        axis.spines[["top", "right"]].set_visible(False)
        return figure


@public
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
    """Compare learners and methods with every domain held out in turn.

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
    check_rule(selection)
    if cluster is not None:
        check_scheduler(cluster)
    if seeds < 2:
        raise InputError(f"seeds must be at least 2 (a standard deviation needs two values), got {seeds}")
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, got {jobs}")
    ready = _cut(prepare(frame, target=target, domain=domain, strata=strata, task=task, drop=drop, category=category))
    names = network_names(ready, methods, every_method)
    folds = make_folds(ready, grouping)
    networks = _networks(folds, names, seeds, steps, selection)
    with ExitStack() as stack:
        folder = _open(Path(stack.enter_context(tempfile.TemporaryDirectory()) if out is None else out), stack)
        strata_of_fold = strata_by_fold(ready, folds, folder, verbose)
        errors = learner_errors(ready, folds, folder, grouping=grouping, jobs=jobs, verbose=verbose)
        outcomes, stopped = networks.train(strata_of_fold, folder, jobs=jobs, cluster=cluster, verbose=verbose)
    errors |= {name: networks.errors(name, outcomes) for name in names}
    comparison = summarise(errors, folds, ready, _protocol(networks, outcomes))
    return replace(comparison, failed=_describe_failures(networks, outcomes, errors), stopped=stopped)


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
    """Describe what `compare` with the same arguments would do, without training."""
    check_rule(selection)
    ready = _cut(prepare(frame, target=target, domain=domain, strata=strata, task=task, drop=drop, category=category))
    names = network_names(ready, methods, every_method)
    folds, folder = make_folds(ready, grouping), ResultFolder(Path(out))
    networks = _networks(folds, names, seeds, steps, selection)
    number = len(folds.held_out)
    learners = sum(read_fold(ready, folds, folder, fold) is None for fold in range(number))
    total = networks.count(networks.keys)
    missing = total - networks.count(list(networks.finished(folder)))
    return [
        f"{len(ready.y):,} rows, {len(folds.rows)} domains, held out in {number} folds",
        f"{', '.join(names_of(ready))}: {learners} of {number} folds to fit",
        f"{', '.join(names)}: {missing:,} of {total:,} networks to train ({seeds} seeds, {steps} steps)",
        f"kept in {out}",
    ]


def network_names(ready: Table, names: Sequence[str], every: bool = False) -> tuple[str, ...]:
    """Return the methods to train: those named, in that order, plain training and RPO; or all for the task.

    >>> table = pd.DataFrame({"x": range(30), "y": range(30), "d": [0, 1, 2] * 10})
    >>> network_names(prepare(table, target="y", domain="d"), ["coral"])
    ('coral', 'erm-l2', 'rpo')
    """
    task, learners = encode_target(ready)[1], names_of(ready)
    wanted = [name for name in names if name not in learners]
    for name in wanted:
        get_method(name).check_task(task)
    wanted += [PLAIN, OURS, *(sorted(method.name for method in registered(task)) if every else ())]
    return tuple(name for name in dict.fromkeys(wanted) if name not in learners)


def _cut(ready: Table) -> Table:
    """Draw at most twenty thousand rows, each domain keeping its share: a comparison trains hundreds of models."""
    total = len(ready.y)
    if total <= MOST_ROWS:
        return ready
    drawn = np.sort(np.random.default_rng(0).choice(total, MOST_ROWS, replace=False))
    note = f"the comparison used {MOST_ROWS:,} rows drawn from {total:,}"
    return replace(ready.rows(drawn), notes=(*ready.notes, note))


def _networks(folds: Folds, names: tuple[str, ...], seeds: int, steps: int, selection: str) -> Networks:
    batch = default_batch_size(len(folds.y), len(folds.rows))
    # In double precision a network has the same six digits in any stack.
    config = Config(steps=steps, batch_size=batch, device="cpu", dtype=torch.float64, progress=False)
    return Networks(folds, names, seeds, config, selection)


def _open(path: Path, stack: ExitStack) -> ResultFolder:
    """Hold the folder until the stack is closed, and remove what a killed comparison left half-written."""
    stack.enter_context(hold(path, "--out"))
    for folder in (path, path / "tables", path / "learners", path / "runs"):
        remove_temporaries(folder)
    return ResultFolder(path)


def _describe_failures(networks: Networks, outcomes: Outcomes, errors: Mapping[str, pd.DataFrame]) -> tuple[str, ...]:
    """Name each method that failed, how often, and the first reason."""
    lines = [] if len(errors[QUALITY]) else [f"{QUALITY} could not be fitted without some of the domains"]
    for name in networks.names:
        own = [outcome for key, results in outcomes.items() if key[0] == name for outcome in results]
        reasons = [outcome["failure"] for outcome in own if "failure" in outcome]
        total = networks.count([key for key in networks.keys if key[0] == name])
        if reasons:
            lines.append(f"{name} failed in {len(reasons)} of {total} trainings: {reasons[0]}")
    return tuple(lines)


def summarise(errors: Mapping[str, pd.DataFrame], folds: Folds, ready: Table, protocol: tuple[str, ...]) -> Comparison:
    """Make tables and verdict from errors by seed and held-out domain."""
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


def _protocol(networks: Networks, outcomes: Outcomes) -> tuple[str, ...]:
    folds, done = networks.folds, [outcome for results in outcomes.values() for outcome in results]
    failures = sum("failure" in outcome for outcome in done)
    sizes = sorted({len(held) for held in folds.held_out})
    return (
        f"{len(folds.rows)} domains held out, {' or '.join(map(str, sizes))} at a time, {len(folds.held_out)} folds; "
        f"networks: {networks.seeds} seeds, {len(done):,} of {networks.count(networks.keys):,} trainings done, "
        f"of which {failures} failed",
        f"networks: hyper-parameters by the {RULES[networks.rule]}, three values tried of each method's first; "
        f"hidden layers {', '.join(map(str, HIDDEN))}, {networks.config.steps} steps",
        "error: mean squared error as a share of the target's variance, or share of wrong classes; mean over domains",
        "difference: from quality, with a 95 % interval and p by a t-test paired over held-out domains: what to expect "
        "on a new domain",
    )


def verdict(errors: pd.DataFrame) -> str:
    """Return sentences: whether quality helps compared with stock learners, RPO with plain training; the best method.

    `errors` has a row for each held-out domain and a column for each method.

    >>> errors = pd.DataFrame({"quality": [0.5, 0.6, 0.4], "linear": [0.9, 1.1, 0.7], "trees": [1.0, 1.2, 0.9]})
    >>> verdict(errors).split(":")[0]
    'quality helps on this table'
    """
    mean = errors.mean()
    stock = str(mean[list(STOCK)].idxmin())
    sentences = [_compare_two(errors, QUALITY, stock, "the better of linear and trees"), *_compare_controls(errors)]
    if {OURS, PLAIN} <= set(errors.columns):
        sentences.append(_compare_two(errors, OURS, PLAIN, "plain training of the same network"))
    best = str(mean.idxmin())
    if best not in (QUALITY, stock, *CONTROLS):
        p = paired(errors[best].to_numpy(), errors[QUALITY].to_numpy())
        how = "significantly below that of quality" if p is not None and p < SURE else "which may be chance"
        sentences.append(f"The smallest error is that of {best}, {mean[best]:.3g}, {how}.")
    base = "mean" if "mean" in mean else "majority"
    if base in mean and mean[best] >= mean[base]:
        sentences.append(f"No method is better than the {base} on unseen domains.")
    return " ".join(sentences)


def _compare_two(errors: pd.DataFrame, method: str, reference: str, words: str) -> str:
    """Compare two methods, with the interval of the difference over domains."""
    a, b = errors[method], errors[reference]
    ours, theirs = float(a.mean()), float(b.mean())
    p = paired(a.to_numpy(), b.to_numpy())
    low, high = paired_interval(dict(enumerate(a)), dict(enumerate(b)))
    share = f"{100 * abs(theirs - ours) / theirs:.0f} % " if theirs > 0 else ""
    side = "lower" if ours <= theirs else "higher"
    how = (
        f"its error on held-out domains is {share}{side} than that of {reference} ({words}), {ours:.3g} compared with "
        f"{theirs:.3g}, "
        f"difference {ours - theirs:.2g} ({low:.2g} to {high:.2g}), better in {int(np.sum(a < b))} of {len(a)} domains"
    )
    if p is None or not p < SURE:
        end = "" if p is None else f", {p_equals(p)}"
        return f"{len(a)} domains cannot tell {method} from {reference}: {how}{end}."
    if ours < theirs:
        return f"{method} helps on this table: {how}, {p_equals(p)}."
    return f"{method} hurts on this table: {how}, {p_equals(p)}. Use {reference}."


def _compare_controls(errors: pd.DataFrame) -> list[str]:
    """Describe whether it matters which rows get less weight."""
    controls = [name for name in CONTROLS if name in errors.columns]
    if not controls:
        return []
    if all((errors[name] == errors[QUALITY]).all() for name in controls):
        return ["No row gets less weight on this table, so the controls are identical to the model."]
    worse = [name for name in controls if _is_worse(errors, name)]
    if len(worse) == len(controls):
        return ["Permuted or uniform weights are significantly worse: it matters which rows get less weight."]
    as_good = [name for name in controls if name not in worse]
    return [f"{len(errors)} domains cannot tell its weights from those of {' and '.join(as_good)}."]


def _is_worse(errors: pd.DataFrame, name: str) -> bool:
    """Return whether a method's error is significantly above that of quality."""
    p = paired(errors[name].to_numpy(), errors[QUALITY].to_numpy())
    return p is not None and p < SURE and float(errors[name].mean()) > float(errors[QUALITY].mean())
