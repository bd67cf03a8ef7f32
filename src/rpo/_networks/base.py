"""Base class of the network estimators: standardising, training on the engine, predicting."""

import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, column_or_1d
from torch import nn

from rpo._mapped import blocks, is_mapped, on_disk
from rpo._networks.array_inputs import Array, ArrayInputs, is_widths, weighted_moments
from rpo._networks.fetched import FETCHED, Inputs, Rows, as_source, get_labels
from rpo._networks.fitted_penalties import fitted_penalties, quality_table
from rpo._networks.ready import Ready, evaluations, split_validation
from rpo._networks.row_strata import label_rows, search_strata
from rpo.engine import Config, Data, Monitor, Net, factory, make_data, mlp, predict
from rpo.engine.config import default_batch_size, pick_device
from rpo.engine.method import State
from rpo.engine.source import Source
from rpo.engine.training import first_stage, make_net
from rpo.exceptions import CollapseWarning, InputError
from rpo.functional.losses import Task
from rpo.grouping.strata import choose_grouping, codes
from rpo.methods import Method
from rpo.methods.terms import collapse_strength

# Up to this many rows double precision costs hardly anything; beyond, it takes twice the time.
DOUBLE_ROWS = 1_000
DTYPES = {"float32": torch.float32, "float64": torch.float64}


class DomainEstimator(ArrayInputs, ABC):
    """Base of the four estimators; subclasses define the method with its values, and the kind of target."""

    # Pipeline, GridSearchCV and the like pass `domains` and `strata` on.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"domains": True, "strata": True}

    # Set by the subclasses' constructors.
    hidden: Sequence[int]
    steps: int
    batch_size: int | Literal["auto"] | None
    learning_rate: float | None
    schedule: Literal["cosine", "constant"]
    accumulate: int
    grouping: str
    dtype: str
    device: str

    @abstractmethod
    def _method(self) -> tuple[Method, dict[str, Any]]:
        """Return the method and the values given for its hyper-parameters."""

    @abstractmethod
    def _encode_more(self, y: NDArray[Any]) -> NDArray[Any]:
        """Encode the target of other rows as `_encode` did in `fit`."""

    @abstractmethod
    def _encode(self, y: NDArray[Any], weight: Array) -> tuple[Array, Task]:
        """Encode the target for the engine; return it with the task."""

    def fit(
        self,
        X: Inputs,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        domains: ArrayLike | None = None,
        strata: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = 60.0,
        monitor: Monitor | None = None,
    ) -> Self:
        """Fit the network.

        Parameters
        ----------
        X : array of shape (n, …), DataFrame, Dataset or rpo.Source
            The inputs. A memory-mapped array (`np.load(…, mmap_mode="r")`) stays on disk. Items of a map-style
            `torch.utils.data.Dataset` are fetched one batch at a time; labels that are not given are taken from it, and
            `standardize` then applies to the target only.
        y : array of shape (n,)
            The target.
        sample_weight : array of shape (n,), optional
            Counts rows: a weight of two is the same as repeating the row, zero the same as leaving it out.
        domains : array of shape (n,), optional
            The domain of each row. Without it all rows are one domain, and a warning is issued.
        strata : array of shape (n,), optional
            The stratum of each row. By default strata are found as `grouping` says.
        checkpoint : path, optional
            A folder in which the training is saved, and on SIGTERM. The same call continues an interrupted training
            and gives the same model.
        every : float
            Seconds between checkpoints.
        monitor : rpo.Monitor, optional
            Evaluates the model on validation domains (see `validation_`), stops early, or runs callbacks.

        Returns
        -------
        self
        """
        ready = self.ready(X, y, sample_weight, domains=domains, strata=strata, checkpoint=checkpoint, every=every)
        if monitor is not None:
            ready = self._add_monitor(ready, monitor)
        data, options = ready.data, ready.options
        trained = ready.train([self._seed()], ready.numbers, options, ready.first).check()
        self.task_ = data.task
        self.params_ = {n: p[0].cpu().numpy() for n, p in trained.net.unflatten(trained.snapshot.flat).items()}
        self.state_ = {n: value[0].cpu().numpy() for n, value in trained.snapshot.state.items()}
        self.loss_curve_ = trained.curve[:, 0].cpu().numpy()
        if monitor is not None and monitor.validation is not None:
            self.validation_ = evaluations(trained.snapshot, ready.config.monitor, getattr(self, "y_scale_", 1.0))
        if {"eta", "rho", "sigma"} <= set(self.state_):
            unit = getattr(self, "y_scale_", 1.0)
            self.quality_ = quality_table(data, self.state_, self.domains_, self.strata_, unit)
            scheme = str(options.get("scheme", ready.method.name))  # a method from outside may have none
            self.penalties_ = fitted_penalties(self.quality_, self.state_, self.domains_, scheme)
        if data.task == "regression":
            eta = self.state_.get("eta", ready.numbers.get("eta", 0.0))
            strength = collapse_strength(data, np.asarray(eta, dtype=float), str(options.get("reduction")))
            if strength > 2:
                warnings.warn(
                    f"the IRM penalty is strong (η·E[y²] = {strength:.3g}, above 2), so predicting zero everywhere "
                    "is a minimum of the loss; check the predictions, or lower the penalty",
                    CollapseWarning,
                    stacklevel=2,
                )
        return self

    def ready(
        self,
        X: Inputs,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        domains: ArrayLike | None = None,
        strata: ArrayLike | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        every: float = 60.0,
    ) -> Ready:
        """Check and prepare everything that `fit` with the same arguments trains."""
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)  # attributes of an earlier fit
        source = as_source(X)
        if source is not None:
            y, domains, strata = get_labels(source, y, domains, strata, self.verbose)
        rows, target, weight = self._check_rows(X, y, sample_weight)
        encoded, task = self._encode(target, weight)
        domain, self.domains_ = self._check_domains(domains, len(rows))
        self._check_switches()
        method, values = self._method()
        method.check_task(task)
        self.x_mean_, self.x_scale_ = self._moments(rows, weight)
        data = self._data(rows, encoded, domain, weight, task)
        config = replace(self._config(data), checkpoint=checkpoint, every=every)
        build = self._build(data.row_shape, data.n_outputs)
        numbers, options = self._split_values(method, values)
        first = None
        grouping = self._grouping(method, task, strata, fetched=source is not None)
        if method.first_stage is not None:
            if grouping == "search":  # the first stage needs no strata, and the search needs its residuals
                first = first_stage(
                    method, build, data, seeds=[self._seed()], numbers=numbers, options=options, config=config
                )
            data = self._with_strata(data, rows, target, strata, first, grouping)
        return Ready(method, build, data, config, numbers, options, first)

    # --- preparing ----------------------------------------------------------------------------------------------

    def _moments(self, rows: Rows, weight: Array) -> tuple[Array, Array]:
        """Compute mean and deviation of each feature, or of all pixels together if inputs are no table."""
        if not self.standardize or isinstance(rows, Source):
            return np.zeros(1), np.ones(1)
        if rows.ndim == 2:
            return weighted_moments(rows, weight)
        return weighted_moments(rows.reshape(-1, 1), np.repeat(weight, rows[0].size))

    def _data(self, rows: Rows, target: Array, domain: NDArray[np.intp], weight: Array, task: Task) -> Data:
        return make_data(
            self._inputs(rows, self._precision(rows)),
            torch.from_numpy(target),
            torch.from_numpy(domain),
            task=task,
            weight=torch.from_numpy(weight),
            n_classes=len(getattr(self, "classes_", ())),
        )

    def _precision(self, rows: Rows) -> str:
        """Return the name of the type that the training computes in."""
        if self.dtype == "auto":
            if self.device.startswith("mps"):
                return "float32"
            if isinstance(rows, Source):
                double = rows.example.dtype == torch.float64
            else:
                double = rows.dtype != np.float32
            return "float64" if len(rows) <= DOUBLE_ROWS and double else "float32"
        if self.dtype == "bfloat16":
            return "float32"
        if self.dtype not in DTYPES:
            raise InputError(f"dtype must be 'auto', 'float32', 'float64' or 'bfloat16', got {self.dtype!r}")
        return self.dtype

    def _inputs(self, rows: Rows, dtype: str) -> torch.Tensor | Source:
        """Convert rows to the engine's inputs."""
        if isinstance(rows, Source):
            return rows.to(torch.device("cpu"), DTYPES[dtype])
        return torch.from_numpy(self._standardize_rows(rows, dtype))

    def _standardize_rows(self, rows: NDArray[Any], dtype: str) -> NDArray[Any]:
        """Standardise rows; those of a memory-mapped file are written to a file."""
        scaled: NDArray[Any] = (on_disk if is_mapped(rows) else np.empty)(rows.shape, dtype)
        with np.errstate(over="ignore"):  # predictions of such rows are refused
            for part in blocks(len(rows)):
                scaled[part] = (rows[part] - self.x_mean_) / self.x_scale_
        return scaled

    def _config(self, data: Data) -> Config:
        size = self.batch_size
        if size == "auto":
            size = default_batch_size(data.n_rows, data.n_domains)
            size = FETCHED if size is None and isinstance(data.x, Source) else size
        if not (size is None or isinstance(size, int | np.integer)):
            raise InputError(f"batch_size must be an integer, None (all rows) or 'auto', got {size!r}")
        self.dtype_ = str(data.x.dtype).removeprefix("torch.")
        return Config(
            steps=self.steps,
            batch_size=size,
            schedule=self.schedule,
            accumulate=self.accumulate,
            autocast=self.dtype == "bfloat16",
            device=self.device,
            dtype=data.x.dtype,
            compile=self.compile,
            progress=self.verbose,
        )

    def _build(self, row_shape: tuple[int, ...], n_outputs: int) -> Callable[[], nn.Module]:
        if self.module is not None:
            return factory(self.module, row_shape, n_outputs)
        if len(row_shape) != 1:
            raise InputError(f"inputs of shape {row_shape} need your own network: pass module=")
        if not is_widths(self.hidden):
            raise InputError(f"hidden must be the widths of the hidden layers, such as (64, 64), got {self.hidden!r}")
        return partial(mlp, row_shape[0], n_outputs, tuple(self.hidden))

    def _split_values(self, method: Method, values: dict[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
        if self.learning_rate is not None:
            values = {**values, "lr": self.learning_rate}
        return method.fill(values)

    def _grouping(self, method: Method, task: Task, strata: ArrayLike | None, *, fetched: bool) -> str:
        """Return where strata come from; refuse options that would be ignored, and a search of fetched inputs."""
        choice, number = self.grouping, self.n_strata
        if fetched and choice == "search":
            raise InputError("grouping='search' needs all inputs in memory: pass strata, or use 'class' or 'none'")
        choice = "none" if fetched and choice == "auto" and strata is None else choice
        grouping = choose_grouping(choice, classes=task != "regression", given=strata is not None)
        if method.first_stage is None and (self.grouping != "auto" or number is not None):
            raise InputError(f"method {method.name!r} does not use strata: remove grouping and n_strata")
        if number is not None and (strata is not None or grouping != "search"):
            raise InputError(f"n_strata={number} has no effect unless grouping='search'")
        return grouping if strata is None else "given"

    def _with_strata(
        self,
        data: Data,
        rows: Rows,
        target: NDArray[Any],
        strata: ArrayLike | None,
        first: State | None,
        grouping: str,
    ) -> Data:
        """Add strata to the data: those given, found by the residuals, the classes, or one for all."""
        if first is not None and strata is None and not isinstance(rows, Source):
            flat = rows.reshape(len(rows), -1)
            seed = self._seed() if self.random_state is not None else 0
            code, self.strata_ = search_strata(data, flat, first, self.n_strata, seed, self._names(flat))
        else:
            code, self.strata_ = label_rows(strata, target, grouping)
        return make_data(
            data.x,
            data.y,
            data.domain,
            task=data.task,
            stratum=torch.from_numpy(code.astype(np.int64)),
            weight=data.weight,
            n_classes=data.n_classes,
        )

    def rows_like(self, data: Data, X: Inputs, y: ArrayLike, domains: ArrayLike | None) -> Data:
        """Convert other rows to the data of a training that is `ready`; domains are numbered anew."""
        rows = self._checked_inputs(X)
        target = column_or_1d(np.asarray(y))
        if len(target) != len(rows):
            raise InputError(f"the validation data have {len(rows)} rows but {len(target)} targets")
        code = np.zeros(len(rows), np.intp) if domains is None else codes(domains, "domains", len(rows))[0]
        inputs = self._inputs(rows, self.dtype_)
        converted = make_data(
            inputs,
            torch.from_numpy(self._encode_more(target)),
            torch.from_numpy(code),
            task=data.task,
            n_classes=data.n_classes,
        )
        return converted.to(pick_device(self.device), data.x.dtype)

    def _add_monitor(self, ready: Ready, monitor: Monitor) -> Ready:
        """Return the training with a monitor whose validation rows are converted for the network."""
        if monitor.validation is not None:
            X, y, domains = split_validation(monitor.validation)
            names = ("all",) if domains is None else tuple(map(str, codes(domains, "domains", len(y))[1]))
            monitor = replace(monitor, validation=self.rows_like(ready.data, X, y, domains), names=names)
        return replace(ready, config=replace(ready.config, monitor=monitor))

    def with_values(self, method: Method, more: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
        """Return the estimator's values of a method's hyper-parameters, with some replaced."""
        return self._split_values(method, {**self._method()[1], **more})

    # --- predicting ---------------------------------------------------------------------------------------------

    def _outputs(self, X: Inputs) -> torch.Tensor:
        """Compute f(x) for new rows, `(n, c)`."""
        check_is_fitted(self, "params_")
        return self._forward(self._checked_inputs(X))

    def _forward(self, rows: Rows) -> torch.Tensor:
        """Compute f(x) for rows that were checked, `(n, c)`."""
        method, _ = self._method()
        net = self._net(method, tuple(rows.shape[1:]))
        params = {name: torch.as_tensor(value)[None] for name, value in self.params_.items()}
        state = {name: torch.as_tensor(value)[None] for name, value in self.state_.items()}
        x = self._inputs(rows, self.dtype_)
        output = predict(method, net, net.flatten(params), state, x)[0]
        if not (finite := torch.isfinite(output).all(1)).all():
            row = int((~finite).nonzero()[0, 0])
            raise InputError(f"row {row} of X is so far from the training data that no prediction can be computed")
        return output

    def _net(self, method: Method, row_shape: tuple[int, ...]) -> Net:
        n_classes = len(getattr(self, "classes_", ()))
        build = self._build(row_shape, n_classes if self.task_ == "multiclass" else 1)
        _, options = self._split_values(method, self._method()[1])
        return make_net(method, build, len(self.domains_), n_classes, options)

    def save(self, path: str) -> None:
        """Save the fitted model without pickle: parameters as safetensors, the rest as JSON; `rpo.load` reads it.

        Parameters
        ----------
        path : path
            The folder. An existing folder is replaced only if it contains nothing but a model.
        """
        from rpo._networks.network_files import save

        save(self, path)
