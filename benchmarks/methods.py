"""What a step of every method costs over a step of ERM, beside what its extra passes cost in arithmetic."""

import torch

from benchmarks.ours import make_stepper, table
from benchmarks.timing import Row, medians, row
from rpo.methods import methods

ROWS, INPUTS, HIDDEN, DOMAINS = 2048, 100, (64, 64), 3

# Multiply-adds of a row and a pass: forward, and twice that for a backward pass through all layers but the first input.
FORWARD = INPUTS * 64 + 64 * 64 + 64
ERM = FORWARD + (INPUTS * 64 + 2 * 64 * 64 + 2 * 64)
CRITIC = 3 * (64 * 256 + 256 * 256 + 256 * DOMAINS)
BACK = 64 * 64
ARITHMETIC = {
    "anchor": ("none", ERM),
    "andmask": ("one backward a domain", FORWARD + DOMAINS * (ERM - FORWARD)),
    "cdann": ("discriminator 64-256-256-3 forward and back", ERM + CRITIC),
    "cnbb": ("5 steps of balancing weights, 64 × 64 contrasts forward and back", ERM + 5 * 2 * 2 * 2 * 64 * 64),
    "coral": ("covariances of 64 features, forward and back, rows padded to twice as many", ERM + 3 * 2 * 64 * 64),
    "dann": ("discriminator 64-256-256-3 forward and back", ERM + CRITIC),
    "eqrm": ("60 halvings of an interval", ERM),
    "erm-l2": ("none", ERM),
    "erm-lip": ("masks back to the first layer, Gram matrix, and their gradients", ERM + 5 * BACK),
    "fishr": ("gradients of the head a row, element by element", ERM),
    "groupdro": ("none", ERM),
    "har": ("one more forward, gradients of two layers, and their gradients", ERM + FORWARD + 2 * ERM),
    "ib-erm": ("none", ERM),
    "ib-irm": ("none", ERM),
    "icorr": ("none", ERM),
    "iga": ("one backward a domain, and its gradient", FORWARD + 3 * DOMAINS * (ERM - FORWARD)),
    "irm-l2": ("none", ERM),
    "irm-lip": ("as erm-lip", ERM + 5 * BACK),
    "irm-lip-cv": ("as erm-lip", ERM + 5 * BACK),
    "lap": ("none", ERM),
    "ldam-irm": ("none", ERM),
    "mixup": ("none", ERM),
    "mldg": (
        "one backward a domain, then a forward and backward a domain",
        FORWARD + DOMAINS * (ERM - FORWARD) + DOMAINS * ERM,
    ),
    "mmd": ("seven kernels of 256 rows with each other, element by element", ERM + 3 * 256 * 256 * (64 + 7) // ROWS),
    "mtl": ("none", ERM),
    "pair": ("one backward an objective", FORWARD + 3 * (ERM - FORWARD)),
    "rpo": ("as erm-lip", ERM + 5 * BACK),
    "rpo-lip": ("as erm-lip", ERM + 5 * BACK),
    "rpo-pen": ("as erm-lip", ERM + 5 * BACK),
    "rpo-permuted": ("as erm-lip", ERM + 5 * BACK),
    "rpo-uniform": ("as erm-lip", ERM + 5 * BACK),
    "rsc": ("the head three times more", ERM),
    "sagnet": ("none", ERM),
    "sat-irm": ("none", ERM),
    "sd": ("none", ERM),
    "vrex": ("none", ERM),
}


def rows(quick: bool = False) -> list[Row]:
    """One model, 2,048 rows, an MLP 100-64-64-1, one thread; the aim is twice the count."""
    torch.set_num_threads(1)
    data = table(INPUTS, ROWS, DOMAINS)
    names = sorted(m.name for m in methods("binary"))
    time = medians({name: make_stepper(name, data, HIDDEN) for name in names}, 7 if quick else 25, warm=3)
    found = []
    for name in names:
        passes, count = ARITHMETIC[name]
        found.append(
            row(
                f"step of {name} over ERM ({passes})", time[name] / time["erm-l2"], aim=f"at most {2 * count / ERM:.2f}"
            )
        )
    return found
