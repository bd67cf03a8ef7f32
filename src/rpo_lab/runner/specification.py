"""The specification of a run: data, method, hyper-parameters, seed. Its content hash is its name everywhere."""

import hashlib
import inspect
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, JsonValue

from rpo._judging import RULES

# Raise it when the same specification no longer gives the same result, so that old records are not taken for new.
FORMAT: Literal[1] = 1

# A number; "formula" for λ = (Σ_e 1/N_e)^(2/5) of the run's own data; None to leave it to the method.
Number = float | Literal["formula"] | None

# What training rows count by the judgement of `rpo.quality`: its weights, or controls that lack their place.
Judged = Literal["weights", "permuted", "uniform"]


class Frozen(BaseModel):
    """A value that knows its fields and refuses any other."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class DataSpec(Frozen):
    """A data set by name (`rpo_lab.runner.problems`), its options without the seed, and whether its rows are judged."""

    name: str
    options: dict[str, JsonValue] = {}
    judged: Judged | None = None
    """What is made of the judgement of the training rows (`rpo_lab.runner.judged`)."""
    rules: str = ""
    """Number of the rules that judge them (`complete` writes it): other rules are another run. Before 0.3 a hash."""


class Training(Frozen):
    """Network and optimiser: what all runs of a study share."""

    hidden: tuple[int, ...] = (16,)
    steps: int = 400
    batch_size: int | None = None
    schedule: Literal["cosine", "constant"] = "cosine"
    # In double precision a run gives the same six digits in any stack.
    dtype: Literal["float64", "float32"] = "float64"


class Run(Frozen):
    """One training: everything that decides its result, and nothing else."""

    data: DataSpec
    method: str
    numbers: dict[str, Number] = {}
    options: dict[str, JsonValue] = {}
    seed: int = 0
    training: Training = Training()
    leave_one_out: bool = False
    version: int = 1
    """Of the method (`complete` writes it): a corrected method is another run."""
    source: str = ""
    """Hash of the method's code where it is not this library's own: changed code is another run."""
    format: Literal[1] = FORMAT

    @cached_property
    def digest(self) -> str:
        """Twenty hexadecimal digits of the SHA-256 of the content: the same in every process and Python.

        >>> Run(data=DataSpec(name="confounded"), method="rpo", seed=1).digest
        'b6fd3506bb9fbf39c67d'
        """
        # Left out where they say nothing: digests are those of the time before there were versions, plugins,
        # judgements and RPO's option `centre`.
        content = self.model_dump(mode="json")
        data, options = content["data"], content["options"]
        usual = (
            (content, "version", 1),
            (content, "source", ""),
            (data, "judged", None),
            (data, "rules", ""),
            (options, "centre", None),
        )
        for values, name, value in usual:
            if name in values and values[name] == value:
                del values[name]
        return sha256(content)[:20]

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy without the digest: with another field it is another run."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("digest", None)
        return copied


def canonical(value: Any) -> bytes:
    """Write canonical JSON: sorted keys, no spaces, ASCII, no NaN.

    >>> canonical({"b": 0.1, "a": [1, None]})
    b'{"a":[1,null],"b":0.1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def sha256(value: Any) -> str:
    """Compute SHA-256 of the canonical JSON."""
    return hashlib.sha256(canonical(value)).hexdigest()


def complete(run: Run) -> Run:
    """Write out every default and the method's version: where one changes, so does the hash.

    >>> run = complete(Run(data=DataSpec(name="confounded"), method="erm-l2"))
    >>> run.numbers, run.data.options["slopes"]
    ({'c': 0.001, 'lr': 0.01}, [1.0, 0.6, 0.3])
    """
    from rpo.methods import get_method
    from rpo_lab.runner.outside import REFERENCES, is_outside
    from rpo_lab.runner.problems import get_problem

    loader = inspect.signature(get_problem(run.data.name)).parameters.values()
    defaults = {p.name: p.default for p in loader if p.default is not p.empty and p.name != "seed"}
    unknown = sorted(set(run.data.options) - set(defaults))
    if unknown:
        from rpo.exceptions import InputError

        raise InputError(f"data set {run.data.name!r} has no option {unknown[0]!r}: it has {', '.join(defaults)}")
    # Through JSON, so that a tuple and a list are the same option.
    options = json.loads(canonical(defaults | run.data.options))
    rules = "" if run.data.judged is None else str(RULES)
    data = DataSpec(name=run.data.name, options=options, judged=run.data.judged, rules=rules)
    if run.method in REFERENCES or is_outside(run.method):
        return run.model_copy(update={"data": data})
    method = get_method(run.method)
    formulas = {name: value for name, value in run.numbers.items() if value == "formula"}
    fixed = {name: value for name, value in run.numbers.items() if name not in formulas}
    numbers, method_options = method.fill({**dict.fromkeys(formulas), **fixed, **run.options})
    filled: dict[str, Number] = {name: None if value != value else value for name, value in numbers.items()}
    return Run.model_validate(
        {
            **run.model_dump(),
            "data": data,
            "numbers": filled | formulas,
            "options": json.loads(canonical(method_options)),
            "version": method.version,
            "source": method.source,
        }
    )
