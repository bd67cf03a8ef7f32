"""`rpo check`: can a fitted folder be trusted on a new table?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpo.cli import options as o
from rpo.cli.console import echo_json, origin, records, say, say_notes, show
from rpo.cli.quality import page_json

if TYPE_CHECKING:
    import pandas as pd

    from rpo._models.checking import Check
    from rpo._models.table_model import TableModel
    from rpo._quality import Quality

SHOWN = 10


def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Model folder written by `rpo fit`.")],
    table: o.DataPath,
    report: o.Report = None,
    encoding: o.Encoding = "utf-8",
    skip_bad: o.SkipBad = False,
    jobs: o.Jobs = None,
    cluster: o.Cluster = None,
    as_json: o.Json = False,
) -> None:
    """Check whether a model can be trusted on a new table: as usual, careful, or outside its training data.

    Reports shifted columns, missing columns, unseen categories, the most similar training domains and the error to
    expect. If the table has the target, its error is compared with that of held-out domains. Each domain of the table
    is checked separately; without the domain column, the table counts as one new domain.

    [bold]Examples[/bold]

        rpo check homes-model new-county.csv

        rpo check homes-model new-county.csv --report new-county.html

        rpo check homes-model new-county.csv --json

        rpo check visits-model 'new-visits/*.parquet' --jobs 4
    """

    from rpo._io import check_not_input
    from rpo._models.checking import check as check_model
    from rpo._models.table_files import load_model
    from rpo._table.dataset import Dataset

    o.check_report(report)
    check_not_input(report, "--report", Path(table))
    model = load_model(folder)
    frame = o.open_table(table, encoding=encoding, skip_bad=skip_bad, all_rows=False)
    if isinstance(frame, Dataset):
        from rpo._models.checking import check_dataset

        with o.open_run(None, jobs, cluster, skip_bad) as running:
            result = check_dataset(model, frame, running)
    else:
        result = check_model(model, frame)
    about = origin(Path(table), 0)
    judgement = None
    if report is not None:
        from rpo._report import write_report

        judgement = None if isinstance(frame, Dataset) else _quality(model, frame)
        write_report(judgement, report, title=Path(table).name, check=result, about=about)
    if as_json:
        echo_json({"about": about, **as_dict(result), **page_json(report, judgement)})
        return
    say_notes(result.notes)
    for sentence in result.summary:
        say(sentence)
    if len(result.domains) > 1:
        columns = ["domain", "rows", "verdict", "p shift", "outside", "nearest", "expected error"]
        columns += [name for name in ("error", "p error", "p") if name in result.domains]
        show(result.domains.head(SHOWN), columns, "Domains, those to be careful with first", len(result.domains))
    else:
        parts = [name for name in ("level", "spread", "relation") if name in result.columns]
        columns = ["column", *parts, "shifted", "mean", "training mean", "outside", "missing", "unseen"]
        show(result.columns.head(SHOWN), columns, "Columns, those that stand out first", len(result.columns))
    if report is not None:
        typer.echo(f"The page is {report}.")


def as_dict(result: "Check") -> dict[str, Any]:
    """Convert a check to plain values."""
    tables = {name: records(getattr(result, name)) for name in ("domains", "columns", "distances")}
    words = {"verdict": result.verdict, "summary": list(result.summary), "notes": list(result.notes)}
    return {**words, "task": result.task, "training_domains": result.training_domains, **tables}


def _quality(model: "TableModel", frame: "pd.DataFrame") -> "Quality | None":
    """Judge a table that has the target, for the rest of the page; return None if it cannot be judged."""
    from rpo._quality import judge
    from rpo._table import prepare
    from rpo.exceptions import InputError

    if model.target not in frame.columns:
        return None
    roles = {model.target, model.domain, *(column.name for column in model.columns)}
    part = frame[[name for name in frame.columns if name in roles]]
    try:
        domain = model.domain if model.domain in part.columns else None
        return judge(prepare(part, target=model.target, domain=domain, task=model.task))
    except InputError:  # too few rows, or a target that is the same in all of them
        return None
