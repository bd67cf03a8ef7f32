"""`rpo bench penalties`: the penalties that RPO finds, drawn beside the setting."""

import json
from typing import Annotated

import typer

from rpo_lab.cli.cmnist import RULE, Digits, family
from rpo_lab.cli.shared import Asked, command


@command(
    without=("jobs", "cluster", "selection", "correction", "dry_run", "add", "plugin"),
    family=family,
    selection=RULE,
)
def penalties(
    asked: Asked,
    settings: Annotated[str, typer.Option(help="Settings from 1 to 14, separated by commas, or 'all'.")] = "1,7",
    digits: Digits = "mnist",
) -> None:
    """Draw the penalties η and ρ that RPO finds on Colored-MNIST, next to the settings, as in the paper.

    Only the first stage is trained, which takes about a second per seed. Up to three settings are drawn.

    [bold]Examples[/bold]

        rpo bench penalties --digits sklearn

        rpo bench penalties --settings 13 --seeds 10
    """
    from rich.table import Table

    from rpo._io import console, write_whole
    from rpo_lab.cmnist import numbers_of
    from rpo_lab.penalties import MOST_DRAWN, found_in, lines_of, penalties_figure, put_on_page, to_csv
    from rpo_lab.penalties import penalties as find
    from rpo_lab.runner.drawing import save
    from rpo_lab.runner.records import read_file, write_file

    numbers = numbers_of(settings)
    kept = (
        find(numbers, asked.profile, seeds=asked.seeds, digits=digits)
        if asked.records is None
        else read_file(asked.records)[0]
    )
    found = found_in(kept, numbers, asked.profile, seeds=asked.seeds, digits=digits)
    if asked.records_out is not None:
        write_file(asked.records_out, kept)
    table = asked.folder / "penalties.csv"
    write_whole(table, to_csv(found))
    drawn = (
        save(penalties_figure(found), asked.figures or asked.folder, "penalties") if len(found) <= MOST_DRAWN else []
    )
    if asked.page is not None:
        put_on_page(asked.page, found, asked.command, drawn[-1] if drawn else None)
    lines = lines_of(found)
    if asked.as_json:
        typer.echo(json.dumps({"settings": lines, "files": [str(p) for p in (table, *drawn)]}, ensure_ascii=False))
        return
    shown = Table(*lines[0])
    for line in lines:
        shown.add_row(*map(str, line.values()))
    console().print(shown)
    typer.echo(f"{f'The figure is {drawn[0]}; every' if drawn else 'Every'} value is in {table}.")
