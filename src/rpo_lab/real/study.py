"""Which rows are run on which tables, in which settings, on which folds: `rpo bench real`."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pydantic import JsonValue

from rpo.engine.config import HIDDEN, STEPS
from rpo.exceptions import InputError
from rpo_lab.data.recipes import recipe_of, recipes
from rpo_lab.real.folds import fold_count
from rpo_lab.real.learners import NEEDS, installed
from rpo_lab.real.planting import CLEAN, SETTINGS, Setting
from rpo_lab.real.quality import DETECT, OFF
from rpo_lab.runner.specification import DataSpec, Run, Training, complete

STOCK, PEERS, NETWORKS, QUALITY, CONTROLS = "Stock learners", "Peers", "Our networks", "Quality", "Controls of Quality"
DETECTION = "Detection"
MAIN = (CLEAN, "domains-30", "confounder")  # the settings that figures show and networks are run in


@dataclass(frozen=True)
class Row:
    """One line of the results: a method of the registry, or a learner named `real:…`."""

    name: str
    label: str
    section: str
    method: str
    options: Mapping[str, JsonValue] = field(default_factory=dict)
    tasks: tuple[str, ...] = ("regression", "classification")

    @property
    def library(self) -> str:
        """The library it needs beyond the package's own; empty if there is none."""
        return NEEDS.get(self.method.partition(":")[2], "")

    @property
    def needs(self) -> str:
        """The library it needs and that is not installed here; empty if there is none."""
        return "" if installed(self.method.partition(":")[2]) else self.library

    def runs_in(self, setting: Setting) -> bool:
        """Whether it makes sense there: where nothing is noisy there is no true noise, and nothing to detect.

        The stack without any judgement, dear and close to uniform weights, is in the main settings only.
        """
        if self.name == OFF:
            return setting.name in MAIN
        return setting.noisy or not (self.name.endswith("-true") or self.name == DETECT)


def _outside(name: str, label: str, section: str) -> Row:
    return Row(name, label, section, f"real:{name}")


def _quality(estimator: str) -> list[Row]:
    name, label = f"quality-{estimator}", f"Quality, {estimator}"
    words = {"permuted": "weights permuted", "uniform": "weights uniform", "true": "weights by the true noise"}
    controls = (_outside(f"{name}-{key}", f"{label}, {said}", CONTROLS) for key, said in words.items())
    return [_outside(name, label, QUALITY), *controls]


ROWS: Mapping[str, Row] = {
    row.name: row
    for row in (
        _outside("mean", "mean or majority", STOCK),
        _outside("ridge", "ridge or logistic", STOCK),
        _outside("hgb", "HistGradientBoosting", STOCK),
        _outside("forest", "random forest", STOCK),
        _outside("lightgbm", "LightGBM", PEERS),
        _outside("gpboost", "GPBoost", PEERS),
        _outside("anchor", "anchor boosting", PEERS),
        Row("mixed", "mixed model", PEERS, "real:mixed", tasks=("regression",)),
        Row("erm-l2", "ERM", NETWORKS, "erm-l2"),
        Row("irm-lip", "IRM + lip", NETWORKS, "irm-lip"),
        Row("groupdro", "GroupDRO", NETWORKS, "groupdro"),
        Row("coral", "CORAL", NETWORKS, "coral"),
        Row("vrex", "V-REx", NETWORKS, "vrex"),
        Row("rpo-calibrated", "RPO, calibrated", NETWORKS, "rpo", {"scheme": "calibrated"}),
        Row("rpo-paper", "RPO, to the letter", NETWORKS, "rpo", {"scheme": "paper"}),
        *_quality("linear"),
        *_quality("trees"),
        *_quality("auto"),
        _outside(OFF, "Quality, auto, not judged", CONTROLS),
        _outside(DETECT, "detection", DETECTION),
    )
}
BEST_OF = ("ridge", "hgb", "forest")  # the stock learners that errors are measured against
OURS = "quality-auto"

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

    def chosen(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """The tables that were asked for, checked, or the profile's own."""
        own = tuple(recipe.name for recipe in recipes() if recipe.name not in self.left_out)
        return tuple(recipe_of(name).name for name in names) or self.tables or own


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


@dataclass(frozen=True)
class Key:
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
        if self.among is None:
            return {name: ROWS[name].needs for name in self.profile.methods if ROWS[name].needs}
        needing = {name: library for name in self.profile.methods if (library := ROWS[name].library)}
        recorded = {key.row for key, run in self._every(()).items() if run.digest in self.among}
        return {name: library for name, library in needing.items() if name not in recorded}

    @cached_property
    def runs(self) -> dict[Key, Run]:
        """Every run, complete, by its place."""
        return self._every(self.missing)

    def _every(self, missing: Container[str]) -> dict[Key, Run]:
        found = {}
        for table in self.tables:
            recipe = recipe_of(table)
            for name in self.profile.methods:
                row = ROWS[name]
                if name in missing or recipe.task not in row.tasks:
                    continue
                amounts = self.profile.networks if row.section == NETWORKS else self.profile.learners
                for setting, (seeds, folds) in amounts.items():
                    if row.runs_in(SETTINGS[setting]):
                        for seed in range(seeds):
                            for fold in range(min(folds, fold_count(recipe.domains))):
                                found[Key(name, table, setting, seed, fold)] = self._run(
                                    row, table, setting, seed, fold
                                )
        return found

    def _run(self, row: Row, table: str, setting: str, seed: int, fold: int) -> Run:
        options: dict[str, JsonValue] = {"table": table, "setting": setting, "fold": fold, "rows": self.profile.rows}
        data = DataSpec(name="real", options={**options, "strata": row.method == "rpo"})
        training = Training(hidden=HIDDEN, steps=STEPS)
        return complete(Run(data=data, method=row.method, options=dict(row.options), seed=seed, training=training))


def real_study(
    profile: str, tables: Sequence[str] = (), seeds: int | None = None, *, among: Container[str] | None = None
) -> RealStudy:
    """The study of a profile, on other tables or with another number of seeds if asked; or of runs that are recorded.

    >>> study = real_study("quick", ["exam"], seeds=1)
    >>> len(study.runs), study.tables
    (14, ('exam',))
    """
    if profile not in PROFILES:
        raise InputError(f"unknown profile {profile!r}: use one of {', '.join(PROFILES)}")
    chosen = PROFILES[profile]
    if seeds is not None:
        if seeds < 1:
            raise InputError(f"seeds must be at least 1, got {seeds}")
        learners, networks = (
            {name: (seeds, folds) for name, (_, folds) in amounts.items()}
            for amounts in (chosen.learners, chosen.networks)
        )
        chosen = replace(chosen, learners=learners, networks=networks)
    return RealStudy(chosen, chosen.chosen(tables), among)
