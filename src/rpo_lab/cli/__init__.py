"""`rpo bench`, `rpo theory` and `rpo data`: one file a study, each of which continues where it stopped."""

import typer

from rpo_lab.cli import (
    ablation,
    cmnist,
    data,
    nico,
    penalties,
    quality_weights,
    readings,
    real,
    severity,
    table1,
    theory,
)

WORDS = "Run the experiments of the paper, and those on real tables."
app = typer.Typer(help=WORDS, no_args_is_help=True, rich_markup_mode="rich")


@app.callback(help=WORDS)
def _bench() -> None:
    pass


app.command("table1")(table1.table1)
app.command("cmnist")(cmnist.cmnist)
app.command("ablation")(ablation.ablation)
app.command("penalties")(penalties.penalties)
app.command("severity")(severity.severity)
app.command("nico")(nico.nico)
app.command("quality-weights")(quality_weights.quality_weights)
app.command("readings")(readings.readings)
app.command("real")(real.real)


def add_commands(rpo: typer.Typer) -> None:
    """Add the commands of the laboratory to those of the tool."""
    rpo.add_typer(app, name="bench")
    rpo.add_typer(data.app, name="data")
    rpo.command()(theory.theory)
