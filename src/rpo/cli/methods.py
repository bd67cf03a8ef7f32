"""`rpo methods`: every method with what it does, what it fits, and what there is to tune."""

import json
from typing import Annotated, Any, Literal

import typer

from rpo.io import console


def methods(
    task: Annotated[
        Literal["regression", "classification"] | None, typer.Option(help="Only those that fit this task.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """List the methods: name, tasks, what each does, hyper-parameters with their ranges, reference.

    Examples:

      rpo methods --task regression

      rpo methods --json
    """
    entries = [entry for entry in _entries() if task is None or task in entry["tasks"]]
    if as_json:
        print(json.dumps(entries, indent=2, ensure_ascii=False))
        return
    from rich.table import Table

    rate = entries[0]["hyperparameters"]["lr"]
    table = Table(
        title=f"{len(entries)} methods",
        caption=f"all have lr: {rate['default']:g} ({rate['range']})",
        title_justify="left",
        caption_justify="left",
        show_lines=True,
    )
    table.add_column("method", no_wrap=True)
    table.add_column("what it does", ratio=3)
    table.add_column("hyper-parameters: default (range)", ratio=3)
    table.add_column("reference", ratio=1)
    for entry in entries:
        only = "" if len(entry["tasks"]) == 2 else f" ({entry['tasks'][0]} only)"
        table.add_row(entry["name"], entry["summary"] + only, "\n".join(_tunable(entry)), entry["reference"])
    console().print(table)


def _entries() -> list[dict[str, Any]]:
    from rpo.methods import methods as registered

    def words(tasks: tuple[str, ...]) -> list[str]:
        return [word for word, known in (("regression", "regression"), ("classification", "binary")) if known in tasks]

    return [
        {
            "name": method.name,
            "tasks": words(method.tasks),
            "summary": method.summary,
            "formula": method.formula,
            "hyperparameters": {
                name: {"default": hyper.default, "range": str(hyper)} for name, hyper in method.space.items()
            },
            "options": {
                name: {"default": values[0], "values": list(values)} for name, values in method.options.items()
            },
            "reference": method.cite,
        }
        for method in registered()
    ]


def _tunable(entry: dict[str, Any]) -> list[str]:
    numbers = [
        f"{name}: {'by formula' if value['default'] is None else format(value['default'], 'g')} ({value['range']})"
        for name, value in entry["hyperparameters"].items()
        if name != "lr"
    ]
    options = [
        f"{name}: {' | '.join(map(str, value['values']))}"
        for name, value in entry["options"].items()
        if len(value["values"]) > 1
    ]
    return numbers + options
