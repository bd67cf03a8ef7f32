import numpy as np
import pytest

from rpo.exceptions import InputError
from rpo_lab.theory import Problem, make_problem, problems, solve_1d


@pytest.mark.parametrize("name", problems.names())
@pytest.mark.parametrize("nodes", [101, 2001])
def test_every_problem_is_well_formed(name: str, nodes: int) -> None:
    problem = problems.get(name, nodes=nodes)
    assert problem.name == name
    assert problem.x[0] == 0.0
    assert problem.x[-1] == 1.0
    assert problem.density.shape == problem.noise.shape == (problem.domains, nodes)
    np.testing.assert_allclose(problem.mass.sum(1), 1.0, rtol=1e-12)
    assert (problem.density > 0).all()
    assert set(problem.group) == set(range(problem.groups))


@pytest.mark.parametrize(("name", "flat"), [("cosine", True), ("noise-only", True), ("tilted", False)])
def test_slopes_at_the_ends_are_as_named(name: str, flat: bool) -> None:
    problem = problems.get(name)
    slope = np.abs(problem.slope(problem.truth)[[0, -1]])
    assert (slope < 1e-3).all() if flat else (slope > 1.0).all()


def truth(x: np.ndarray) -> np.ndarray:
    return 2 + x


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"noise": [-1.0]}, "noise"),
        ({"noise": [0.1, 0.1]}, "noise"),
        ({"samples": [0]}, "samples"),
        ({"nodes": 2}, "3 nodes"),
        ({"groups": 0}, "groups"),
        ({"density": lambda x: x[None]}, "density"),
        ({"density": lambda x: 1 + x}, "density"),
        ({"truth": lambda x: np.full_like(x, np.nan)}, "truth"),
    ],
)
def test_bad_problems_are_refused_in_one_line(change: dict[str, object], words: str) -> None:
    arguments: dict[str, object] = {"truth": truth, "noise": [0.1], "samples": [10], "nodes": 11} | change
    with pytest.raises(InputError, match=words) as caught:
        make_problem("bad", **arguments)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("eta", "lam", "rho"),
    [
        (-1.0, 0.1, 1.0),
        (1.0, 0.0, 1.0),
        (1.0, np.nan, 1.0),
        (1.0, 0.1, 0.0),
        ([1.0, 2.0, 3.0], 0.1, 1.0),
        (1.0, 0.1, [1.0, 2.0]),
    ],
)
def test_bad_penalties_are_refused(eta: float, lam: float, rho: float) -> None:
    problem: Problem = problems.get("cosine", nodes=11)
    with pytest.raises(InputError):
        solve_1d(problem, eta, lam, rho)


def test_an_unknown_problem_is_refused_with_the_names() -> None:
    with pytest.raises(InputError, match="bad-second-domain"):
        problems.get("nothing")
