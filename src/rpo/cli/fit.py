"""`rpo fit`: a model of a table, as a folder."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rpo._learners import NAMED
from rpo.cli import options as o
from rpo.cli.console import echo_json, origin, records, say, say_notes, show
from rpo.cli.quality import page_json

if TYPE_CHECKING:
    import pandas as pd

    from rpo._models.table_model import TableModel
    from rpo._quality import Quality
    from rpo._table import Table

SHOWN = 10
USUAL = 0.9  # highest level of the intervals that are reported


def fit(
    table: o.DataPath,
    target: o.Target,
    domain: o.MaybeDomain = None,
    strata: o.Strata = None,
    method: Annotated[
        str,
        typer.Option("--method", "-m", help=f"Learner: {', '.join(NAMED)}, or a method that `rpo methods` lists."),
    ] = "auto",
    plugin: o.Plugin = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write the model to.")] = Path("model"),
    weight: Annotated[str | None, typer.Option(help="Column with sample weights.")] = None,
    identifier: Annotated[
        str | None,
        typer.Option("--id", help="Column that identifies rows: not used as a feature, copied to the predictions."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="For two classes: predict the second if its probability is at least this. (default: the likelier)"
        ),
    ] = None,
    grouping: o.Grouping = "auto",
    task: o.AskedTask = "auto",
    report: o.Report = None,
    drop: o.Drop = None,
    category: o.Category = None,
    encoding: o.Encoding = "utf-8",
    sample_rows: o.SampleRows = 200_000,
    all_rows: o.FitAllRows = False,
    skip_bad: o.SkipBad = False,
    jobs: o.Jobs = None,
    cluster: o.Cluster = None,
    steps: Annotated[
        int | None, typer.Option(help="Number of training steps, for a method that `rpo methods` lists.", min=1)
    ] = None,
    seed: o.Seed = 0,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Folder for checkpoints: the same command continues an interrupted training."),
    ] = None,
    every: Annotated[float, typer.Option(help="Seconds between checkpoints.", min=0)] = 60.0,
    as_json: o.Json = False,
) -> None:
    """Fit a model for unseen domains, and save it to a folder.

    By default noisy rows count less and suspicious features are dropped, unless that makes the error on held-out
    domains significantly worse. The decision and the error to expect on a new domain are printed. A method that `rpo
    methods` lists is fitted as it is, without judging the data.

    [bold]Examples[/bold]

        rpo fit homes.csv --target radon --domain county --out homes-model

        rpo fit homes.csv --target radon --domain county --method trees --id home --drop street,owner

        rpo fit visits.parquet -t outcome -d hospital --threshold 0.2 --report visits.html

        rpo fit visits.parquet -t outcome -d hospital --method rpo --steps 20000 --checkpoint visits-training

        rpo fit 'visits/*.parquet' -t outcome -d hospital --method trees --sample-rows 500000

        rpo fit 'visits/*.parquet' -t outcome -d hospital --method trees --all-rows --cluster tcp://10.0.0.5:8786
    """
    from dataclasses import replace

    import numpy as np

    from rpo._mapped import on_disk
    from rpo._models.table_files import save_model
    from rpo._models.table_model import fit_table, weights_of
    from rpo._saving.folders import check_place
    from rpo._table import prepare
    from rpo._table.dataset import Dataset
    from rpo._table.reading import is_dataset, many_rows
    from rpo.exceptions import InputError

    o.load_plugins(plugin)
    o.check_report(report)
    check_place(out)
    if method in NAMED:
        if steps is not None or checkpoint is not None:
            option = "--checkpoint" if steps is None else "--steps"
            raise InputError(f"{option} is only for methods in `rpo methods`: add --method rpo, or remove the option")
    else:
        from rpo.methods import get_method

        get_method(method)
    # Linear models, trees and the page need all columns as they are: for them the whole table is read.
    one_file = not is_dataset(table)
    large = many_rows(Path(table)) if report is None and method not in NAMED and one_file else None
    frame: Any = large
    if large is None:
        frame = o.open_table(table, encoding=encoding, skip_bad=skip_bad, all_rows=all_rows and cluster is None)
    aside = [name for name in (weight, identifier) if name is not None]
    roles: dict[str, Any] = {
        "target": target,
        "domain": domain,
        "strata": strata or (),
        "task": task,
        "category": o.names_in(category, frame.columns),
    }
    drop = o.names_in(drop, frame.columns)
    if isinstance(frame, Dataset):
        from rpo._streaming import draw

        if all_rows:
            from rpo._models.trees_on_cluster import check_all_rows, fit_to_all_rows

            check_all_rows(method)
        with o.open_run(None, jobs, cluster, skip_bad) as running:
            sample = draw(frame, **roles, drop=drop, aside=aside, seed=seed, rows=sample_rows, running=running)
        learned = () if all_rows else (sample.words,)
        ready = replace(sample.ready, notes=(*sample.ready.notes, *sample.notes, *learned))
    else:
        ready = prepare(frame, **roles, drop=[*drop, *aside], room=np.empty if large is None else on_disk)
    with hold_checkpoint(checkpoint):
        model = fit_table(
            ready,
            method=method,
            weight=None if weight is None else weights_of(ready, weight),
            grouping=grouping,
            steps=steps,
            random_state=seed,
            checkpoint=checkpoint,
            every=every,
            id=identifier,
            threshold=threshold,
            verbose="auto",
        )
    if isinstance(frame, Dataset) and all_rows and cluster is not None:
        model = fit_to_all_rows(model, sample, cluster, weight=weight, seed=seed)
    save_model(model, out)
    judgement = None if report is None else _write_page(model, ready, report, grouping, Path(table), seed)
    if as_json:
        answer = {"folder": str(out), "task": model.task, "rows": model.rows, "notes": list(model.notes)}
        answer |= _figures(model.estimator)
        echo_json(answer | page_json(report, judgement))
        return
    say_notes(model.notes)
    _show(model)
    say(f"Fitted {method} to {model.rows:,} rows of {len(model.domains):,} domains; the model is in {out}.")
    if report is not None:
        typer.echo(f"The page is {report}.")


def _write_page(model: "TableModel", ready: "Table", report: Path, grouping: Any, table: Path, seed: int) -> "Quality":
    """Write the page, and return the judgement on it; a model of ours adds its expected error."""
    from rpo._models import QualityClassifier, QualityRegressor
    from rpo._quality import judge
    from rpo._report import write_report

    ours = isinstance(model.estimator, QualityRegressor | QualityClassifier)
    judgement = model.estimator.quality_ if ours else None
    judgement = judgement or judge(ready, grouping=grouping, random_state=seed)
    fitted = model.estimator if ours else None
    write_report(judgement, report, title=table.name, model=fitted, about=origin(table, seed))
    return judgement


def _figures(estimator: Any) -> dict[str, Any]:
    """Return the expected error and the decision, or the cells of RPO, as plain values."""
    if hasattr(estimator, "expected_error_"):
        tables = {"expected": "expected_error_", "decision": "decision_", "dropped": "dropped_"}
        figures = {name: records(getattr(estimator, place).reset_index()) for name, place in tables.items()}
        return figures | {"coverage": records(estimator.coverage_), "shares": estimator.shares_}
    cells = getattr(estimator, "quality_", None)
    return {"quality": None if cells is None else records(cells)}


def _show(model: "TableModel") -> None:
    estimator = model.estimator
    if hasattr(estimator, "expected_error_"):
        table = estimator.expected_error_.rename(index={"quality": "this model"}).rename_axis("model").reset_index()
        table.columns = table.columns.str.replace("mean_probability", "mean p").str.replace("_", " ")
        measure = "Brier score" if model.task == "classification" else "root mean squared error"
        where = "new domain" if len(estimator.domains_) > 1 else "new row"
        show(table, tuple(table.columns), f"Expected on a {where}: {measure}", len(table))
        used = {name: share for name, share in estimator.shares_.items() if share > 0}
        if len(estimator.shares_) > 1:
            parts = ", ".join(f"{name} {100 * share:.0f} %" for name, share in used.items())
            say(f"The model combines {parts}.")
        if words := describe_intervals(estimator.coverage_, model.task):
            say(words)
        return
    cells = getattr(estimator, "quality_", None)
    if cells is not None and cells[["noise", "rho"]].nunique().max() > 1:  # otherwise all are alike
        show(cells.head(SHOWN), tuple(cells.columns), "Domains and strata, lowest quality first", len(cells))


def describe_intervals(coverage: "pd.DataFrame", task: str) -> str:
    """Describe in a sentence the coverage of intervals on held-out domains; empty if there are none.

    The highest level up to 90 % is used.

    >>> import pandas as pd
    >>> row = {"level": 0.8, "size": 1.5, "covered": 0.83, "lowest": 0.61, "lowest_domain": "B"}
    >>> describe_intervals(pd.DataFrame([row]), "regression")
    '80 % intervals (typically ±1.5) contain 83 % of the rows of held-out domains; in the worst, B, 61 %.'
    """
    usual = coverage[coverage["level"] <= USUAL]
    if not len(usual):
        return ""
    row = usual.iloc[-1]
    size = f"{row['size']:,.0f}" if row["size"] >= 100 else f"{row['size']:.2g}"
    what = f"{100 * row['level']:.0f} % intervals (typically ±{size})"
    if task == "classification":
        what = f"{100 * row['level']:.0f} % sets ({row['size']:.1f} classes on average)"
    if "lowest" not in coverage:
        return f"{what} contain {100 * row['covered']:.0f} % of the held-out rows."
    return (
        f"{what} contain {100 * row['covered']:.0f} % of the rows of held-out domains; in the worst, "
        f"{row['lowest_domain']}, {100 * row['lowest']:.0f} %."
    )


@contextmanager
def hold_checkpoint(folder: Path | None) -> Iterator[None]:
    """Lock the folder of a training's checkpoints; SIGTERM ends the process, inside a training or between two."""
    if folder is None:
        yield
        return
    from rpo._io import hold, remove_temporaries
    from rpo.engine.checkpoint import TERMINATED

    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        with hold(folder, "--checkpoint"):
            for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
                remove_temporaries(place)
            yield
    except SystemExit:
        typer.echo(f"rpo: stopped; the training is saved in {folder}: the same command continues it", err=True)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
