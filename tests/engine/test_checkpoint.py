"""Snapshots: what is read is what was written, and a torn file is said."""

import pytest
import torch

from rpo.engine.adam import AdamState
from rpo.engine.checkpoint import load_snapshot, save_snapshot
from rpo.engine.trained import Snapshot
from rpo.exceptions import InputError


def snapshot():
    flat = torch.randn(2, 5, dtype=torch.float64)
    return Snapshot(flat, AdamState(flat, flat.square(), torch.full((2, 1), 3.0)), {"q": flat[:, :2]}, 11)


def test_all_of_it_comes_back(tmp_path):
    before = snapshot()
    save_snapshot(before, tmp_path / "now")
    after = load_snapshot(tmp_path / "now")
    assert after.step == 11
    assert torch.equal(after.flat, before.flat)
    assert all(torch.equal(a, b) for a, b in zip(after.adam, before.adam, strict=True))
    assert torch.equal(after.state["q"], before.state["q"])
    assert [p.name for p in tmp_path.iterdir()] == ["now"]


def test_a_torn_or_missing_file_is_one_line(tmp_path):
    save_snapshot(snapshot(), tmp_path / "now")
    content = (tmp_path / "now").read_bytes()
    (tmp_path / "now").write_bytes(content[: len(content) // 2])
    for name in ("now", "never"):
        with pytest.raises(InputError, match="is not a snapshot") as caught:
            load_snapshot(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_a_folder_that_cannot_be_written_leaves_the_old_snapshot(tmp_path):
    save_snapshot(snapshot(), tmp_path / "now")
    old = (tmp_path / "now").read_bytes()
    with pytest.raises(OSError, match="cannot write"):
        save_snapshot(snapshot(), tmp_path / "nowhere" / "now")
    assert (tmp_path / "now").read_bytes() == old
