"""Loading method directories and contributed classes; identities."""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from pathlib import Path

import pytest

from pytest_mtarena.contestants.loading import describe_options, load_method, wrap_method
from pytest_mtarena.errors import MethodError, MissingExtra
from pytest_mtarena.protocols import Contestant, Identity


def test_the_minimal_class_of_the_documentation_loads_as_written(make_method, ask, entries):
    # It annotates with RunConfig without importing it, and has neither name nor method_card.
    root = make_method(
        """
        class Echo:
            async def translate(self, entries: list[dict], config: RunConfig) -> list[dict]:
                results = []
                for entry in entries:
                    results.append({
                        "id": entry["id"],
                        "predicted": await self.turn(entry["source"]),
                        "latency_s": 0.5,
                        "usage": {"prompt_tokens": 0, "completion_tokens": 0},
                        "error": None,
                        "tool_calls": [],
                        "tool_call_count": 0,
                        "metadata": {},
                    })
                return results

            async def turn(self, text):
                return text.upper()
        """
    )
    made = load_method(root, {})
    assert isinstance(made, Contestant)
    attempts = ask(made, entries)
    assert attempts["a"].output == "ONE"
    assert attempts["a"].latency_seconds == 0.5


def test_identity_comes_from_the_manifest_and_the_content(make_method):
    identity = load_method(
        make_method(
            method_id="mine_2",
            supported_pairs=["eng>por"],
            dependency_class="S",
            dependencies=[],
            **{"class": "pipeline"},
        ),
        {"k": "v"},
    ).identity
    assert identity.name == "Mine"
    assert identity.slug == f"method/mine_2@{identity.content_sha256[:8]}"
    assert identity.label == "mine_2"
    assert identity.facts == {
        "method_class": "pipeline",
        "dependency_class": "S",
        "options": {"k": "v"},
    }
    assert identity.card == {
        "method_id": "mine_2",
        "name": "Mine",
        "class": "pipeline",
        "dependency_class": "S",
        "supported_pairs": ["eng>por"],
    }


def test_a_manifest_with_two_keys_is_enough(make_method):
    identity = load_method(make_method(), {}).identity
    assert identity.label == "mine"
    assert identity.facts == {"method_class": None, "dependency_class": None, "options": {}}


def test_the_content_hash_sees_what_matters_and_nothing_else(make_method):
    def digest(root):
        return load_method(root, {}).identity.content_sha256

    root = make_method(files={"data/words.txt": "a", "pkg/__init__.py": ""})
    first = digest(root)
    for noise in ("__pycache__/x.pyc", ".git/config", ".hidden", "pkg/__pycache__/y.pyc", "z.pyc"):
        (root / noise).parent.mkdir(exist_ok=True)
        (root / noise).write_text("noise")
    assert digest(root) == first
    copy = make_method(directory="elsewhere", files={"data/words.txt": "a", "pkg/__init__.py": ""})
    assert digest(copy) == first
    (root / "data/words.txt").write_text("b")
    changed = digest(root)
    assert changed != first
    (root / "data/words.txt").rename(root / "data/other.txt")
    assert len({first, changed, digest(root)}) == 3


def test_loading_leaves_no_compiled_files_behind(make_method):
    root = make_method("import helper\n" + _ECHO, files={"helper.py": "X = 1\n"})
    load_method(root, {})
    assert sorted(path.name for path in root.iterdir()) == [
        "helper.py",
        "method.json",
        "pipeline.py",
    ]


@pytest.mark.parametrize("kind", ["outside", "broken", "fifo"])
def test_what_cannot_be_hashed_is_refused(make_method, tmp_path, kind):
    root = make_method()
    if kind == "fifo":
        os.mkfifo(root / "odd")
    else:
        target = tmp_path / "secret.txt"
        if kind == "outside":
            target.write_text("x")
        (root / "odd").symlink_to(target if kind == "outside" else root / "gone")
    with pytest.raises(MethodError, match="odd") as caught:
        load_method(root, {})
    assert len(caught.value.problems) == 1


_ECHO = """
class Echo:
    def translate(self, entries, config):
        return [{"id": e["id"], "predicted": e["source"]} for e in entries]
"""


def test_two_methods_with_equal_module_names_do_not_meet(make_method, ask, entries):
    code = """
        import helper
        EAGER = helper.WHO

        class Echo:
            def translate(self, entries, config):
                from helper import WHO as lazy
                import tools.inner as inner
                import tools
                text = f"{EAGER} {lazy} {inner.WHO} {tools.inner.WHO}"
                return [{"id": e["id"], "predicted": text} for e in entries]
        """

    def files(who):
        return {
            "helper.py": f"WHO = {who!r}\n",
            "tools/__init__.py": "",
            "tools/inner.py": "from helper import WHO\n",
        }

    before, modules = list(sys.path), set(sys.modules)
    first = load_method(make_method(code, directory="one", files=files("first")), {})
    second = load_method(make_method(code, directory="two", files=files("second")), {})
    for made, who in ((second, "second"), (first, "first"), (second, "second")):
        assert ask(made, entries)["a"].output == " ".join([who] * 4)
    assert sys.path == before
    assert all(name.startswith("mtarena_method_") for name in set(sys.modules) - modules)


def test_imports_inside_a_directory(make_method, ask, entries):
    code = """
        from __future__ import annotations
        import dataclasses, os.path
        import xml.dom
        from .. import helper
        from ..helper import N
        from helper import *
        from inner import leaf
        import inner.leaf as again

        @dataclasses.dataclass
        class Echo:
            def translate(self, entries, config):
                assert again is leaf and helper.N == N == 3 and os.path.sep
                return [{"id": e["id"], "predicted": leaf.__name__} for e in entries]
        """
    root = make_method(
        code,
        module="pkg.main",
        files={
            "helper.py": "N = 3\n",
            "inner/leaf.py": "",
            "json/readme.txt": "a folder that must not hide the library of this name",
        },
    )
    assert ask(load_method(root, {}), entries)["a"].output.endswith(".inner.leaf")


def test_a_folder_of_data_does_not_hide_an_installed_package(make_method, ask, entries):
    root = make_method(
        """
        import numpy

        class Echo:
            def translate(self, entries, config):
                return [{"id": e["id"], "predicted": str(numpy.add(1, 1))} for e in entries]
        """,
        files={"numpy/weights.txt": "1 2 3"},
    )
    assert ask(load_method(root, {}), entries)["a"].output == "2"


def test_each_load_has_modules_of_its_own(make_method):
    root = make_method(
        "STATE = []\n" + _ECHO + "\n    def __init__(self):\n        STATE.append(1)"
    )
    load_method(root, {})
    made = load_method(root, {})
    module = sys.modules[type(made._translate.__self__).__module__]
    assert module.STATE == [1]


def test_an_edit_within_the_same_second_is_seen(make_method, ask, entries):
    for word in ("aaa", "bbb"):
        root = make_method(_ECHO.replace('e["source"]', repr(word)))
        os.utime(root / "pipeline.py", (1, 1))
        assert ask(load_method(root, {}), entries)["a"].output == word


@pytest.mark.parametrize(
    ("signature", "names"),
    [
        ("self", set()),
        ("self, manifest", {"manifest"}),
        ("self, *, method_dir, options=None", {"method_dir", "options"}),
        ("self, manifest=None, extra=1", {"manifest", "extra"}),
        ("self, **rest", {"manifest", "method_dir", "options"}),
    ],
)
def test_a_constructor_gets_what_its_signature_accepts(make_method, signature, names):
    root = make_method(
        f"""
        class Echo:
            def __init__({signature}):
                self.seen = {{key: value for key, value in locals().items() if key != "self"}}
                self.seen |= self.seen.pop("rest", {{}})

            def translate(self, entries, config):
                return []
        """
    )
    seen = load_method(root, {"k": "v"})._translate.__self__.seen
    assert set(seen) == names
    expected = {"method_dir": root.resolve(), "options": {"k": "v"}, "extra": 1}
    assert {key: seen[key] for key in names & set(expected)} == {
        key: expected[key] for key in names & set(expected)
    }
    if "manifest" in names:
        assert seen["manifest"] == {"name": "Mine", "entry_point": "pipeline:Echo"}


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("class Echo:\n  def __init__(self, model): pass\n", "the constructor needs model"),
        ("class Echo:\n  def __init__(self):\n    {}['k']\n", "KeyError: 'k' (pipeline.py:3"),
        ("class Echo:\n  def __init__(self):\n    int(None)\n", "TypeError"),
        ("class Echo:\n  def __init__(self):\n    raise SystemExit(1)\n", "SystemExit: 1"),
        ("class Echo: pass\n", "has no translate"),
        ("class Echo:\n  translate = 'x'\n", "has no translate"),
        ("class Other: pass\n", "there is no Echo"),
        ("Echo = 3\n", "not callable"),
        ("def broken(:\n", "SyntaxError"),
        ("import does_not_exist_here\n", "ModuleNotFoundError"),
        ("raise SystemExit(4)\n", "SystemExit: 4 (pipeline.py:1"),
        (f"{_ECHO}\n    def method_card(self): return 3\n", "must return a dict"),
        (f"{_ECHO}\n    def method_card(self): return {{'class': 'odd'}}\n", "'odd' is none of"),
        (f"{_ECHO}\n    def method_card(self): 1/0\n", "ZeroDivisionError"),
        (f"{_ECHO}\n    async def method_card(self): return {{}}\n", "must not be async"),
    ],
)
def test_a_method_that_cannot_be_loaded_says_why(make_method, code, words):
    root = make_method(code)
    before = set(sys.modules)
    with pytest.raises(MethodError) as caught:
        load_method(root, {})
    assert words in str(caught.value)
    assert str(root) in str(caught.value)
    left = [sys.modules[name] for name in set(sys.modules) - before]
    own = [one for one in left if str(root) in str(getattr(one, "__file__", None))]
    assert len(own) <= 2, "its package and its module, under private names"


def test_a_missing_module_is_named(make_method):
    with pytest.raises(MethodError, match=r"there is no other\.py"):
        load_method(make_method(entry_point="other:Echo"), {})


def test_a_methods_own_clear_error_passes_through(make_method):
    root = make_method(
        """
        from pytest_mtarena.errors import MissingExtra

        class Echo:
            def __init__(self):
                raise MissingExtra("this method", "demo")
        """
    )
    with pytest.raises(MissingExtra, match=r"pip install 'pytest-mtarena\[demo\]'"):
        load_method(root, {})


def test_a_card_of_its_own_wins_over_the_manifest(make_method):
    spoken = _ECHO + "\n    def method_card(self):\n        return {'author': 'me', 'class': 'api'}"
    assert load_method(make_method(spoken), {}).identity.card == {
        "method_id": "mine",
        "name": "Mine",
        "class": "api",
        "dependency_class": None,
        "author": "me",
    }
    root = make_method(spoken, files={"method_card.json": '{"author": "file", "extra": [1]}'})
    card = load_method(root, {}).identity.card
    assert (card["author"], card["extra"]) == ("file", [1])


def test_options_that_name_files_are_recorded_by_content(tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes(b"abc")
    described = describe_options(
        {"file": str(path), "n": "3", "api_key": "s3cret", "long": "x" * 9999, "nul": "a\0b"}
    )
    assert described == {
        "api_key": "(withheld)",
        "file": {"file": "words.txt", "sha256": hashlib.sha256(b"abc").hexdigest()},
        "long": "x" * 9999,
        "n": "3",
        "nul": "a\0b",
    }
    assert str(tmp_path) not in json.dumps(described)
    assert "s3cret" not in json.dumps(described)


class Shout:
    def __init__(self, options):
        self.mark = options.get("mark", "")

    def translate(self, entries, config):
        return [{"id": e["id"], "predicted": e["source"].upper() + self.mark} for e in entries]


def make_shout(options):
    return Shout(options)


@pytest.mark.parametrize("factory", [Shout, make_shout, functools.partial(make_shout)])
def test_a_contributed_method_is_known_by_its_source_file(factory, ask, entries):
    made = wrap_method("Shout it", factory, {"mark": "!"})
    assert ask(made, entries)["a"].output == "ONE!"
    content = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()
    assert made.identity.content_sha256 == content
    assert made.identity.slug == f"method/shout-it@{content[:8]}"
    assert made.identity.facts["options"] == {"mark": "!"}


def test_a_contributed_contestant_is_taken_as_it_is():
    class Own:
        identity = Identity(name="own", slug="own")

        async def attempt(self, entries, config):
            return []

    own = Own()
    assert wrap_method("own", lambda options: own, {}) is own


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        (lambda options: 3, "has no translate"),
        (lambda options: options["gone"], "KeyError: 'gone' \\(test_loading.py:"),
        (type("Empty", (), {}), "has no translate"),
    ],
)
def test_a_contributed_method_that_does_not_work_is_named(factory, words):
    with pytest.raises(MethodError, match=f"method 'odd': .*{words}"):
        wrap_method("odd", factory, {})


def test_a_method_without_a_source_file_still_has_an_identity():
    made = type("Made", (), {"translate": lambda self, e, c: [], "__module__": "nowhere"})
    other = type("Other", (), {"translate": lambda self, e, c: [], "__module__": "nowhere"})
    slugs = {wrap_method("made", factory, {}).identity.slug for factory in (made, other)}
    assert len(slugs) == 2
