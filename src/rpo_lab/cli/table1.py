"""`rpo bench table1`: regression on Cigar and Wage."""

from rpo_lab.cli.shared import Asked, command, show


@command()
def table1(asked: Asked) -> None:
    """Reproduce the paper's regression table on Cigar and Wage, with controls.

    'quick' takes two minutes; 'paper' uses ten seeds and all grids. Each run is saved to --out when it finishes: the
    same command continues an interrupted study, and another --selection reuses the same runs.

    [bold]Examples[/bold]

        rpo bench table1

        rpo bench table1 --profile paper --jobs 4 --out out/table1

        rpo bench table1 --profile paper --out out/table1 --selection irm --correction holm

        rpo bench table1 --profile paper --records-out table1.jsonl.gz

        rpo bench table1 --profile paper --records table1.jsonl.gz --page table1.md

        rpo bench table1 --add vrex,fishr

        rpo bench table1 --plugin my_methods --add my-method

        rpo bench table1 --profile paper --cluster tcp://10.0.0.5:8786
    """
    from rpo_lab import table1 as study

    made = study.table1(asked.profile, seeds=asked.seeds, leave_one_out=asked.leave_one_out)
    show(asked, [study.view(made)])
