"""scikit-learn's own checks, all of them, and metadata routing through its tools."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rpo import DomainClassifier, DomainRegressor, RPOClassifier, RPORegressor

ALL = [RPORegressor, RPOClassifier, DomainRegressor, DomainClassifier]


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
@parametrize_with_checks([kind(steps=100) for kind in ALL])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def table(rng):
    X = rng.normal(size=(120, 3))
    domains = np.repeat(["north", "south", "west"], 40)
    y = X[:, 0] + 0.1 * rng.normal(size=120)
    return X, y, domains


@pytest.mark.parametrize("kind", ALL)
def test_domains_travel_through_pipeline_grid_search_and_splitter(kind, table):
    """One `domains=` reaches the splitter as groups and every fit as domains."""
    X, y, domains = table
    y = y if "Regressor" in kind.__name__ else np.where(y > 0, "high", "low")
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), kind(steps=20))
        splitter = LeaveOneGroupOut().set_split_request(groups="domains")
        search = GridSearchCV(pipeline, {f"{kind.__name__.lower()}__learning_rate": [0.01, 0.001]}, cv=splitter)
        search.fit(X, y, domains=domains)
        assert search.n_splits_ == 3
        assert list(search.best_estimator_[-1].domains_) == ["north", "south", "west"]
        scores = cross_validate(pipeline, X, y, cv=splitter, params={"domains": domains}, return_estimator=True)
        seen = [set(fitted[-1].domains_) for fitted in scores["estimator"]]
        assert seen == [{"south", "west"}, {"north", "west"}, {"north", "south"}]


def test_strata_travel_too(table):
    X, y, domains = table
    strata = np.arange(120) % 4
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), RPORegressor(steps=20)).fit(X, y, domains=domains, strata=strata)
    assert sorted(set(pipeline[-1].quality_["stratum"])) == [0, 1, 2, 3]
