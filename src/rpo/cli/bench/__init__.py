"""`rpo bench`: the paper's experiments, each by one command that goes on where it stopped; one file a study."""

import typer

from rpo.cli.bench import ablation, cmnist, nico, penalties, quality_weights, readings, real, severity, table1

app = typer.Typer(help="Run the paper's experiments.", no_args_is_help=True, rich_markup_mode="rich")


@app.callback()
def _bench() -> None:
    """Run the paper's experiments."""


app.command("table1")(table1.table1)
app.command("cmnist")(cmnist.cmnist)
app.command("ablation")(ablation.ablation)
app.command("penalties")(penalties.penalties)
app.command("severity")(severity.severity)
app.command("nico")(nico.nico)
app.command("quality-weights")(quality_weights.quality_weights)
app.command("readings")(readings.readings)
app.command("real")(real.real)
