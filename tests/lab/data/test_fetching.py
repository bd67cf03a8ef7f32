import subprocess

import pytest

from rpo.exceptions import InputError
from rpo_lab.data import fetching


def stand_in(monkeypatch, code: int, words: str, file: str | None):
    """In place of pip: notes what it was asked, writes a file, ends with this code."""
    asked = []

    def run(command, **_):
        asked.append(command)
        if file is not None:
            with open(f"{command[command.index('--dest') + 1]}/{file}", "wb") as made:
                made.write(b"wheel")
        return subprocess.CompletedProcess(command, code, "", words)

    monkeypatch.setattr(fetching.subprocess, "run", run)
    return asked


def test_pip_downloads_a_wheel_and_installs_nothing(monkeypatch, tmp_path) -> None:
    asked = stand_in(monkeypatch, 0, "", "thing-1.0-py3-none-any.whl")
    path = fetching.pip_download("thing==1.0", tmp_path)
    assert path.read_bytes() == b"wheel"
    assert list(tmp_path.iterdir()) == [path]
    assert asked[0][1:4] == ["-m", "pip", "download"]
    assert {"--no-deps", "--only-binary", "thing==1.0"} <= set(asked[0])


@pytest.mark.parametrize("code, file", [(1, "thing-1.0-py3-none-any.whl"), (0, None)])
def test_what_pip_says_when_it_fails_is_passed_on(monkeypatch, tmp_path, code, file) -> None:
    stand_in(monkeypatch, code, "No matching distribution\n", file)
    with pytest.raises(InputError, match="pip download failed: No matching distribution"):
        fetching.pip_download("thing==1.0", tmp_path)
    assert list(tmp_path.iterdir()) == []
