"""`rpo bench real`: real tables with whole domains held out, learners side by side; when does data quality matter?"""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from rpo._io import console
from rpo_lab.cli.shared import Asked, command, do

if TYPE_CHECKING:
    from pathlib import Path

    from rpo_lab.real.results import RealResults

Tables = Annotated[str, typer.Option(help="Tables to use, separated by commas. (default: those of the profile)")]
Frozen = Annotated[str, typer.Option(help="The commit at which the rules were frozen; shown on the page.")]


@command(without=("selection", "correction", "add", "plugin"))
def real(asked: Asked, tables: Tables = "", frozen: Frozen = "") -> None:
    """Compare learners on real tables with whole domains held out: when does data quality matter?

    Compared are stock learners, peers, our networks, and Quality models with their controls. 'quick' runs four learners
    on eight tables, as they are and with 30 % of the domains corrupted; 'paper' runs everything, limited to about two
    hours on two cores; 'full' has no limit. `rpo data get tables` downloads the tables, and `pip install 'rpo[real]'`
    installs the peers; those that are not installed are named. The same command continues an interrupted run.

    [bold]Examples[/bold]

        rpo bench real --tables exam,scots

        rpo bench real --profile paper --page docs/results/real.md --figures docs/figures/real
    """
    from rpo_lab.real.results import make_results
    from rpo_lab.real.study import real_study
    from rpo_lab.runner.records import read_file

    among = None if asked.records is None else read_file(asked.records)[0]
    study = real_study(asked.profile, [name for name in tables.split(",") if name], asked.seeds, among=among)
    for name, library in study.missing.items():
        why = f"{library} is not installed (pip install 'rpo[real]')" if among is None else "it is not in the records"
        typer.echo(f"{name} is left out: {why}.", err=True)
    records = do(asked, list(study.runs.values()))
    if records is None:
        return
    results = make_results(study, records)
    written = _write(asked, results, frozen)
    if asked.as_json:
        said = {
            "summary": results.summary.to_dict("records"),
            "gains": results.gains.to_dict("records"),
            "detection": results.detection.to_dict("records"),
            "not installed": study.missing,
            "files": [str(path) for path in written],
        }
        typer.echo(json.dumps(_plain(said), ensure_ascii=False, indent=1))
        return
    _print(results, written)


def _write(asked: Asked, results: "RealResults", frozen: str) -> "list[Path]":
    """The figures, every error, and the page with the tables beside it; the paths."""
    from rpo._io import write_whole
    from rpo_lab.real.figures import curve_figure, dots_figure
    from rpo_lab.real.page import beside, section, tables_folder
    from rpo_lab.runner.drawing import save
    from rpo_lab.runner.page import put

    folder = asked.figures or asked.folder
    # Thousands of dots: as SVG these would be larger than their page.
    (dots,) = save(dots_figure(results), folder, "real", kinds=["png"])
    (curve,) = save(curve_figure(results), folder, "real-unevenness", kinds=["png"])
    files = [asked.folder / "errors.csv", asked.folder / "summary.csv", asked.folder / "gains.csv"]
    for path, table in zip(files, (results.errors, results.summary, results.gains), strict=True):
        write_whole(path, table.to_csv(index=False))
    page = asked.page or asked.folder / "real.md"
    for name, table in beside(results).items():
        write_whole(tables_folder(page) / f"{name}.csv", table.to_csv(index=False))
    put(page, "real", section(results, asked.command, (dots, curve), page, frozen))
    return [dots, curve, *files, page]


def _plain(value: object) -> object:
    """NaN as null, so that it is JSON."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and value != value else value


def _print(results: "RealResults", written: "list[Path]") -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from rpo_lab.real.planting import SETTINGS
    from rpo_lab.real.study import ROWS
    from rpo_lab.real.words import answer, shown

    for setting, some in results.summary.groupby("setting", sort=False):
        table = Table(
            "",
            "geometric mean (95 %)",
            "median",
            "worst",
            "won",
            "lost",
            "tables",
            box=SIMPLE_HEAD,
            title_justify="left",
        )
        table.title = f"Error over the best stock learner, {SETTINGS[str(setting)].words}"
        order = sorted(some.to_dict("records"), key=lambda one: list(ROWS).index(one["row"]))
        for one in order:
            figures = (
                f"{one['median']:.2f}",
                f"{one['worst']:.2f}",
                str(one["won"]),
                str(one["lost"]),
                str(one["tables"]),
            )
            table.add_row(ROWS[one["row"]].label, shown(one["mean"], one["low"], one["high"]), *figures)
        for name, library in results.study.missing.items():
            table.add_row(ROWS[name].label, f"{library} is not installed")
        console().print(table)
    for line in answer(results):
        typer.echo(f"- {line.replace('**', '')}")
    typer.echo(f"\nThe figure is {written[0]}, the page {written[-1]}; records are in {written[-2].parent}.")
