"""`rpo compare`: does RPO help on this table?"""

import json
from pathlib import Path
from typing import Annotated

import typer

from rpo.cli.bench.shared import Cluster
from rpo.cli.tables import (
    AskedTask,
    Category,
    Domain,
    Drop,
    Encoding,
    Grouping,
    Json,
    Report,
    Steps,
    Strata,
    TablePath,
    Target,
    check_report,
    names_in,
    origin,
    records,
    say_notes,
    show,
)


def compare(
    table: TablePath,
    target: Target,
    domain: Domain,
    methods: Annotated[
        list[str] | None, typer.Option("--methods", "-m", help="A method to try; may be repeated. (default: all)")
    ] = None,
    seeds: Annotated[int, typer.Option(help="Repetitions.")] = 3,
    strata: Strata = None,
    grouping: Grouping = "auto",
    task: AskedTask = "auto",
    report: Report = None,
    drop: Drop = None,
    category: Category = None,
    encoding: Encoding = "utf-8",
    steps: Steps = 400,
    selection: Annotated[
        str, typer.Option(help="How hyper-parameters are chosen: validation, irm, formula.")
    ] = "validation",
    jobs: Annotated[int | None, typer.Option("--jobs", "-j", help="Worker processes. (default: one a core)")] = None,
    cluster: Cluster = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Where trainings are kept. (default: out/compare-NAME)")
    ] = None,
    as_json: Json = False,
) -> None:
    """Hold every domain out in turn, train every method, and say in plain words whether RPO helps on this table.

    Every training is kept in --out as soon as it is done: the same command goes on where it stopped.

    [bold]Examples[/bold]

        rpo compare homes.csv --target radon --domain county --methods irm-lip --methods groupdro

        rpo compare visits.parquet -t outcome -d hospital --seeds 5 --report visits.html
    """
    from joblib import cpu_count

    from rpo.studies.comparison import compare as run
    from rpo.tables import read_table

    check_report(report)
    frame = read_table(table, encoding=encoding)
    found = run(
        frame,
        target=target,
        domain=domain,
        strata=strata or (),
        task=task,
        grouping=grouping,
        methods=methods or (),
        seeds=seeds,
        drop=names_in(drop, frame.columns),
        category=names_in(category, frame.columns),
        steps=steps,
        selection=selection,
        jobs=cpu_count() if jobs is None else jobs,
        cluster=cluster,
        out=out or Path(f"out/compare-{table.name.split('.')[0]}"),
    )
    if report is not None:
        from rpo.judging.quality import judge
        from rpo.report import write_report

        judged = judge(found.prepared, grouping=grouping)
        write_report(judged, report, title=table.name, comparison=found, about=origin(table, 0))
    if as_json:
        tables = {"methods": records(found.methods), "domains": records(found.domains)}
        words = {"verdict": found.verdict, "protocol": found.protocol, "notes": found.prepared.notes}
        typer.echo(json.dumps(words | tables, ensure_ascii=False, indent=1))
        return
    say_notes(found.prepared.notes)
    show(found.methods, tuple(found.methods.columns), "Error on held-out domains, best first", len(found.methods))
    shown = found.domains.iloc[:15, :8]
    show(shown, tuple(shown.columns), "By held-out domain, largest first", len(found.domains))
    for line in found.protocol:
        typer.echo(f"- {line}")
    typer.echo(f"\n{found.verdict}")
    if report is not None:
        typer.echo(f"The page is {report}.")
