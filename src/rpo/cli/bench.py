"""`rpo bench`: the paper's experiments, each by one command that goes on where it stopped."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rpo.experiments.store import Store
    from rpo.experiments.study import Study
    from rpo.experiments.tables import Table

app = typer.Typer(help="Run the paper's experiments.", no_args_is_help=True, rich_markup_mode="rich")


@app.callback()
def _bench() -> None:
    """Run the paper's experiments."""


@app.command("table1")
def table1(
    profile: Annotated[str, typer.Option(help="'quick' (two minutes) or 'paper' (ten seeds, all grids).")] = "quick",
    seeds: Annotated[int | None, typer.Option(help="Another number of seeds than the profile's.")] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Worker processes of one thread each. [default: one a core]")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", help="Where records, tables and figures go. [default: out/table1-PROFILE]"),
    ] = None,
    selection: Annotated[
        str, typer.Option(help="Which model is taken: validation, leave-one-out, irm, formula or oracle.")
    ] = "validation",
    correction: Annotated[str, typer.Option(help="Of p-values for many comparisons: none or holm.")] = "none",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how much there is to do, and stop.")] = False,
    figures: Annotated[Path | None, typer.Option(help="Another folder for the figures.")] = None,
    page: Annotated[Path | None, typer.Option(help="A Markdown page to put the results into.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the table as JSON.")] = False,
) -> None:
    """The paper's regression table on Cigar and Wage, with the controls beside it.

    Every run is kept in --out as soon as it is done: the same command goes on where it stopped, and another
    --selection reads the same records.

    [bold]Examples[/bold]

        rpo bench table1

        rpo bench table1 --profile paper --jobs 4 --out out/table1

        rpo bench table1 --profile paper --out out/table1 --selection irm --correction holm
    """
    import json

    from joblib import cpu_count

    from rpo.experiments.figures import write_figure
    from rpo.experiments.render import to_json
    from rpo.experiments.runner import execute
    from rpo.experiments.selection import RULES, get_rule
    from rpo.experiments.store import Store
    from rpo.experiments.summary import summary
    from rpo.experiments.table1 import PRINTED, TITLE
    from rpo.experiments.table1 import table1 as study_of
    from rpo.experiments.tables import Correction, check_correction, make_table

    rule, corrected = get_rule(selection), check_correction(correction)
    study = study_of(profile, seeds=seeds, leave_one_out=selection == "leave-one-out")
    folder = out or Path(f"out/table1-{profile}")
    store = Store(folder)
    workers = cpu_count() if jobs is None else jobs
    if dry_run:
        _say_what_there_is_to_do(study, store, workers)
        return
    records = execute(study.runs(), store, jobs=workers, label=f"table 1, {profile}")
    _say_what_was_set_aside(store)

    def table(name: str, correction: Correction) -> "Table":
        return make_table(study, records, get_rule(name), title=TITLE, correction=correction, printed=PRINTED)

    main = table(rule.name, corrected)
    written = [*_write(main, folder), *write_figure(main, figures or folder, "table1")]
    words = summary(main)
    if page is not None:
        from rpo.experiments.page import write_page

        others = [name for name in RULES if name != rule.name and (study.leave_one_out or name != "leave-one-out")]
        tables = [main, *(table(name, corrected) for name in others)]
        write_page(page, tables, _command(profile, seeds, selection, correction, figures, page), words, written[-1])
    if as_json:
        found = to_json(main) | {"summary": words, "files": [str(path) for path in written]}
        typer.echo(json.dumps(found, ensure_ascii=False, indent=1))
        return
    _print(main, words, written)


def _say_what_there_is_to_do(study: "Study", store: "Store", jobs: int) -> None:
    from rpo.experiments.runner import plan

    runs = study.runs()
    todo = plan(runs, store)
    typer.echo(f"{len(runs)} runs, {len(todo.done)} done, {todo.missing} to do in {len(todo.stacks)} stacks.")
    for path in store.corrupt:
        typer.echo(f"{path} is not whole: it will be set aside and its run done again.")
    if todo.missing:
        typer.echo(f"About {_duration(todo.seconds(jobs))} with {jobs} workers, if they have a core each.")


def _say_what_was_set_aside(store: "Store") -> None:
    for path in store.aside:
        typer.echo(f"A record was not whole: set aside as {path}, and its run done again.", err=True)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _write(table: "Table", folder: Path) -> list[Path]:
    from rpo.experiments import render
    from rpo.experiments.files import write_whole

    forms = {"csv": render.to_csv, "tex": render.to_latex, "html": render.to_html, "md": render.to_markdown}
    paths = []
    for ending, form in forms.items():
        paths.append(folder / f"table1.{ending}")
        write_whole(paths[-1], form(table))
    return paths


def _command(profile: str, seeds: int | None, selection: str, correction: str, figures: Path | None, page: Path) -> str:
    """The command that makes the page again."""
    given = {
        "--profile": profile,
        "--seeds": seeds,
        "--selection": None if selection == "validation" else selection,
        "--correction": None if correction == "none" else correction,
        "--figures": figures,
        "--page": page,
    }
    return " ".join(["rpo bench table1", *(f"{name} {value}" for name, value in given.items() if value is not None)])


def _print(table: "Table", words: list[str], written: list[Path]) -> None:
    from rich.console import Console

    from rpo.experiments.render import to_rich

    console = Console()
    # In a pipe there is no window to fit: let no cell be cut.
    (console if console.is_terminal else Console(width=160)).print(to_rich(table))
    typer.echo("")
    for line in words:
        typer.echo(f"- {line}")
    typer.echo(
        f"\nThe figure is {next(path for path in written if path.suffix == '.png')}; "
        f"tables and records are in {written[0].parent}."
    )
