"""Callbacks, called while a model trains: your own class, a CSV file, TensorBoard."""

import csv
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from torch import Tensor

from rpo._io import make_folder, write_whole
from rpo.exceptions import InputError

if TYPE_CHECKING:
    from rpo.engine.trained import Trained

Values = Mapping[str, Tensor]
HEADER = ("step", "model", "name", "value")


class Callback:
    """Base class for callbacks; override the methods you need.

    Values have one entry per model of the stack, which is one model unless it is a sweep.

    Examples
    --------
    >>> from rpo.engine import Callback
    >>> class Worst(Callback):
    ...     def on_evaluate(self, step, risks):
    ...         print(step, max(risks, key=lambda name: float(risks[name])))
    """

    def on_step(self, step: int, terms: Values) -> None:
        """Run after each training step.

        Parameters
        ----------
        step : int
            The number of the step.
        terms : dict of str to tensor
            The terms of the loss, and their sum as `loss`.
        """

    def on_evaluate(self, step: int, risks: Values) -> None:
        """Run after each evaluation.

        Parameters
        ----------
        step : int
            The number of the step.
        risks : dict of str to tensor
            The risk on each validation domain.
        """

    def on_end(self, trained: "Trained") -> None:
        """Run once, at the end of the training.

        Parameters
        ----------
        trained : Trained
            The trained models.
        """


class CSVLogger(Callback):
    """Write every loss term and every validation risk to a CSV file: step, model, name, value.

    A training that continues from a checkpoint appends to the same file.

    Parameters
    ----------
    path : path
        The file to write.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, pandas as pd, rpo
    >>> from rpo.engine import CSVLogger
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     monitor = rpo.Monitor(callbacks=[CSVLogger(folder + "/log.csv")])
    ...     _ = rpo.DomainRegressor("erm-l2", steps=3).fit(X, X[:, 0], domains=np.arange(60) % 3, monitor=monitor)
    ...     pd.read_csv(folder + "/log.csv").columns.tolist()
    ['step', 'model', 'name', 'value']
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.file: TextIO | None = None

    def on_step(self, step: int, terms: Values) -> None:
        """Append the terms."""
        self._write(step, terms)

    def on_evaluate(self, step: int, risks: Values) -> None:
        """Append the risks, and flush the file so that it can be read."""
        self._write(step, {f"validation {name}": value for name, value in risks.items()})
        if self.file is not None:
            self.file.flush()

    def on_end(self, trained: "Trained") -> None:  # noqa: ARG002
        """Close the file."""
        if self.file is not None:
            self.file.close()
            self.file = None

    def _write(self, step: int, values: Values) -> None:
        if self.file is None:
            self._open(step)
        writer = csv.writer(self.file)  # type: ignore[arg-type]
        for name, value in values.items():
            writer.writerows((step, model, name, f"{float(v):.6g}") for model, v in enumerate(value))

    def _open(self, step: int) -> None:
        """Open the file, keeping the lines of earlier steps.

        Lines written after the last checkpoint are dropped: the training that continues writes them again.
        """
        make_folder(self.path.parent)
        rows = [list(HEADER)]
        if self.path.exists() and step > 1:
            with self.path.open(newline="", encoding="utf-8") as file:
                # The last line may be incomplete if the process was killed.
                rows += [row for row in list(csv.reader(file))[1:] if len(row) == len(HEADER) and int(row[0]) < step]
        content = io.StringIO(newline="")
        csv.writer(content).writerows(rows)
        write_whole(self.path, content.getvalue().encode())
        self.file = self.path.open("a", newline="", encoding="utf-8")


class TensorBoardLogger(Callback):
    """Write loss terms and validation risks for `tensorboard --logdir`; needs `rpo[tensorboard]`.

    Parameters
    ----------
    folder : path
        The log folder.

    Examples
    --------
    >>> import rpo
    >>> from rpo.engine import TensorBoardLogger
    >>> monitor = rpo.Monitor(callbacks=[TensorBoardLogger("runs/first")])  # doctest: +SKIP
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.writer: Any = None
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise InputError("TensorBoard is not installed: pip install 'rpo[tensorboard]'") from None
        self.make = SummaryWriter

    def on_step(self, step: int, terms: Values) -> None:
        """Add the terms."""
        self._add("train", step, terms)

    def on_evaluate(self, step: int, risks: Values) -> None:
        """Add the risks."""
        self._add("validation", step, risks)

    def on_end(self, trained: "Trained") -> None:  # noqa: ARG002
        """Close the folder's file."""
        if self.writer is not None:
            self.writer.close()
            self.writer = None

    def _add(self, kind: str, step: int, values: Values) -> None:
        if self.writer is None:
            self.writer = self.make(str(self.folder), purge_step=step)
        for name, value in values.items():
            for model, v in enumerate(value):
                place = f"{kind}/{name}" if len(value) == 1 else f"{kind}/{name}/{model}"
                self.writer.add_scalar(place, float(v), step)
