import pytest

from rpo_lab.theory import Problem, problems


@pytest.fixture(params=["cosine", "tilted", "cosine-two-domains", "tilted-two-domains"])
def smooth(request: pytest.FixtureRequest) -> Problem:
    """Two truths (with and without slope at the ends), one and two domains."""
    return problems.get(request.param)
