"""`rpo bench`: the paper's experiments, each by one command that goes on where it stopped; one file a study."""

import typer

from rpo.cli.bench import ablation, calibrated, cmnist, nico, severity, table1, weights

app = typer.Typer(help="Run the paper's experiments.", no_args_is_help=True, rich_markup_mode="rich")


@app.callback()
def _bench() -> None:
    """Run the paper's experiments."""


app.command("table1")(table1.table1)
app.command("cmnist")(cmnist.cmnist)
app.command("ablation")(ablation.ablation)
app.command("weights")(weights.weights)
app.command("severity")(severity.severity)
app.command("nico")(nico.nico)
app.command("calibrated")(calibrated.calibrated)
