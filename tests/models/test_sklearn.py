"""scikit-learn's own checks, all of them, and metadata routing through its tools."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rpo import QualityClassifier, QualityRegressor

ALL = [QualityRegressor, QualityClassifier]


@pytest.fixture
def _numpy_seeded():
    """scikit-learn's own checks draw from NumPy's generator: always the same, and nobody sees it."""
    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    yield
    np.random.set_state(before)  # noqa: NPY002


# The checks know nothing of domains, so every fit warns that there is one only.
@pytest.mark.filterwarnings("ignore::rpo.exceptions.OneDomainWarning")
@pytest.mark.usefixtures("_numpy_seeded")
@parametrize_with_checks([kind("linear") for kind in ALL])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::rpo.exceptions.OneDomainWarning")
@pytest.mark.usefixtures("_numpy_seeded")
@parametrize_with_checks([kind(name) for kind in ALL for name in ("auto", "trees")])
def test_scikit_learn_checks_of_more_learners(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kind", ALL)
def test_domains_travel_through_pipeline_grid_search_and_splitter(kind, rng):
    """One `domains=` reaches the splitter as groups and every fit as domains."""
    X = rng.normal(size=(120, 3))
    domains = np.repeat(["north", "south", "west"], 40)
    y = X[:, 0] + 0.1 * rng.normal(size=120)
    y = y if kind is QualityRegressor else np.where(y > 0, "high", "low")
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), kind("linear"))
        splitter = LeaveOneGroupOut().set_split_request(groups="domains")
        search = GridSearchCV(pipeline, {f"{kind.__name__.lower()}__weights": ["on", "off"]}, cv=splitter)
        search.fit(X, y, domains=domains)
        assert search.n_splits_ == 3
        assert list(search.best_estimator_[-1].domains_) == ["north", "south", "west"]
        scores = cross_validate(pipeline, X, y, cv=splitter, params={"domains": domains}, return_estimator=True)
        seen = [set(fitted[-1].domains_) for fitted in scores["estimator"]]
        assert seen == [{"south", "west"}, {"north", "west"}, {"north", "south"}]
