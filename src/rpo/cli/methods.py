"""`rpo methods`: all methods with their task, summary and hyper-parameters; or everything about one."""

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rpo._io import console, printable
from rpo.cli import options as o

if TYPE_CHECKING:
    from rpo.engine.method import Method


def methods(
    name: Annotated[
        str | None, typer.Argument(help="The method to explain. (default: list all)", show_default=False)
    ] = None,
    task: Annotated[
        Literal["regression", "classification"] | None, typer.Option(help="List only methods that support this task.")
    ] = None,
    plugin: o.Plugin = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the methods, or explain one: its formula, hyper-parameters, reference and cost relative to ERM.

    Methods of installed packages (entry-point group rpo.methods) and of --plugin are included.

    [bold]Examples[/bold]

        rpo methods --task regression

        rpo methods fishr

        rpo methods my-method --plugin my_methods

        rpo methods --json
    """
    o.load_plugins(plugin)
    _say_what_is_broken()
    if name is not None:
        _explain(name, as_json)
        return
    shown = [entry for entry in entries() if task is None or task in entry["tasks"]]
    if as_json:
        print(json.dumps(shown, indent=2, ensure_ascii=False))
        return
    from rich.table import Table

    rate = shown[0]["hyperparameters"]["lr"]
    table = Table(
        title=f"{len(shown)} methods",
        caption=f"all methods have lr: {rate['default']:g} ({rate['range']})",
        title_justify="left",
        caption_justify="left",
        show_lines=True,
    )
    table.add_column("method", no_wrap=True)
    table.add_column("what it does", ratio=3)
    table.add_column("hyper-parameters: default (range)", ratio=3)
    table.add_column("reference", ratio=1)
    for entry in shown:
        only = "" if len(entry["tasks"]) == 2 else f" ({entry['tasks'][0]} only)"
        table.add_row(entry["name"], entry["summary"] + only, "\n".join(_tunable(entry)), entry["cite"])
    console().print(table)


def _say_what_is_broken() -> None:
    """Print, on standard error, which installed packages with methods could not be loaded."""
    from rpo.engine.plugins import load_installed

    for plugin, why in load_installed().items():
        typer.echo(f"note: plugin {plugin!r} could not be loaded ({printable(why)})", err=True)


def _explain(name: str, as_json: bool) -> None:
    """Print everything about one method, as text or as JSON."""
    from rpo.engine.cost import step_cost
    from rpo.methods import get_method

    method = get_method(name)
    entry = _entry(method) | {"cost": float(f"{step_cost(method):.3g}")}
    if as_json:
        print(json.dumps(entry, indent=2, ensure_ascii=False))
        return
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    out.print(Text(f"{name} ({' and '.join(entry['tasks'])}, version {entry['version']})", style="bold"))
    # The line begins with the method's usual name.
    out.print(Text(entry["summary"]))
    for title, text in (("Formula", entry["formula"]), ("Reference", entry["reference"])):
        out.print(Text(f"\n{title}", style="bold"))
        out.print(Padding(Text(text), (0, 0, 0, 2)))
    cost = f"{entry['cost']:g} times that of plain training (measured on this machine: MLP 100-64-64-1, 2,048 rows"
    out.print(Text("\nCost of a step", style="bold"))
    out.print(Padding(Text(f"{cost}, three domains; without first stages)"), (0, 0, 0, 2)))
    out.print(Text("\nHyper-parameters", style="bold"))
    for line in _sentences(entry):
        out.print(Padding(Text(line), (0, 0, 0, 2)))


def _sentences(entry: dict[str, Any]) -> list[str]:
    """Describe each hyper-parameter and option in a sentence, with default and range."""
    numbers = [
        f"{name}: {value['words']} Default {format_default(value['default'])}, searched {value['range']}."
        for name, value in entry["hyperparameters"].items()
    ]
    options = [
        f"{name}: {value['words']} Default {value['default']}"
        + (f", one of {', '.join(map(str, value['values']))}." if len(value["values"]) > 1 else ".")
        for name, value in entry["options"].items()
    ]
    return numbers + options


def format_default(value: float | None) -> str:
    """Format a default.

    >>> format_default(0.01), format_default(None)
    ('0.01', 'by formula')
    """
    return "by formula" if value is None else format(value, "g")


def entries() -> list[dict[str, Any]]:
    """Return all methods as plain values, for the table, `--json` and the reference."""
    from rpo.methods import methods as registered

    return [_entry(method) for method in registered()]


def _entry(method: "Method") -> dict[str, Any]:
    """Convert a method to plain values."""
    tasks = [
        word for word, known in (("regression", "regression"), ("classification", "binary")) if known in method.tasks
    ]
    return {
        "name": method.name,
        "version": method.version,
        "tasks": tasks,
        "summary": method.summary,
        "formula": method.formula,
        "hyperparameters": {
            name: {"default": hyper.default, "range": str(hyper), "words": hyper.words}
            for name, hyper in method.space.items()
        },
        "options": {
            name: {"default": choice[0], "values": list(choice), "words": choice.words}
            for name, choice in method.options.items()
        },
        "cite": method.cite,
        "reference": method.reference,
    }


def _tunable(entry: dict[str, Any]) -> list[str]:
    numbers = [
        f"{name}: {format_default(value['default'])} ({value['range']})"
        for name, value in entry["hyperparameters"].items()
        if name != "lr"
    ]
    options = [
        f"{name}: {' | '.join(map(str, value['values']))}"
        for name, value in entry["options"].items()
        if len(value["values"]) > 1
    ]
    return numbers + options
