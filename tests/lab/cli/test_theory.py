import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rpo.cli import app, main

FAST = ["--problem", "bad-second-domain", "--nodes", "201", "--repetitions", "20"]


def test_tables_and_figures(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["theory", *FAST, "--out", str(tmp_path / "figures")])
    assert result.exit_code == 0, result.output
    for words in (
        "Theorem 1",
        "Best λ",
        "ρ compared with uniform",
        "η compared with",
        "printed, mean one",
        "bad-second-domain",
    ):
        assert words in result.output
    assert "…" not in result.output
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "bad-second-domain-profiles.svg",
        "bad-second-domain-lambda.svg",
        "bad-second-domain-rho.svg",
        "index.md",
    }
    # It ends with what it comes to, and with what its figures show.
    end = result.output[result.output.index("Conclusions") :]
    assert "- Theorem 1, variance compared with the exact solver: as printed +" in end
    assert "- η, printed, raw: a lower risk than uniform penalties in 0 of 1 problems, a higher one in 1" in end
    assert "- PROBLEM-rho.svg: density and noise" in end
    page = (tmp_path / "figures" / "index.md").read_text()
    assert page.count("](bad-second-domain-") == 3
    assert "- λ: the printed formula gives" in page


def test_json_holds_the_tables(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["theory", *FAST, "--json", "--no-figures", "--lam", "1e-3", "--seed", "3"])
    assert result.exit_code == 0, result.output
    tables = json.loads(result.stdout)
    assert set(tables) == {"theorem", "lambda", "rho", "eta", "conclusions", "figures"}
    assert tables["conclusions"]
    assert tables["figures"] == []
    assert [row["quantity"] for row in tables["theorem"]] == ["bias²", "variance", "risk"]
    variance = tables["theorem"][1]
    assert variance["lam"] == 1e-3
    assert variance["printed_error"] == pytest.approx(variance["printed"] / variance["exact"] - 1)


def test_list_names_every_problem() -> None:
    from rpo_lab.theory import problems

    result = CliRunner().invoke(app, ["theory", "--list"])
    assert [line.split()[0] for line in result.output.splitlines()] == problems.names()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--problem", "nothing"], "no problem called"),
        (["--eta", "0"], "--eta"),
        (["--nodes", "5"], "--nodes"),
        (["--lam", "-1", "--problem", "cosine"], "lam must be"),
        (["--repetitions", "1", "--problem", "cosine"], "repetitions"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["rpo", "theory", "--no-figures", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    error = [line for line in capsys.readouterr().err.splitlines() if line.strip()]
    assert len(error) == 1
    assert error[0].startswith("rpo: ")
    assert words in error[0]


def test_help_shows_examples_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from rpo.cli import app\n"
        "print(CliRunner().invoke(app, ['theory', '--help']).output)\n"
        "print('heavy', [name for name in ('torch', 'scipy', 'matplotlib') if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "rpo theory --json" in output
    assert "heavy []" in output
