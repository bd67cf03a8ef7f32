"""The engine: one stacked, functional trainer that every method runs on."""

from rpo.engine.callbacks import Callback, CSVLogger, TensorBoardLogger
from rpo.engine.config import Config
from rpo.engine.data import Batch, Data, make_data, stack_data
from rpo.engine.monitor import Monitor
from rpo.engine.nets import Net, Params, cnn, factory, mlp, network
from rpo.engine.source import Source
from rpo.engine.trained import Snapshot, Trained, predict
from rpo.engine.training import Preparation, train

__all__ = [
    "Batch",
    "CSVLogger",
    "Callback",
    "Config",
    "Data",
    "Monitor",
    "Net",
    "Params",
    "Preparation",
    "Snapshot",
    "Source",
    "TensorBoardLogger",
    "Trained",
    "cnn",
    "factory",
    "make_data",
    "mlp",
    "network",
    "predict",
    "stack_data",
    "train",
]
