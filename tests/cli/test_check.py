"""`rpo check` and `rpo predict --interval`, on a folder that `rpo fit` wrote."""

import json

import numpy as np
import pandas as pd
import pytest

from rpo._models.table_files import save_model
from rpo._models.table_model import fit_table
from rpo._table import prepare
from tests.report.reading import section_of, strange, values


@pytest.fixture(scope="module")
def clinics(tmp_path_factory):
    """Folders fitted to twelve clinics, and the table of a new one."""
    place = tmp_path_factory.mktemp("clinics")
    rng = np.random.default_rng(0)
    site = np.repeat(np.arange(13), 20)
    age, dose = rng.normal(50, 9, 260), rng.normal(3, 1, 260)
    stay = 0.1 * age + rng.normal(size=13)[site] + rng.normal(size=260)
    table = pd.DataFrame({"clinic": site, "age": age, "dose": dose, "stay": stay})
    table["long"] = np.where(stay > 5, "yes", "no")
    old = table[site < 12]
    old.to_csv(place / "clinics.csv", index=False)
    table[site == 12].drop(columns="clinic").to_csv(place / "new.csv", index=False)
    for name, target, other, options in (
        ("model", "stay", "long", {"method": "linear", "grouping": "none"}),
        ("classes", "long", "stay", {"method": "linear", "grouping": "none"}),
        ("net", "stay", "long", {"method": "erm-l2", "steps": 5}),
    ):
        save_model(fit_table(prepare(old, target=target, domain="clinic", drop=[other]), **options), place / name)
    return place


def test_a_new_table_is_judged_in_sentences(command, clinics):
    code, out, err = command("check", clinics / "model", clinics / "new.csv")
    assert (code, err) == (0, "")
    assert out.startswith("The table (20 rows): ")
    assert "of 12 held-out domains" in " ".join(out.split())
    assert "Columns, those that stand out first" in out


def test_json_has_everything_and_the_page_is_written(command, clinics):
    swapped = pd.read_csv(clinics / "new.csv").rename(columns={"age": "dose", "dose": "age"})
    swapped.drop(columns=["stay", "long"]).to_csv(clinics / "swapped.csv", index=False)
    page = clinics / "page.html"
    code, out, _ = command("check", clinics / "model", clinics / "swapped.csv", "--json", "--report", page)
    found = json.loads(out)
    assert (code, found["verdict"]) == (0, "outside")
    assert [row["column"] for row in found["columns"] if row["shifted"]] == ["dose", "age"]
    assert len(found["distances"]) == 12
    assert found["domains"][0]["p shift"] == pytest.approx(1 / 13)
    text = page.read_text()
    assert "The table (20 rows): outside." in text
    assert text.count('<section id="') == 1
    assert strange(section_of(text, "check"), values(found)) == []
    assert found["judgement"] is None


def test_the_page_of_a_table_with_its_target_has_its_quality_too(command, clinics):
    page = clinics / "page.html"
    code, out, _ = command("check", clinics / "model", clinics / "new.csv", "--report", page, "--json")
    found, text = json.loads(out), page.read_text()
    assert code == 0
    assert strange(section_of(text, "check"), values(found)) == []
    assert strange(section_of(text, "domains"), values(found["judgement"])) == []


def test_several_domains_are_checked_each(command, clinics):
    code, out, _ = command("check", clinics / "model", clinics / "clinics.csv")
    assert code == 0
    assert "Training domains among them: 12." in " ".join(out.split())


@pytest.mark.parametrize(
    "words, said",
    [
        (("{0}/model", "{0}/none.csv"), "none.csv"),
        (("{0}/nowhere", "{0}/new.csv"), "not a folder"),
        (("{0}/model", "{0}/new.csv", "--report", "{0}/new.csv"), "--report"),
    ],
)
def test_bad_input_is_one_line(command, clinics, words, said):
    code, out, err = command("check", *(word.format(clinics) for word in words))
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_a_method_fitted_as_it_is_has_neither(command, clinics):
    for more in (("check", clinics / "net", clinics / "new.csv"),
                 ("predict", clinics / "net", clinics / "new.csv", "--interval", 80)):  # fmt: skip
        code, _, err = command(*more)
        assert code == 2
        assert "fit it with --method auto, linear, trees or network" in err


def test_predictions_with_an_interval(command, clinics):
    code, _, _ = command("predict", clinics / "model", clinics / "new.csv", "--interval", 90, "-o", clinics / "out.csv")
    assert code == 0
    found = pd.read_csv(clinics / "out.csv")
    assert list(found.columns) == ["prediction", "low", "high"]
    assert ((found["low"] < found["prediction"]) & (found["prediction"] < found["high"])).all()
    _, out, _ = command("predict", clinics / "model", clinics / "new.csv", "--interval", 90, "--json")
    assert json.loads(out)["score"][0]["covered"] >= 0.7
    code, _, err = command("predict", clinics / "model", clinics / "new.csv", "--interval", 95)
    assert code == 2
    assert "level 0.95 needs at least 19 training domains, but there are 12" in err
    assert "--interval-method model" in err
    assert (
        command("predict", clinics / "model", clinics / "new.csv", "--interval", 95, "--interval-method", "model")[0]
        == 0
    )
    assert command("predict", clinics / "model", clinics / "new.csv", "--interval", 0)[0] == 2


def test_classes_have_sets(command, clinics):
    code, out, _ = command("predict", clinics / "classes", clinics / "new.csv", "--interval", 90, "--json")
    assert code == 0
    found = json.loads(out)
    assert {row["set"] for row in found["predictions"]} <= {"no", "yes", "no; yes"}
    assert found["score"][0]["covered"] >= 0.7
