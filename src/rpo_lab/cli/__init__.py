"""`rpo bench`, `rpo theory` and `rpo data`."""

import typer

from rpo_lab.cli import bench, data, theory
from rpo_lab.cli.nico import nico

WORDS = "Run the experiments of the paper, and those on real tables."
app = typer.Typer(help=WORDS, no_args_is_help=True, rich_markup_mode="rich")


@app.callback(help=WORDS)
def _bench() -> None:
    pass


for study in (
    bench.table1,
    bench.cmnist,
    bench.ablation,
    bench.penalties,
    bench.severity,
    nico,
    bench.quality_weights,
    bench.readings,
    bench.real,
):
    app.command(study.__name__.replace("_", "-"))(study)


def add_commands(rpo: typer.Typer) -> None:
    """Add the commands of the laboratory to those of the tool."""
    rpo.add_typer(app, name="bench")
    rpo.add_typer(data.app, name="data")
    rpo.command()(theory.theory)
