"""The runs of `rpo bench real`: rows of the results by tables, settings and folds."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from pydantic import JsonValue

from rpo.engine.config import HIDDEN, STEPS
from rpo.exceptions import InputError
from rpo_lab.data.recipes import recipe_of, recipes
from rpo_lab.real.folds import fold_count
from rpo_lab.real.learners import NEEDS, installed
from rpo_lab.real.planting import CLEAN, SETTINGS, is_noisy
from rpo_lab.real.quality import DETECT, OFF
from rpo_lab.runner.specification import DataSpec, Run, Training
from rpo_lab.runner.study import Row, Setting, Study

STOCK, PEERS, NETWORKS, QUALITY, CONTROLS = "Stock learners", "Peers", "Our networks", "Quality", "Controls of Quality"
DETECTION = "Detection"
MAIN = (CLEAN, "domains-30", "confounder")  # the settings that figures show and networks are run in


def _learners(section: str, labels: Mapping[str, str]) -> dict[str, Row]:
    return {name: Row(label, f"real:{name}", section=section) for name, label in labels.items()}


def _quality(estimator: str) -> dict[str, Row]:
    name, label = f"quality-{estimator}", f"Quality, {estimator}"
    words = {"permuted": "weights permuted", "uniform": "weights uniform", "true": "weights by the true noise"}
    controls = {f"{name}-{key}": f"{label}, {of_rows}" for key, of_rows in words.items()}
    return {**_learners(QUALITY, {name: label}), **_learners(CONTROLS, controls)}


def _rpo(label: str, scheme: str) -> Row:
    return Row(label, "rpo", options={"scheme": scheme}, data={"strata": True}, section=NETWORKS)


STOCK_LEARNERS = {
    "mean": "mean or majority",
    "ridge": "ridge or logistic",
    "hgb": "HistGradientBoosting",
    "forest": "random forest",
}
PEER_LEARNERS = {"lightgbm": "LightGBM", "gpboost": "GPBoost", "anchor": "anchor boosting", "mixed": "mixed model"}
ROWS: Mapping[str, Row] = {
    **_learners(STOCK, STOCK_LEARNERS),
    **_learners(PEERS, PEER_LEARNERS),
    "erm-l2": Row("ERM", "erm-l2", section=NETWORKS),
    "irm-lip": Row("IRM + lip", "irm-lip", section=NETWORKS),
    "groupdro": Row("GroupDRO", "groupdro", section=NETWORKS),
    "coral": Row("CORAL", "coral", section=NETWORKS),
    "vrex": Row("V-REx", "vrex", section=NETWORKS),
    "rpo-calibrated": _rpo("RPO, calibrated", "calibrated"),
    "rpo-paper": _rpo("RPO, to the letter", "paper"),
    **_quality("linear"),
    **_quality("trees"),
    **_quality("auto"),
    OFF: Row("Quality, auto, not judged", f"real:{OFF}", section=CONTROLS),
    DETECT: Row("detection", f"real:{DETECT}", section=DETECTION),
}
"""Lines of the results by name: methods of the registry, and learners that are none of its networks."""
REGRESSION_ONLY = ("mixed",)
BEST_OF = ("ridge", "hgb", "forest")  # the stock learners that errors are measured against
OURS = "quality-auto"


def runs_in(row: str, setting: str) -> bool:
    """Return whether a row makes sense there: without noise there is no true noise to know, and nothing to detect.

    The stack without any judgement, dear and close to uniform weights, is in the main settings only.
    """
    if row == OFF:
        return setting in MAIN
    return is_noisy(setting) or not (row.endswith("-true") or row == DETECT)


# How many seeds deal the domains anew, and how many of the folds of each are held out.
Amount = tuple[int, int]


@dataclass(frozen=True)
class Profile:
    """How much is run: tables, rows of a table, and for each setting how often; networks less often than learners."""

    rows: int
    learners: Mapping[str, Amount]
    networks: Mapping[str, Amount] = field(default_factory=dict)
    methods: tuple[str, ...] = tuple(ROWS)
    tables: tuple[str, ...] = ()
    """All but `left_out`, if none is named."""
    left_out: tuple[str, ...] = ()


# Cut before any result was seen, so that two cores take under two hours (docs/results/real.md says what and why).
PROFILES: Mapping[str, Profile] = {
    "quick": Profile(
        rows=1_000,
        learners={CLEAN: (3, 1), "domains-30": (3, 1)},
        methods=(*BEST_OF, OURS, f"{OURS}-permuted", f"{OURS}-uniform", f"{OURS}-true", DETECT),
        tables=("exam", "scots", "bdf", "gcsemv", "produc", "rice", "contraception", "guimmun"),
    ),
    "paper": Profile(
        rows=1_000,
        learners={
            name: (5, 2) if name == CLEAN else (3, 1) if name.endswith(("-10", "-50")) else (5, 1) for name in SETTINGS
        },
        networks=dict.fromkeys(MAIN, (3, 1)),
        left_out=("ames",),
    ),
    "full": Profile(rows=20_000, learners=dict.fromkeys(SETTINGS, (5, 5)), networks=dict.fromkeys(SETTINGS, (5, 5))),
}


class Key(NamedTuple):
    """One run's place in the results."""

    row: str
    table: str
    setting: str
    seed: int
    fold: int


@dataclass(frozen=True)
class RealStudy:
    """All of it: the runs by their place."""

    profile: Profile
    tables: tuple[str, ...]
    among: Container[str] | None = None
    """Hashes of runs that are recorded, if nothing is to be run: what is installed here is then of no account."""

    @cached_property
    def missing(self) -> dict[str, str]:
        """Rows that cannot be run here, or were not where the records are from, by the library that they need."""
        needing = {name: NEEDS[name] for name in self.profile.methods if name in NEEDS}
        if self.among is None:
            return {name: library for name, library in needing.items() if not installed(name)}
        recorded = {key.row for key, run in self._every(()).items() if run.digest in self.among}
        return {name: library for name, library in needing.items() if name not in recorded}

    @cached_property
    def runs(self) -> dict[Key, Run]:
        """Every run, complete, by its place."""
        return self._every(self.missing)

    def _every(self, missing: Container[str]) -> dict[Key, Run]:
        runs: dict[Key, Run] = {}
        for table in self.tables:
            for row in self.profile.methods:
                if row in missing or (row in REGRESSION_ONLY and recipe_of(table).task == "classification"):
                    continue
                amounts = self.profile.networks if ROWS[row].section == NETWORKS else self.profile.learners
                for setting, amount in amounts.items():
                    if runs_in(row, setting):
                        runs |= self._runs(row, table, setting, *amount)
        return runs

    def _runs(self, row: str, table: str, setting: str, seeds: int, folds: int) -> dict[Key, Run]:
        """Return the runs of one row in one setting of a table."""
        options: dict[str, JsonValue] = {"table": table, "setting": setting, "rows": self.profile.rows}
        columns = tuple(
            Setting(f"{fold}", DataSpec(name="real", options={**options, "fold": fold}))
            for fold in range(min(folds, fold_count(recipe_of(table).domains)))
        )
        training = Training(hidden=HIDDEN, steps=STEPS)
        study = Study("real", (ROWS[row],), columns, tuple(range(seeds)), ROWS[row].label, training)
        return {
            Key(row, table, setting, seed, fold): study.candidates(ROWS[row], column, seed)[0]
            for seed in study.seeds
            for fold, column in enumerate(columns)
        }


def real_study(
    profile: str, tables: Sequence[str] = (), seeds: int | None = None, *, among: Container[str] | None = None
) -> RealStudy:
    """Make the study of a profile, on other tables or with other seeds if asked, or that of runs that are recorded.

    >>> study = real_study("quick", ["exam"], seeds=1)
    >>> len(study.runs), study.tables
    (14, ('exam',))
    """
    if profile not in PROFILES:
        raise InputError(f"unknown profile {profile!r}: use one of {', '.join(PROFILES)}")
    size = PROFILES[profile]
    if seeds is not None:
        if seeds < 1:
            raise InputError(f"seeds must be at least 1, got {seeds}")
        learners, networks = (
            {name: (seeds, folds) for name, (_, folds) in amounts.items()} for amounts in (size.learners, size.networks)
        )
        size = replace(size, learners=learners, networks=networks)
    usual = size.tables or tuple(recipe.name for recipe in recipes() if recipe.name not in size.left_out)
    return RealStudy(size, tuple(recipe_of(name).name for name in tables) or usual, among)
