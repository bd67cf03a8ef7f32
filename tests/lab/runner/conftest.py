import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def small():
    """The module `small.py` beside this file."""
    spec = spec_from_file_location("small", Path(__file__).with_name("small.py"))
    module = module_from_spec(spec)
    sys.modules["small"] = module
    spec.loader.exec_module(module)
    return module
