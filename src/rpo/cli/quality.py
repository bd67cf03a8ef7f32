"""`rpo quality`: which domains, strata, features and rows of a table are poor."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpo._learners import NAMED
from rpo.cli import options as o
from rpo.cli.console import echo_json, origin, records, say, say_notes, show

if TYPE_CHECKING:
    import pandas as pd

    from rpo._quality import Quality

SHOWN = 10
TABLES = ("domains", "strata", "cells", "features", "slopes", "rows", "penalties")


def quality(
    table: o.DataPath,
    target: o.Target,
    domain: o.MaybeDomain = None,
    strata: o.Strata = None,
    grouping: o.QualityGrouping = "auto",
    task: o.AskedTask = "auto",
    unit: Annotated[
        str | None, typer.Option(help="Column that identifies what was measured repeatedly, such as a patient.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            help=f"Learner to judge rows by: {', '.join(NAMED)}, or a method that `rpo methods` lists.",
        ),
    ] = "auto",
    report: o.Report = None,
    rows_out: Annotated[Path | None, typer.Option(help="CSV file for the rows to look at first.")] = None,
    weights_out: Annotated[Path | None, typer.Option(help="CSV file for the weight of every row.")] = None,
    drop: o.Drop = None,
    category: o.Category = None,
    encoding: o.Encoding = "utf-8",
    sample_rows: o.SampleRows = 200_000,
    all_rows: o.AllRows = False,
    skip_bad: o.SkipBad = False,
    jobs: o.Jobs = None,
    cluster: o.Cluster = None,
    checkpoint: o.Checkpoint = None,
    seed: o.Seed = 0,
    as_json: o.Json = False,
) -> None:
    """Report which domains, groups, columns and rows of a table are of poor quality, and what to do first.

    [bold]Examples[/bold]

        rpo quality homes.csv --target radon --domain county --report homes.html

        rpo quality visits.parquet -t outcome -d hospital --strata ward --strata sex --json

        rpo quality visits.parquet -t outcome -d hospital --unit patient --weights-out weights.csv

        rpo quality 'visits/*.parquet' -t outcome -d hospital --checkpoint visits-parts --jobs 4
    """
    from rpo._io import check_not_input
    from rpo._quality import quality as judge
    from rpo._table.dataset import Dataset
    from rpo._table.reading import write_table
    from rpo.exceptions import InputError

    o.check_report(report)
    for path, option in ((report, "--report"), (rows_out, "--rows-out"), (weights_out, "--weights-out")):
        check_not_input(path, option, Path(table))
    if method not in NAMED:
        from rpo.methods import get_method

        get_method(method)
    if all_rows and cluster is not None:
        raise InputError("--all-rows uses the memory of this machine only: remove --cluster")
    frame = o.open_table(table, encoding=encoding, skip_bad=skip_bad, all_rows=all_rows)
    roles: dict[str, Any] = {
        "target": target,
        "domain": domain,
        "strata": strata or (),
        "task": task,
        "drop": o.names_in(drop, frame.columns),
        "category": o.names_in(category, frame.columns),
    }
    if isinstance(frame, Dataset):
        from rpo._streaming import draw, judge_dataset

        for option, value in (("--unit", unit), ("--weights-out", weights_out)):
            if value is not None:
                raise InputError(f"{option} needs all rows in memory: add --all-rows, or remove the option")
        with o.open_run(checkpoint, jobs, cluster, skip_bad) as running:
            sample = draw(frame, **roles, seed=seed, rows=sample_rows, running=running)
            judgement = judge_dataset(sample, grouping=grouping, estimator=method, seed=seed, running=running)
    else:
        options: dict[str, Any] = {"grouping": grouping, "unit": unit, "estimator": method, "random_state": seed}
        judgement = judge(frame, **roles, **options)
    about = origin(Path(table), seed)
    written = []
    if report is not None:
        from rpo._report import write_report

        write_report(judgement, report, title=Path(table).name, about=about)
        written.append(f"The page is {report}.")
    if rows_out is not None:
        from rpo._report.page_rows import odd

        write_table(odd(judgement), rows_out)
        written.append(f"The rows to look at first are in {rows_out}.")
    if weights_out is not None:
        write_table(weights(judgement), weights_out)
        written.append(f"The weights of all rows are in {weights_out}.")
    if as_json:
        echo_json({"about": about} | quality_json(judgement))
        return
    say_notes(judgement.table.notes)
    show_quality(judgement)
    if judgement.scope is not None:
        say(judgement.scope.words)
    for line in written:
        typer.echo(line)


def weights(judgement: "Quality") -> "pd.DataFrame":
    """Return the weight of every row of the table, in its order."""
    import numpy as np
    import pandas as pd

    return pd.DataFrame({"row": np.arange(1, len(judgement.weight) + 1), "weight": judgement.weight})


def show_quality(judgement: "Quality") -> None:
    """Print the summary, then the worst domains, groups and rows."""
    from rpo._report.page_rows import odd

    for sentence in judgement.summary:
        say(sentence)
    rows = odd(judgement)
    noise = "noise" if judgement.task == "regression" else "wrong labels"
    domains = judgement.domains.rename(columns={"n": "rows", "offset": "level", "noise": noise, "p": "p noisier"})
    strata = judgement.strata.rename(
        columns={"stratum": "group of rows", "n": "rows", "noise": noise, "p": "p noisier"}
    )
    for title, table, columns in (
        ("Domains, noisiest first", domains, ("domain", "rows", "level", noise, "p noisier", "noisy", "weight")),
        ("Groups of rows, noisiest first", strata, ("group of rows", "rows", noise, "p noisier", "noisy")),
        ("Rows to look at first", rows, tuple(judgement.rows.columns[:7])),
    ):
        if len(table) > (0 if table is rows else 1):
            show(table.head(SHOWN), columns, title, len(table))
    if not len(rows):
        say("No row is far from its expected value.")


def quality_json(judgement: "Quality") -> dict[str, Any]:
    """Convert a judgement to plain values, with how it was made."""
    from rpo._report.sections import build_method

    method = build_method(judgement, 1)
    return {
        "summary": list(judgement.summary),
        "task": judgement.task,
        "notes": list(judgement.table.notes),
        "overview": judgement.overview,
        "noise": judgement.noise,
        "scope": None if judgement.scope is None else asdict(judgement.scope) | {"words": judgement.scope.words},
        **{name: records(getattr(judgement, name)) for name in TABLES},
        "columns": {
            "findings": [asdict(finding) for finding in judgement.columns.findings],
            "table": records(judgement.columns.table),
            **{name: by_domain(getattr(judgement.columns, name)) for name in ("missing", "shift")},
            "target": records(judgement.columns.target),
        },
        "method": method["done"],
        "limitations": method["doubts"],
    }


def page_json(report: Path | None, judgement: "Quality | None") -> dict[str, Any]:
    """Return, for JSON, the path of the page and the judgement on it, if a page was written."""
    if report is None:
        return {"report": None}
    return {"report": str(report), "judgement": None if judgement is None else quality_json(judgement)}


def by_domain(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """Convert a table whose index holds the domains to dictionaries."""
    return [{"domain": domain, "columns": row} for domain, row in zip(table.index, records(table), strict=True)]
