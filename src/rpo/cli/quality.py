"""`rpo quality`: which domains, strata and rows of a table are poor."""

import json
from typing import TYPE_CHECKING, Any

import typer

from rpo.cli.tables import (
    AskedTask,
    Category,
    Drop,
    Encoding,
    Group,
    Grouping,
    Json,
    MaybeDomain,
    Report,
    Seed,
    Steps,
    TablePath,
    Target,
    check_report,
    printable,
    records,
    say_notes,
    show,
)

if TYPE_CHECKING:
    from rpo.tables.quality import Quality

SHOWN = 10


def quality(
    table: TablePath,
    target: Target,
    domain: MaybeDomain = None,
    group: Group = None,
    grouping: Grouping = "auto",
    task: AskedTask = "auto",
    report: Report = None,
    drop: Drop = None,
    category: Category = None,
    encoding: Encoding = "utf-8",
    steps: Steps = 400,
    seed: Seed = 0,
    as_json: Json = False,
) -> None:
    """Which domains and strata are noisy or scarce, how sure that is, and which rows to look at first.

    [bold]Examples[/bold]

        rpo quality homes.csv --target radon --domain county --report homes.html

        rpo quality visits.parquet -t outcome -d hospital --group ward --group sex --json
    """
    from rpo.tables import read_table
    from rpo.tables.quality import quality as judge

    check_report(report)
    frame = read_table(table, encoding=encoding)
    found = judge(
        frame,
        target=target,
        domain=domain,
        groups=group or (),
        task=task,
        grouping=grouping,
        drop=drop or (),
        category=category or (),
        steps=steps,
        random_state=seed,
    )
    if report is not None:
        from rpo.report import write_report

        write_report(found, report, title=table.name)
    if as_json:
        typer.echo(json.dumps(quality_json(found), ensure_ascii=False, indent=1))
        return
    say_notes(found.prepared.notes)
    show_quality(found)
    if report is not None:
        typer.echo(f"The page is {report}.")


def show_quality(found: "Quality") -> None:
    """The two sentences, then the worst of everything."""
    for sentence in found.summary:
        typer.echo(printable(sentence))
    for title, table, columns in (
        (
            "Domains, poorest first",
            found.domains,
            ("rank", "domain", "n", "noise", "low", "high", "eta", "noisy", "scarce"),
        ),
        (
            "Strata, noisiest first",
            found.strata,
            ("rank", "stratum", "n", "share", "noise", "low", "high", "ratio", "noisy"),
        ),
        ("Rows to look at first", found.rows, tuple(found.rows.columns)),
    ):
        show(table.head(SHOWN), columns, title, len(table))


def quality_json(found: "Quality") -> dict[str, Any]:
    """Everything that was found, as plain values."""
    return {
        "summary": list(found.summary),
        "task": found.prepared.task,
        "notes": list(found.prepared.notes),
        "p_domains": found.p_domains,
        "p_strata": found.p_strata,
        **{name: records(getattr(found, name)) for name in ("domains", "strata", "cells", "rows")},
    }
