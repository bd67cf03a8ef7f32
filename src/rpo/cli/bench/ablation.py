"""`rpo bench ablation`: RPO against its two halves."""

from rpo.cli.bench.cmnist import RULE, Digits, family
from rpo.cli.bench.shared import Asked, command, show


@command(without=("add", "plugin"), family=family, selection=RULE)
def ablation(asked: Asked, digits: Digits = "mnist") -> None:
    """RPO, RPO-Pen (its penalties by domain alone) and RPO-Lip (by stratum alone), beside the paper's figures.

    On settings 1 (Bad Domain) and 7 (Bad Group) of Colored-MNIST, tuned alike
    and to the paper's letter. Its runs are among those of `rpo bench cmnist`
    and are taken from there if they are done.

    [bold]Examples[/bold]

        rpo bench ablation --digits sklearn

        rpo bench ablation --profile paper
    """
    from rpo.paper import ablation as study

    show(asked, study.ablation(asked.profile, seeds=asked.seeds, leave_one_out=asked.leave_one_out, digits=digits))
