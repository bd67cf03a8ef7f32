"""`rpo compare`: what helps on this table?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from rpo.cli import options as o
from rpo.cli.console import echo_json, origin, records, say, say_notes, show
from rpo.cli.quality import page_json

STOPPED = 130  # the exit code of a command that Ctrl-C ended
FIRST = ("quality", "linear", "trees", "erm-l2", "rpo")  # shown by domain, as many as fit 80 columns
MOST_COLUMNS = 5


def compare(
    table: o.TablePath,
    target: o.Target,
    domain: o.Domain,
    methods: Annotated[
        list[str] | None,
        typer.Option("--methods", "-m", help="Further methods to compare, separated by commas; may be repeated."),
    ] = None,
    every_method: Annotated[bool, typer.Option("--all", help="Compare all methods that `rpo methods` lists.")] = False,
    seeds: Annotated[int, typer.Option(help="Number of seeds for networks.")] = 3,
    plugin: o.Plugin = None,
    strata: o.Strata = None,
    grouping: o.Grouping = "auto",
    task: o.AskedTask = "auto",
    report: o.Report = None,
    drop: o.Drop = None,
    category: o.Category = None,
    encoding: o.Encoding = "utf-8",
    steps: o.Steps = 400,
    selection: Annotated[
        str, typer.Option(help="How hyper-parameters are selected: validation, irm or formula.")
    ] = "validation",
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", help="Number of worker processes. (default: one per core)")
    ] = None,
    cluster: o.Cluster = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder for finished runs. (default: out/compare-NAME)")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be run, and exit.")] = False,
    as_json: o.Json = False,
) -> None:
    """Hold out every domain in turn, and report in plain words what helps on this table.

    Compares the mean (or the majority class), a linear model, boosted trees, the Quality model of `rpo fit` with
    permuted and uniform weights as controls, a network with plain training (erm-l2) and with rpo, and the methods you
    name.

    Each run is saved to --out when it finishes: the same command continues an interrupted comparison and repeats runs
    that failed. Ctrl-C while networks are training prints the verdict so far.

    [bold]Examples[/bold]

        rpo compare homes.csv --target radon --domain county --dry-run

        rpo compare homes.csv --target radon --domain county --methods irm-lip,groupdro

        rpo compare homes.csv -t radon -d county --plugin my_methods --methods my-method

        rpo compare visits.parquet -t outcome -d hospital --seeds 5 --report visits.html
    """
    from joblib import cpu_count

    from rpo._compare import compare as run
    from rpo._compare import planned
    from rpo._table.reading import read_table

    o.load_plugins(plugin)
    o.check_report(report)
    frame = read_table(table, encoding=encoding)
    asked: dict[str, Any] = {
        "target": target,
        "domain": domain,
        "strata": strata or (),
        "task": task,
        "grouping": grouping,
        "methods": [name for one in methods or () for name in one.split(",")],
        "every_method": every_method,
        "seeds": seeds,
        "drop": o.names_in(drop, frame.columns),
        "category": o.names_in(category, frame.columns),
        "steps": steps,
        "selection": selection,
        "out": out or Path(f"out/compare-{table.name.split('.')[0]}"),
    }
    if dry_run:
        for line in planned(frame, **asked):
            typer.echo(line)
        return
    found = run(frame, **asked, jobs=cpu_count() if jobs is None else jobs, cluster=cluster)
    judged = None
    if report is not None:
        from rpo._quality import judge
        from rpo._report import write_report

        judged = judge(found.table, grouping=grouping)
        write_report(judged, report, title=table.name, comparison=found, about=origin(table, 0))
    if as_json:
        tables = {"methods": records(found.methods), "domains": records(found.domains)}
        words = {"verdict": found.verdict, "protocol": found.protocol, "notes": found.table.notes}
        more = {"failed": found.failed, "stopped": found.stopped}
        echo_json({**words, **more, **tables, **page_json(report, judged)})
        raise typer.Exit(STOPPED if found.stopped else 0)
    say_notes(found.table.notes)
    shorter = {"deviation": "±", "worst domain": "worst", "difference": "diff", "p paired": "p"}
    columns = ("method", "error", "±", "worst", "diff", "p", "worse in")
    best = found.methods.rename(columns=shorter)
    show(best, columns, "Error on held-out domains, best first", len(best))
    named = [name for name in FIRST if name in found.domains][:MOST_COLUMNS]
    show(found.domains.head(15), ("domain", "n", *named), "By held-out domain, largest first", len(found.domains))
    for line in found.protocol:
        say(f"- {line}")
    for line in found.failed:
        say(f"FAILED: {line}; the same command tries it again", err=True)
    if found.stopped:
        typer.echo("\nStopped. Results so far (the same command continues):")
    typer.echo()
    say(found.verdict)
    if report is not None:
        typer.echo(f"The page is {report}.")
    raise typer.Exit(STOPPED if found.stopped else 0)
