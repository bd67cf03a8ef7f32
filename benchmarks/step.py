"""What a step of the LipIRM loss costs: over ERM, by three ways of computing it, stacked, and compiled."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks import field
from benchmarks.ours import make_stepper, table
from benchmarks.timing import Row, medians, row
from rpo.engine import mlp
from rpo.functional.domains import domain_share
from rpo.functional.lipirm import lipirm_terms
from rpo.functional.slope import function_output_and_slope, output_and_slope


def rows(quick: bool = False) -> list[Row]:
    """All of it on one thread."""
    torch.set_num_threads(1)
    rounds = 15 if quick else 60
    return over_erm(rounds) + ways(rounds) + stacked(rounds, compiled=not quick)


def over_erm(rounds: int) -> list[Row]:
    """The whole step, Adam included, of an MLP 392-64-64-1 on 2,048 rows."""
    data = table(392, 2048, 3)
    runs = {name: make_stepper(name, data, (64, 64)) for name in ("erm-l2", "irm-l2", "irm-lip")}
    time = medians(runs, rounds, warm=5)
    return [
        row("step: LipIRM over ERM, MLP 392-64-64-1, 2,048 rows", time["irm-lip"] / time["erm-l2"], aim="at most 1.4"),
        row("step: IRM over ERM, same", time["irm-l2"] / time["erm-l2"]),
        row("step: ERM, same", 1e3 * time["erm-l2"], "ms"),
    ]


def ways(rounds: int) -> list[Row]:
    """Loss and gradient of the same network: all in closed form, input gradient by torch.func, double backward."""
    data = table(392, 2048, 3)
    model = mlp(392, 1, (64, 64))

    def step(slope_of: object) -> None:
        output, slope = slope_of(model, data.x)  # type: ignore[operator]
        terms = lipirm_terms(
            output, slope, data.y, data.domain, data.weight, eta=1.0, rho=1.0, lam=0.1, n_domains=3, task="binary"
        )
        torch.autograd.grad(torch.stack(list(terms.values())).sum(), list(model.parameters()))

    def erm() -> None:
        loss = F.binary_cross_entropy_with_logits(model(data.x)[:, 0], data.y, reduction="none")
        share = domain_share(data.weight, data.domain, 3)
        torch.autograd.grad((share * loss).sum(), list(model.parameters()))

    def by_func(module: nn.Module, x: Tensor) -> tuple[Tensor, Tensor]:
        return function_output_and_slope(lambda rows: module(rows), x)

    def by_autograd() -> None:
        losses = [
            field.domain_loss(model, data.tensor[data.domain == e], data.y[data.domain == e], 1.0, 0.1)
            for e in range(3)
        ]
        torch.autograd.grad(torch.stack(losses).sum(), list(model.parameters()))

    time = medians(
        {
            "erm": erm,
            "closed": lambda: step(output_and_slope),
            "func": lambda: step(by_func),
            "autograd": by_autograd,
        },
        rounds,
        warm=3,
    )
    names = {
        "closed": "closed form",
        "func": "closed-form IRM, input gradient by torch.func",
        "autograd": "a forward a domain, double backward",
    }
    return [row(f"loss and gradient over ERM: {names[way]}", time[way] / time["erm"]) for way in names]


def stacked(rounds: int, *, compiled: bool) -> list[Row]:
    """CPU time of a model-step at 3 × 64 rows, 10 features, 64-64: stacks of 1, 10 and 50 against one at a time."""
    data = table(10, 3 * 64 * 20, 3)
    runs = {"field": field.make_stepper(10, (64, 64), 3, 64)}
    sizes = (1, 10, 50)
    runs |= {f"eager {k}": make_stepper("irm-lip", data, (64, 64), k, batch_size=64) for k in sizes}
    if compiled:
        runs |= {
            f"compiled {k}": make_stepper("irm-lip", data, (64, 64), k, batch_size=64, compiled=True) for k in sizes
        }
    time = medians(runs, rounds, warm=5)
    each = {name: value / (1 if name == "field" else int(name.split()[1])) for name, value in time.items()}
    found = [row("model-step, the field's way, 3 × 64 rows", 1e3 * each["field"], "ms")]
    for name in each:
        if name != "field":
            found.append(row(f"model-step, {name} stacked", 1e3 * each[name], "ms"))
    found.append(row("one at a time over 50 stacked, eager", each["eager 1"] / each["eager 50"], aim="at least 5"))
    found.append(row("the field's way over 50 stacked, eager", each["field"] / each["eager 50"]))
    if compiled:
        found.append(
            row("one at a time over 50 stacked, compiled", each["eager 1"] / each["compiled 50"], aim="at least 5")
        )
        found.append(
            row("the field's way over 50 stacked, compiled", each["field"] / each["compiled 50"], aim="at least 13")
        )
    return found
