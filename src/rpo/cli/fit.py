"""`rpo fit`: a model of a table, as a folder."""

import json
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from rpo.cli.tables import (
    AskedTask,
    Category,
    Drop,
    Encoding,
    Grouping,
    Json,
    MaybeDomain,
    Report,
    Seed,
    Steps,
    Strata,
    TablePath,
    Target,
    check_report,
    origin,
    records,
    say_notes,
    show,
)

SHOWN = 10


def fit(
    table: TablePath,
    target: Target,
    domain: MaybeDomain = None,
    strata: Strata = None,
    method: Annotated[str, typer.Option("--method", "-m", help="A name that `rpo methods` lists.")] = "rpo",
    out: Annotated[Path, typer.Option("--out", "-o", help="The folder to write.")] = Path("model"),
    grouping: Grouping = "auto",
    task: AskedTask = "auto",
    report: Report = None,
    drop: Drop = None,
    category: Category = None,
    encoding: Encoding = "utf-8",
    steps: Steps = 400,
    seed: Seed = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A folder to keep the training in: stopped or killed, the same command goes on from there."),
    ] = None,
    every: Annotated[float, typer.Option(help="Seconds between two checkpoints.", min=0)] = 60.0,
    as_json: Json = False,
) -> None:
    """Fit a model that is to hold on domains never seen, and write it to a folder that a person can read.

    [bold]Examples[/bold]

        rpo fit homes.csv --target radon --domain county --out homes-model

        rpo fit homes.csv --target radon --domain county --method irm-lip

        rpo fit visits.parquet -t outcome -d hospital --method coral --report visits.html

        rpo fit visits.parquet -t outcome -d hospital --steps 20000 --checkpoint visits-training
    """
    import numpy as np

    from rpo.folders import check_place
    from rpo.frames import prepare
    from rpo.mapped import on_disk
    from rpo.methods import get_method
    from rpo.tables import read_table
    from rpo.tables.folder import save_model
    from rpo.tables.model import fit_table
    from rpo.tables.parquet import many_rows

    check_report(report)
    check_place(out)
    get_method(method)
    # The page looks at rows as they came: for it the whole table is read.
    large = many_rows(table) if report is None else None
    ready = prepare(
        read_table(table, encoding=encoding) if large is None else large,
        target=target,
        domain=domain,
        strata=strata or (),
        task=task,
        drop=drop or (),
        category=category or (),
        room=np.empty if large is None else on_disk,
    )
    with kept(checkpoint):
        model = fit_table(
            ready,
            method=method,
            grouping=grouping,
            steps=steps,
            random_state=seed,
            checkpoint=checkpoint,
            every=every,
        )
    save_model(model, out)
    if report is not None:
        from rpo.judging.quality import judge
        from rpo.report import write_report

        judged = judge(ready, grouping=grouping, random_state=seed)
        write_report(judged, report, title=table.name, about=origin(table, seed))
    cells = getattr(model.estimator, "quality_", None)
    if as_json:
        found = {"folder": str(out), "task": model.task, "rows": model.rows, "notes": list(model.notes)}
        found |= {"quality": None if cells is None else records(cells), "report": str(report) if report else None}
        typer.echo(json.dumps(found, ensure_ascii=False, indent=1))
        return
    say_notes(model.notes)
    if cells is not None and cells[["noise", "rho"]].nunique().max() > 1:  # else none is poorer than another
        show(cells.head(SHOWN), tuple(cells.columns), "Domain and stratum, poorest first", len(cells))
    typer.echo(f"Fitted {method} to {model.rows:,} rows of {len(model.domains):,} domains; the model is in {out}.")
    if report is not None:
        typer.echo(f"The page is {report}.")


@contextmanager
def kept(folder: Path | None) -> Iterator[None]:
    """Hold the folder of a training's checkpoints; SIGTERM ends the process, inside a training or between two."""
    if folder is None:
        yield
        return
    from rpo.engine.checkpoint import TERMINATED
    from rpo.io import hold

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        with hold(folder, "--checkpoint"):
            yield
    except SystemExit:
        typer.echo(f"rpo: stopped; the training is kept in {folder}, and the same command goes on", err=True)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
