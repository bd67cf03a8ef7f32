"""Judging and learning from a dataset larger than memory: count rows, draw a sample, measure every row by it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from rpo._io import AskedTask, Grouping, few, one_thread
from rpo._judging.all_rows import of_all_rows
from rpo._judging.column_sums import ColumnRuler
from rpo._judging.evidence import Evidence, estimate, to_tables
from rpo._judging.judgement import Scope
from rpo._judging.measuring import Measuring, Roles, measured
from rpo._judging.ruler import Ruler
from rpo._judging.sums import Sums
from rpo._quality import Quality, learner_of
from rpo._table import prepare
from rpo._table.dataset import Dataset, skipped_words
from rpo._table.passes import Running, passed
from rpo._table.reading import frame_of
from rpo._table.sampling import SAMPLE_ROWS, Counting, Counts, Drawing, counted, drawn, sample_of, shares
from rpo._table.table import Table
from rpo.exceptions import InputError
from rpo.grouping import ColumnStrata, Strata

OTHER = "other combinations"
MOST_NAMED = 8


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows to learn from, prepared; rows of each domain, and the dataset without bad files."""

    ready: Table
    dataset: Dataset
    rows: dict[str, int]
    notes: tuple[str, ...]
    digest: str
    strata: tuple[str, ...] = ()
    """Columns that strata are made of."""

    @property
    def total(self) -> int:
        """Rows of the dataset that have a target."""
        return sum(self.rows.values())

    @property
    def words(self) -> str:
        """What was learned from."""
        of = f"{len(self.ready.y):,} of {self.total:,} rows"
        return f"fitted to a sample of {of}, balanced between domains as far as possible"


def draw(
    dataset: Dataset,
    *,
    target: str,
    domain: str | None = None,
    strata: Sequence[str] = (),
    task: AskedTask = "auto",
    drop: Sequence[str] = (),
    aside: Sequence[str] = (),
    category: Sequence[str] = (),
    seed: int = 0,
    rows: int = SAMPLE_ROWS,
    running: Running = Running(),  # noqa: B008 (frozen)
) -> Sample:
    """Draw about `rows` rows, as evenly over domains as possible, by the content of rows; prepare them as a table.

    Columns to `drop` are not read; those `aside` are, but are no features.
    """
    names = [name for name in dataset.columns if name not in drop]
    for name in (target, *([] if domain is None else [domain]), *strata, *aside, *category):
        if name not in names:
            known = few([repr(column) for column in names], MOST_NAMED)
            raise InputError(f"the dataset has no column {name!r}: it has {known}")
    while True:
        digest = _digest(dataset.fingerprint, target, domain, sorted(drop), seed, rows)
        counting = Counting(dataset, target, domain)
        counts, bad = passed("counting", counting, dataset, Counts(), counted, running, digest)
        if not bad:
            count = counts.check(target, domain)
            share = dict(zip(count, shares(list(count.values()), rows).tolist(), strict=True))
            drawing = Drawing(dataset, target, domain, share, tuple(names), seed)
            tables, bad = passed("drawing", drawing, dataset, list[Any](), drawn, running, digest)
        if not bad:
            break
        dataset = dataset.without(sorted(set(bad)))
    ready = prepare(
        sample_of(tables), target=target, domain=domain, strata=strata, task=task, drop=aside, category=category
    )
    notes = [f"{counts.without_target:,} rows without a target were left out"] if counts.without_target else []
    notes += [skipped_words(dataset.bad)] if dataset.bad else []
    if dataset.partial:
        lacked = few([repr(name) for name in dataset.partial], MOST_NAMED)
        notes.append(f"some files have no {lacked}: treated as missing there")
    return Sample(ready, dataset, count, tuple(notes), digest, tuple(strata))


def judge_dataset(
    sample: Sample,
    *,
    grouping: Grouping = "auto",
    estimator: Any = "auto",
    seed: int = 0,
    running: Running = Running(),  # noqa: B008 (frozen)
) -> Quality:
    """Judge the sample, and then every row by its models."""
    ready, dataset = sample.ready, sample.dataset
    with one_thread():
        evidence = estimate(
            ready,
            grouping=grouping,
            estimator=learner_of(estimator, ready.task),
            random_state=seed,
            progress=running.progress,
        )
        base = to_tables(ready, evidence, seed)
    ready = replace(ready, notes=(*ready.notes, *sample.notes))
    work = measuring_of(sample, evidence, grouping)
    digest = _digest(sample.digest, ready.task, str(ready.columns), grouping, str(estimator), evidence.strata.names)
    (sums, top), _ = passed(
        "measuring", work, dataset, (Sums(), None), measured, replace(running, skip_bad=False), digest
    )
    lacking = int(sums.pop("lacking")[0])
    if lacking:
        words = f"{lacking:,} rows have a class that is not in the sample, and were left out"
        ready = replace(ready, notes=(*ready.notes, words))
    if isinstance(work.strata, ColumnStrata):
        evidence = _with_others(evidence, sums, len(work.strata.known))
    scope = Scope(int(sums["rows"].sum()), len(ready.y), dataset.files)
    with one_thread():
        base = replace(base, table=ready)
        return Quality(**vars(of_all_rows(base, evidence, sums, work.columns, frame_of(top), scope, seed)))


def measuring_of(sample: Sample, evidence: Evidence | None = None, grouping: Grouping = "auto") -> Measuring:
    """Return how to measure every row by the estimates of a sample; compute these if not given."""
    evidence = estimate(sample.ready, grouping=grouping, progress=False) if evidence is None else evidence
    ready = sample.ready
    roles = roles_of(sample)
    strata: Strata | ColumnStrata | None = evidence.strata.found
    ruler = Ruler.of(evidence, ready.X.shape[1])
    if sample.strata:
        strata = ColumnStrata.of(ready.frame[list(sample.strata)])
        ruler = replace(ruler, n_strata=len(strata.known) + 1)
    code = np.unique(ready.domains, return_inverse=True)[1]
    columns = ColumnRuler.of(ready, code, len(roles.domains))
    return Measuring(sample.dataset, roles, ruler, columns, strata, grouping == "class")


def roles_of(sample: Sample) -> Roles:
    """Return the roles of the columns of a dataset."""
    ready = sample.ready
    classes = tuple(map(str, np.unique(ready.y))) if ready.task == "classification" else None
    names = tuple(map(str, np.unique(ready.domains)))
    return Roles(ready.target, ready.domain, ready.columns, names, classes, sample.strata)


def _with_others(evidence: Evidence, sums: Sums, number: int) -> Evidence:
    """Name the stratum after the known ones, of combinations that the sample lacks; without rows drop it from sums."""
    domains = len(sums["rows"])
    cells = {name: sums[name].reshape(domains, number + 1, -1) for name in sums if name.startswith("cell_")}
    if cells["cell_count" if "cell_count" in cells else "cell_rows"][:, number].any():
        return replace(evidence, strata=replace(evidence.strata, names=(*evidence.strata.names, OTHER)))
    for name, cell in cells.items():
        sums[name] = cell[:, :number].reshape(domains * number, *sums[name].shape[1:])
    return evidence


def _digest(*words: object) -> str:
    versions = [version(name) for name in ("rpo", "numpy", "scikit-learn", "pyarrow")]
    return sha256(repr((versions, words)).encode()).hexdigest()
