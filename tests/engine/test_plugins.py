"""Methods from outside: of a package, of a module, of a notebook; refused, broken, and carried to other processes."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from rpo.engine.method import UNSEEN, get_method
from rpo.engine.plugins import check_same, format_error, load_plugin, pack_methods, unpack_methods
from rpo.exceptions import InputError

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_method"
METHOD = '''
"""Mine: a method of mine."""
from rpo.methods import BOTH, log_uniform, method
from rpo.methods.terms import risk


def twice(value):
    return 2 * value


{decorate}@method({name!r}, tasks=BOTH, space={{"c": log_uniform(1.0, 0.1, 10.0, "A number.")}}, cite="me")
{decorate}def mine(net, params, state, batch, hp):
{decorate}    """2c mean_e R_e"""
{decorate}    return {{"risk": hp.c * twice(risk(net(params, batch.x), batch, hp.task))}}
'''


@pytest.fixture
def module(tmp_path, monkeypatch, registry):
    """Write a module that can be imported; gone afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    written = []

    def write(name, text):
        tmp_path.joinpath(f"{name}.py").write_text(text)
        written.append(name)
        return name

    yield write
    for name in written:
        sys.modules.pop(name, None)


def code(name="mine", inside=False):
    text = METHOD.format(name=name, decorate="    " if inside else "")
    if inside:
        text = text.replace("    @method", "def register():\n    @method")
    return text


def in_a_new_process(folder, script):
    """What a script says that finds only this folder beside what is installed."""
    words = [sys.executable, "-W", "error", "-c", dedent(script)]
    return subprocess.run(words, capture_output=True, text=True, check=False, cwd=folder)


def test_a_module_registers_its_methods(module):
    load_plugin(module("outside_1", code()))
    found = get_method("mine")
    assert (found.summary, found.formula) == ("Mine: a method of mine.", "2c mean_e R_e")
    assert list(found.space) == ["c", "lr"]


def test_a_function_is_called_and_a_method_is_not(module):
    load_plugin(module("outside_2", code(inside=True)) + ":register")
    assert get_method("mine").cite == "me"
    load_plugin(module("outside_3", code("mine-3")) + ":mine")
    assert get_method("mine-3").cite == "me"


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("outside_4", "1/0", "'outside_4' could not be loaded (ZeroDivisionError: division by zero)"),
        ("outside_5", "import nowhere", "(ModuleNotFoundError: No module named 'nowhere')"),
        ("outside_6:absent", "", "has no attribute 'absent'"),
        ("outside_7", code("vrex"), "a method 'vrex' is already registered (in rpo.methods.vrex): use another name"),
    ],
)
def test_what_cannot_be_loaded_is_one_line(module, name, text, said):
    module(name.partition(":")[0], text)
    with pytest.raises(InputError) as error:
        load_plugin(name)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_the_same_module_may_define_a_method_again_and_its_source_tells_them_apart(module, registry):
    name = module("outside_8", code())
    load_plugin(name)
    first = get_method("mine").source
    module("outside_8", code().replace("2 * value", "3 * value"))
    del sys.modules["outside_8"]
    load_plugin(name)
    assert len(first) == 16
    assert first != get_method("mine").source
    assert get_method("rpo").source == ""  # ours has a version instead
    with pytest.raises(InputError, match="method 'mine' differs from the one the study was started with"):
        check_same(get_method("mine"), first)


def test_code_that_nobody_can_read_is_still_from_outside(registry):
    names = {"__name__": "__main__"}
    exec(code("typed"), names)
    assert get_method("typed").source == UNSEEN
    assert get_method("typed").summary == "typed: a method of your own."


def test_an_installed_package_is_found_and_a_broken_one_is_named(tmp_path):
    """Two distributions as an installer leaves them: the example, and one whose import fails."""
    for package, text, value in (
        ("rpo_vrex", (EXAMPLE / "rpo_vrex" / "__init__.py").read_text(), "my-vrex = rpo_vrex"),
        ("rpo_broken", "import nowhere", "broken = rpo_broken"),
    ):
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        info.joinpath("METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        info.joinpath("entry_points.txt").write_text(f"[rpo.methods]\n{value}\n")
        tmp_path.joinpath(f"{package}.py").write_text(text)
    done = in_a_new_process(
        tmp_path,
        """
        from rpo.engine.plugins import pack_methods
        from rpo.methods import get_method
        print(get_method("my-vrex").space["beta"].default, pack_methods())
        try:
            get_method("magic")
        except ValueError as error:
            print(error)
        """,
    )
    assert done.returncode == 0, done.stderr
    found, unknown = done.stdout.splitlines()
    assert found == "10.0 b''"  # every worker finds what is installed by itself
    assert unknown.endswith("plugin 'rpo_broken' could not be loaded (ModuleNotFoundError: No module named 'nowhere')")


def test_the_example_names_its_module_as_an_entry_point():
    import tomllib

    project = tomllib.loads((EXAMPLE / "pyproject.toml").read_text())["project"]
    assert project["entry-points"] == {"rpo.methods": {"my-vrex": "rpo_vrex"}}


def test_a_method_travels_with_its_code_to_a_process_that_has_no_such_module(module, registry, tmp_path):
    load_plugin(module("outside_9", code()))
    carried = pack_methods()
    (tmp_path / "elsewhere").mkdir()
    done = in_a_new_process(
        tmp_path / "elsewhere",
        f"""
        import torch
        from rpo.engine import Config, make_data, mlp, train
        from rpo.engine.plugins import unpack_methods
        unpack_methods({carried!r})
        x = torch.arange(12.0)[:, None] / 12
        data = make_data(x, x[:, 0], torch.arange(12) % 2, task="regression")
        print(float(train("mine", lambda: mlp(1, 1, (2,)), data, seeds=[0], config=Config(steps=3)).curve[-1]))
        """,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) > 0
    del registry["mine"]
    unpack_methods(carried)
    assert registry["mine"].name == "mine"


def test_nothing_is_sent_where_there_is_nothing_of_ones_own(registry):
    assert pack_methods() == b""
    unpack_methods(b"")


def test_a_method_that_cannot_be_sent_is_one_line(module, registry):
    text = code().replace(
        "def twice(value):", "import threading\nlock = threading.Lock()\n\n\ndef twice(value):\n    lock"
    )
    load_plugin(module("outside_10", text))
    with pytest.raises(InputError, match="mine cannot be sent to worker processes .*: use jobs=1, or install"):
        pack_methods()


def test_an_error_is_said_on_one_line():
    assert format_error(ValueError("a\nb")) == "ValueError: a b"
