"""`rpo bench severity`: accuracy as the corruption grows."""

from rpo_lab.cli.cmnist import RULE, Digits, family
from rpo_lab.cli.shared import Asked, command, show


@command(without=("add", "plugin"), family=family, selection=RULE)
def severity(asked: Asked, digits: Digits = "mnist") -> None:
    """Measure accuracy on Colored-MNIST with more and more bad cells, wrong labels and missing rows.

    Three curves with confidence bands for ERM, IRM, RPO and a control show when data quality starts to matter and which
    method copes best. Accuracy is that on the test domain.

    [bold]Examples[/bold]

        rpo bench severity --digits sklearn

        rpo bench severity --profile paper --seeds 5
    """
    from rpo_lab import severity as study

    made = study.severity(asked.profile, seeds=asked.seeds, leave_one_out=asked.leave_one_out, digits=digits)
    show(asked, [study.view(made)])
