"""Train a small ResNet from picture files on disk: RPO, plain training, and a method of your own beside them.

Animals stand before green and vehicles before blue and grey; in the test domain it is the other way round (CIFAR-10,
fetched if it is not there). Pictures are files; a `Dataset` reads them, a `Source` fetches batches of it.

    python examples/photos.py [FOLDER] [--rows 400] [--steps 120] [--workers 2]
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import Dataset

import rpo
from rpo_lab.data.photos import photos

sys.path.insert(0, str(Path(__file__).parent / "own_method"))


OWN = Path(__file__).parent / "own_method"


class Pictures(Dataset[tuple[Tensor, str, str]]):
    """Files named DOMAIN/LABEL/NUMBER.png: an item is the picture, its label and its domain."""

    def __init__(self, folder: Path) -> None:
        self.files = sorted(folder.glob("*/*/*.png"))
        # So that labels are known without opening a file.
        self.targets = [file.parent.name for file in self.files]
        self.domains = [file.parent.parent.name for file in self.files]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple[Tensor, str, str]:
        """One picture, `(3, 32, 32)`, between −1 and 1."""
        with Image.open(self.files[index]) as picture:
            pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1)
        return pixels.float() / 127.5 - 1, self.targets[index], self.domains[index]


class Block(nn.Module):
    """Two convolutions beside a way around them; group norms, for they look at one picture at a time."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.around = nn.Conv2d(inputs, outputs, 1, stride=2)
        self.through = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride=2, padding=1),
            nn.GroupNorm(4, outputs),
            nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, padding=1),
            nn.GroupNorm(4, outputs),
        )

    def forward(self, x: Tensor) -> Tensor:
        """relu(x + f(x)), at half the size."""
        return torch.relu(self.around(x) + self.through(x))


def resnet(row_shape: Sequence[int], n_outputs: int, widths: Sequence[int] = (16, 32, 64)) -> nn.Sequential:
    """A small residual network; the head is its last layer."""
    sizes = [row_shape[0], *widths]
    blocks = [Block(inputs, outputs) for inputs, outputs in pairwise(sizes)]
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], n_outputs))


def mirrored(x: Tensor) -> Tensor:
    """The picture, or its mirror image."""
    return x.flip(-1) if float(torch.rand(())) < 0.5 else x


def write(folder: Path, rows: int) -> None:
    """The pictures as files, those of the test domain in a folder of their own; nothing if they are there."""
    if (folder / "test").exists():
        return
    data = photos(rows=rows, test_rows=rows // 2)
    for part, place in (("train", "train"), ("test", "test")):
        for row in np.flatnonzero(data.part == part):
            label = "vehicle" if data.y[row] else "animal"
            file = folder / place / f"domain{data.domain[row]}" / label / f"{row:05d}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(data.album.read(int(data.picture[row]), 32)).save(file)


def main(arguments: Sequence[str] | None = None) -> dict[str, float]:
    """Write the pictures, train three models, print what they are worth; the accuracy on the test domain by method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="where the pictures are, or are to be (default: for now)")
    parser.add_argument("--rows", type=int, default=400, help="pictures of each domain")
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--workers", type=int, default=2, help="processes that read pictures")
    asked = parser.parse_args(arguments)
    sys.path.insert(0, str(OWN))
    rpo.methods.load_plugin("rpo_vrex")
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.folder or Path(scratch)
        write(folder, asked.rows)
        train, test = Pictures(folder / "train"), Pictures(folder / "test")
        source = rpo.Source(train, augment=mirrored, workers=asked.workers)
        print(f"{len(train)} pictures of {len(set(train.domains))} domains to train on, {len(test)} to test")
        common = {"module": resnet, "steps": asked.steps, "batch_size": 16}
        models = {
            "ERM": rpo.DomainClassifier("erm-l2", **common),
            "my V-REx": rpo.DomainClassifier("my-vrex", hyperparameters={"beta": 1.0}, **common),
            # Residuals by two folds and one λ, so that the first stage is two trainings.
            "RPO": rpo.RPOClassifier(folds=2, lam=0.01, **common),
        }
        found = {}
        for name, model in models.items():
            start = time.perf_counter()
            model.fit(source)
            found[name] = model.score(rpo.Source(test, workers=asked.workers), test.targets)
            at_home = model.score(rpo.Source(train, workers=asked.workers), train.targets)
            seconds = time.perf_counter() - start
            print(f"{name:10} accuracy {at_home:.3f} at home, {found[name]:.3f} on the test domain ({seconds:.0f} s)")
        print(models["RPO"].penalties_.eta.round(2).to_dict())
    return found


if __name__ == "__main__":
    main()
