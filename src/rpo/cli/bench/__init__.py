"""`rpo bench`: the paper's experiments, each by one command that goes on where it stopped; one file a study."""

import typer

from rpo.cli.bench import ablation, cmnist, nico, penalties, quality_weights, readings, real, severity, table1

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
