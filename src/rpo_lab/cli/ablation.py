"""`rpo bench ablation`: RPO against its two halves."""

from rpo_lab.cli.cmnist import RULE, Digits, family
from rpo_lab.cli.shared import Asked, command, show


@command(without=("add", "plugin"), family=family, selection=RULE)
def ablation(asked: Asked, digits: Digits = "mnist") -> None:
    """Compare RPO with RPO-Pen (only penalties by domain) and RPO-Lip (only penalties by stratum).

    On settings 1 (Bad Domain) and 7 (Bad Group) of Colored-MNIST, as the paper does and with equal tuning for all; the
    paper's figures are shown as well. Runs that `rpo bench cmnist` has finished are reused.

    [bold]Examples[/bold]

        rpo bench ablation --digits sklearn

        rpo bench ablation --profile paper
    """
    from rpo_lab import ablation as study

    show(asked, study.ablation(asked.profile, seeds=asked.seeds, leave_one_out=asked.leave_one_out, digits=digits))
