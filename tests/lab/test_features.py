"""Features once computed are kept: a kill costs a shard, an altered shard is noticed, a backbone is one argument."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from rpo.engine.drawing import Seeded
from rpo.exceptions import InputError
from rpo_lab.data.pictures import Album
from rpo_lab.features import SHARD, Backbone, extract, get_backbone

PICTURES = 8 * SHARD + 7


def album(pictures=PICTURES, salt=0):
    """Pictures of one colour each, drawn when they are read."""
    numbers = np.arange(pictures)
    return Album(
        ("bear", "car"),
        ("road",),
        (numbers % 2).astype(np.int8),
        (numbers % 2).astype(np.int16),
        np.zeros(pictures, np.int16),
        np.array([f"{salt + i:064x}" for i in numbers]),
        [str(i) for i in numbers],
        lambda picture, size: np.full((size, size, 3), (salt + picture) % 251, np.uint8),
    )


class Means(nn.Module):
    """Means of colours, with a count of the pictures seen; kills its process at the n-th call if told to."""

    def __init__(self, kill_at: int = 0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.seen, self._left = 0, kill_at

    def forward(self, x):
        self.seen += len(x)
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return x.mean((2, 3)) * self.weight


def backbone(kill_at=0):
    return Backbone(Means(kill_at), size=4)


def shards(folder):
    return sorted(Path(folder).rglob("*.safetensors"))


def test_a_kill_half_way_costs_one_shard(tmp_path):
    script = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_features import album, backbone, extract\n"
        "extract(album(), backbone=backbone(kill_at=5))\n"
    )
    environment = os.environ | {"RPO_DATA": str(tmp_path), "OMP_NUM_THREADS": "1"}
    killed = subprocess.run([sys.executable, "-c", script], env=environment, check=False)
    assert killed.returncode == -signal.SIGKILL
    done = len(shards(tmp_path))
    assert done == 4
    net = backbone()
    features = extract(album(), backbone=net, cache=tmp_path)
    assert net.module.seen == PICTURES - done * SHARD
    expected = np.repeat((np.arange(PICTURES) % 251 / 255 - 0.5)[:, None] / 0.5, 3, axis=1)
    np.testing.assert_allclose(features, expected, atol=1e-6)
    # Now all of it is there.
    again = backbone()
    np.testing.assert_array_equal(extract(album(), backbone=again, cache=tmp_path), features)
    assert again.module.seen == 0


def test_an_altered_shard_is_set_aside_reported_and_computed_again(tmp_path):
    before = extract(album(), backbone=backbone(), cache=tmp_path)
    altered, cut = shards(tmp_path)[:2]
    content = bytearray(altered.read_bytes())
    content[-1] ^= 1
    altered.write_bytes(bytes(content))
    cut.write_bytes(cut.read_bytes()[:100])
    net, said = backbone(), []
    np.testing.assert_array_equal(extract(album(), backbone=net, cache=tmp_path, say=said.append), before)
    assert net.module.seen in (2 * SHARD, SHARD + 7)
    assert len(said) == 2
    assert altered.name[:12] in said[0]
    assert "was altered" in said[0]
    assert len(list(tmp_path.rglob("*.altered"))) == 2


def test_other_weights_pixels_or_pictures_are_other_features(tmp_path):
    few = album(5)
    extract(few, backbone=backbone(), cache=tmp_path)
    heavier = backbone()
    with torch.no_grad():
        heavier.module.weight.mul_(2)
    assert extract(few, backbone=heavier, cache=tmp_path)[3, 0] == pytest.approx(2 * (3 / 255 - 0.5) / 0.5, abs=1e-6)
    larger = Backbone(Means(), size=8)
    extract(few, backbone=larger, cache=tmp_path)
    assert larger.module.seen == 5
    other = backbone()
    extract(album(5, salt=3), backbone=other, cache=tmp_path)  # pictures 3 and 4 are known
    assert other.module.seen == 3


def test_some_pictures_in_any_order_and_more_than_once(tmp_path):
    wanted = np.array([4, 1, 4, 0])
    net = backbone()
    features = extract(album(6), wanted, backbone=net, cache=tmp_path)
    np.testing.assert_allclose(features[:, 0], (wanted / 255 - 0.5) / 0.5, atol=1e-6)
    assert net.module.seen == 3


def test_a_backbone_of_ones_own_by_module_or_by_name(tmp_path, monkeypatch):
    with Seeded(0):
        module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.5), nn.Flatten())
    features = extract(album(3), backbone=Backbone(module, size=6), cache=tmp_path)
    assert features.shape == (3, 64)
    assert module.training  # left as it was
    (tmp_path / "mynets.py").write_text(
        "from torch import nn\nfrom rpo_lab.features import Backbone\n"
        "def small():\n    return Backbone(nn.Flatten(), size=2)\nwrong = lambda: 3\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert extract(album(3), backbone="mynets:small", cache=tmp_path).shape == (3, 12)
    for name, words in {
        "mynets": "unknown backbone",
        "nowhere:net": "cannot be imported",
        "mynets:none": "cannot be imported",
        "mynets:wrong": "got a int",
    }.items():
        with pytest.raises(InputError, match=words):
            get_backbone(name)


def test_features_that_are_not_finite_are_refused(tmp_path):
    net = backbone()
    with torch.no_grad():
        net.module.weight.fill_(float("nan"))
    with pytest.raises(InputError, match="not finite"):
        extract(album(2), backbone=net, cache=tmp_path)
    assert not shards(tmp_path)
