"""The paper's Table 1: regression on Cigar and Wage, with the controls that say what the figures are worth."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

from rpo.exceptions import InputError
from rpo.experiments.specification import DataSpec, Number, Training
from rpo.experiments.study import Row, Setting, Study

TITLE = "Table 1: test MSE on the domain never seen"
RPO = "RPO"
SAME_FORM, PERMUTED, UNIFORM = "IRM + lip, same sum form", "RPO, penalties permuted", "RPO, penalties uniform"
SCREENED, MEAN, CAUSAL = "ERM, screened features", "mean of the target", "causal features only (oracle)"
COMPARISON, OURS, CONTROLS, REFERENCES = "Comparison methods", "RPO, the paper's literal form", "Controls", "References"


@dataclass(frozen=True)
class Profile:
    """How large the study is. The code is the same for all."""

    seeds: int
    steps: int
    leave_one_out: bool
    grid: int | None
    """How many entries of each grid are tried; None for all."""


PROFILES = {
    "quick": Profile(seeds=3, steps=300, leave_one_out=False, grid=2),
    "paper": Profile(seeds=10, steps=400, leave_one_out=True, grid=None),
}

# What the paper prints, mean and deviation as its table has them; every comparison method has *** there.
PRINTED = {
    "Cigar, printed": {
        "ERM + l2": "29.85 ± 2.90***",
        "ERM + lip": "6.90 ± 0.95***",
        "ANDMask": "16.63 ± 10.52***",
        "IRM + l2": "24.79 ± 1.76***",
        "IRM + lip": "6.80 ± 0.84***",
        "MLDG": "6.54 ± 3.22***",
        RPO: "4.35 ± 0.33",
    },
    "Wage, printed": {
        "ERM + l2": "64.33 ± 13.50***",
        "ERM + lip": "34.95 ± 7.09***",
        "ANDMask": "101.01 ± 73.38***",
        "IRM + l2": "49.16 ± 7.94***",
        "IRM + lip": "34.93 ± 7.12***",
        "MLDG": "114.72 ± 85.14***",
        RPO: "2.82 ± 1.43",
    },
}


def grid(fixed: Mapping[str, Number] | None = None, **tried: tuple[float, ...]) -> tuple[dict[str, Number], ...]:
    """Every combination of the values tried, each with the fixed ones; the first is the default.

    >>> grid({"lam": "formula"}, eta=(100.0, 1.0))
    ({'lam': 'formula', 'eta': 100.0}, {'lam': 'formula', 'eta': 1.0})
    """
    return tuple({**(fixed or {}), **dict(zip(tried, values, strict=True))} for values in product(*tried.values()))


def rows() -> tuple[Row, ...]:
    """The paper's methods, then what is set apart. λ by its formula wherever there is one."""
    formula: Mapping[str, Number] = {"lam": "formula"}
    eta, c = (100.0, 1.0, 10.0, 1000.0), (1e-3, 1e-4, 1e-2)
    apart = [
        Row(SAME_FORM, "irm-lip", grid(formula, eta=(1.0,)), {"reduction": "sum"}, section=CONTROLS),
        Row(PERMUTED, "rpo-permuted", section=CONTROLS),
        Row(UNIFORM, "rpo-uniform", section=CONTROLS),
        Row(SCREENED, "erm-screened", grid(c=c), section=CONTROLS),
        Row(MEAN, "mean", section=REFERENCES),
        Row(CAUSAL, "erm-l2", grid(c=c), data={"columns": "causal"}, section=REFERENCES),
    ]
    return (
        Row("ERM + l2", "erm-l2", grid(c=c), section=COMPARISON),
        Row("ERM + lip", "erm-lip", grid(formula), section=COMPARISON),
        Row("ANDMask", "andmask", grid(tau=(1.0,)), section=COMPARISON),
        Row("IRM + l2", "irm-l2", grid(eta=eta), section=COMPARISON),
        Row("IRM + lip", "irm-lip", grid(formula, eta=eta), section=COMPARISON),
        Row("MLDG", "mldg", grid(beta=(1.0, 0.1, 10.0)), section=COMPARISON),
        Row("HAR", "har", grid(c=(0.1, 1.0), eta=eta[:2]), section=COMPARISON),
        Row("RPO-Pen", "rpo-pen", section=OURS),
        Row("RPO-Lip", "rpo-lip", section=OURS),
        Row(RPO, "rpo", section=OURS),
        *(replace(row, ranked=False) for row in apart),
    )


def settings() -> tuple[Setting, ...]:
    """Cigar and Wage, clean and corrupted."""
    return tuple(
        Setting(f"{table.title()} {quality}", DataSpec(name="confounded", options={"table": table, "quality": quality}))
        for table, quality in product(("cigar", "wage"), ("clean", "mix"))
    )


def table1(profile: str = "quick", *, seeds: int | None = None, leave_one_out: bool = False) -> Study:
    """The study of a profile, with another number of seeds or leave-one-domain-out scores if asked.

    >>> study = table1("quick")
    >>> len(study.rows), [setting.label for setting in study.settings]
    (16, ['Cigar clean', 'Cigar mix', 'Wage clean', 'Wage mix'])
    """
    if profile not in PROFILES:
        raise InputError(f"unknown profile {profile!r}: use one of {', '.join(PROFILES)}")
    if seeds is not None and seeds < 2:
        raise InputError(f"seeds is {seeds}: give at least two, for a deviation needs two")
    size = PROFILES[profile]
    return Study(
        name="table1",
        rows=tuple(replace(row, grid=row.grid[: size.grid]) for row in rows()),
        settings=settings(),
        seeds=tuple(range(size.seeds if seeds is None else seeds)),
        reference=RPO,
        training=Training(hidden=(16,), steps=size.steps),
        leave_one_out=size.leave_one_out or leave_one_out,
    )
