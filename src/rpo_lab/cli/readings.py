"""`rpo bench readings`: what the paper leaves open, varied all at once."""

import json
from dataclasses import asdict

import typer

from rpo_lab.cli.shared import Asked, command, do


@command(without=("selection", "correction", "add", "plugin"))
def readings(asked: Asked) -> None:
    """Colored-MNIST as the paper may have meant it: in which share of readings is RPO better, and than what?

    A reading fills in what the paper does not say: whether test labels are turned, before or after colouring, how many
    rows bad cells keep, which cells are bad, how long is trained, in which form and by which rule. They are run on
    the small digits by RPO, its halves, its controls and IRM + lip. 'quick' has twelve readings and three seeds,
    'paper' 72 and ten: a half of all combinations, in which every two choices occur together. The same command
    continues an interrupted study.

    [bold]Examples[/bold]

        rpo bench readings

        rpo bench readings --profile paper --page docs/results/readings.md --figures docs/figures/readings
    """
    from rich.table import Table

    from rpo._io import console, write_whole
    from rpo_lab import readings as study
    from rpo_lab.runner.drawing import save
    from rpo_lab.runner.page import link, put

    made = study.readings(asked.profile, seeds=asked.seeds)
    records = do(asked, made.runs())
    if records is None:
        return
    found = made.compared(records)
    drawn = save(study.figure_of(found), asked.figures or asked.folder, "readings")
    table = (asked.folder if asked.page is None else asked.page.parent / "tables") / "readings.csv"
    write_whole(table, study.to_csv(made, found))
    if asked.page is not None:
        figure, beside = link(drawn[-1], asked.page), link(table, asked.page)
        put(asked.page, "readings", study.section(made, found, asked.command, figure, beside))
    lines = study.answer(found)
    if asked.as_json:
        said = {
            "summary": lines,
            "comparisons": [asdict(one) | {"reading": dict(one.reading)} for one in found],
            "files": [str(path) for path in (*drawn, table)],
        }
        typer.echo(json.dumps(said, ensure_ascii=False, indent=1))
        return
    tallies = study.tallies(found)
    shown = Table(
        "", *next(iter(tallies.values())), title="Number of readings, compared by accuracy", title_justify="left"
    )
    for rival, counts in tallies.items():
        shown.add_row(rival, *map(str, counts.values()))
    console().print(shown)
    for line in lines:
        typer.echo(f"- {line.replace('**', '')}")
    typer.echo(f"\nThe figure is {drawn[0]}; every comparison is in {table}.")
