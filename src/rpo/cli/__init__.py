"""The `rpo` command: one file a command, nothing heavy imported before a command runs."""

import sys

import typer

from rpo.cli import bench, check, compare, data, fit, methods, predict, quality, theory
from rpo.cli.tables import printable
from rpo.exceptions import InputError, TrainingError

app = typer.Typer(
    name="rpo",
    help="Models that hold up on domains never seen, from data of uneven quality.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(bench.app, name="bench")
app.add_typer(data.app, name="data")
app.command()(quality.quality)
app.command()(fit.fit)
app.command()(predict.predict)
app.command()(check.check)
app.command()(compare.compare)
app.command()(methods.methods)
app.command()(theory.theory)


def main() -> None:
    """Run the command line; bad input is one line on standard error and exit code 2."""
    try:
        app()
    except (InputError, TrainingError, OSError) as error:
        print(f"rpo: {printable(str(error))}", file=sys.stderr)
        sys.exit(2)
