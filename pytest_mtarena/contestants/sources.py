"""What a method is made of: hashing its files, and importing them without touching others.

Every load gives a method its own private package, so that two methods may both have a
``helper.py``. Inside the package ``import helper`` finds the method's own file first, at load
time and later. That is done with the ``__import__`` of the modules themselves: ``sys.path`` stays
as it is, and nothing of a method is visible under a plain name. (So it holds for the statement
``import`` only; ``importlib.import_module`` needs the relative name, with ``__package__``.)
"""

from __future__ import annotations

import builtins
import hashlib
import importlib
import itertools
import os
import shutil
import stat
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader, SourcelessFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from pytest_mtarena.errors import MethodError
from pytest_mtarena.records import RunConfig

_CHUNK = 1 << 20
_loads = itertools.count(1)


def hash_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def hash_directory(directory: Path) -> str:
    """Return the SHA-256, in hex, over the sorted relative paths and the bytes of all files.

    Hidden files and compiled Python do not count. A link that leads outside, a broken link or a
    special file is a MethodError: what it stands for could change without the hash changing.
    """
    root = directory.resolve()
    digest = hashlib.sha256()
    problems: list[str] = []
    for path, target in _walk(root, problems):
        name = path.relative_to(root).as_posix()
        if target is not None:
            body = f"-> {target}"
        else:
            try:
                body = hash_file(path)
            except OSError as error:
                problems.append(f"{name}: cannot be read: {error.strerror}")
                continue
        digest.update(os.fsencode(name) + b"\0" + body.encode() + b"\0")
    if problems:
        raise MethodError(directory, problems)
    return digest.hexdigest()


def copy_directory(source: Path, target: Path) -> None:
    """Copy what ``hash_directory`` counts, and nothing else: the copy has the same hash.

    Links to files become files. Raises MethodError as hash_directory does, OSError when something
    cannot be read or written.
    """
    root = source.resolve()
    problems: list[str] = []
    found = _walk(root, problems)
    if problems:
        raise MethodError(source, problems)
    target.mkdir(parents=True)
    for path, linked in found:
        copy = target / path.relative_to(root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if linked is None:
            shutil.copy(path, copy)
        else:
            copy.symlink_to(os.path.relpath(root / linked, path.parent), target_is_directory=True)


def _walk(root: Path, problems: list[str]) -> list[tuple[Path, str | None]]:
    """Return files, and links to directories with their target, in the order of their paths."""
    found: list[tuple[Path, str | None]] = []
    for parent, directories, files in os.walk(root):
        directories[:] = [
            name for name in directories if not name.startswith(".") and name != "__pycache__"
        ]
        for name in [*files, *directories]:
            path = Path(parent, name)
            if name.startswith(".") or name.endswith((".pyc", ".pyo")):
                continue
            if path.is_symlink():
                target = path.resolve()
                if not target.is_relative_to(root):
                    problems.append(f"{path.relative_to(root)}: the link leads outside")
                elif target.is_dir():
                    found.append((path, target.relative_to(root).as_posix()))
                    continue
            if name in directories:
                continue
            if not path.exists():
                problems.append(f"{path.relative_to(root)}: the link is broken")
            elif not stat.S_ISREG(path.stat().st_mode):
                problems.append(f"{path.relative_to(root)}: neither a file nor a directory")
            else:
                found.append((path, None))
    return sorted(found, key=lambda item: item[0].relative_to(root).as_posix())


def import_private(directory: Path, module: str, label: str) -> ModuleType:
    """Import a module of a directory into a private package of its own.

    Raises whatever the module raises; ModuleNotFoundError when the directory has no such module.
    """
    package = f"mtarena_method_{label.replace('-', '_')}_{next(_loads)}"
    finder = _Finder(package, directory.resolve())
    sys.meta_path.insert(0, finder)
    try:
        return importlib.import_module(f"{package}.{module}")
    except BaseException:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
            del sys.modules[name]
        raise


class _Finder(MetaPathFinder):
    """Finds the modules of one private package, in one directory only."""

    def __init__(self, package: str, directory: Path) -> None:
        self._package = package
        self._directory = str(directory)
        self._builtins = {
            **vars(builtins),
            "__import__": self._import,
            # Examples annotate with this name without importing it.
            "RunConfig": RunConfig,
        }
        self._own: dict[str, bool] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == self._package:
            package = ModuleSpec(fullname, None, is_package=True)
            package.submodule_search_locations = [self._directory]
            return package
        if not fullname.startswith(f"{self._package}."):
            return None
        spec = PathFinder.find_spec(fullname, path)
        if spec is None:
            return None
        if isinstance(spec.loader, SourcelessFileLoader):
            raise ImportError(f"{spec.origin}: compiled Python without its source", name=fullname)
        if isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(fullname, spec.loader.path, self._builtins)
        return spec

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> Any:
        plain: Callable[..., Any] = builtins.__import__
        top = name.partition(".")[0]
        if level or not self._has(top):
            return plain(name, globals, locals, fromlist, level)
        private = f"{self._package}.{name}"
        if fromlist:
            return plain(private, globals, locals, fromlist, 0)
        importlib.import_module(private)
        return sys.modules[f"{self._package}.{top}"]

    def _has(self, top: str) -> bool:
        """Say whether a top-level name is a module of the directory."""
        if top not in self._own:
            spec = PathFinder.find_spec(f"{self._package}.{top}", [self._directory])
            if spec is not None and spec.loader is None:
                # A bare folder of data must not hide an installed package of that name.
                own = PathFinder.find_spec(top) is None and top not in sys.builtin_module_names
            else:
                own = spec is not None
            self._own[top] = own
        return self._own[top]


class _Loader(SourceFileLoader):
    """Compiles from source every time, so that what runs is what was hashed."""

    def __init__(self, fullname: str, path: str, own_builtins: dict[str, Any]) -> None:
        super().__init__(fullname, path)
        self._own_builtins = own_builtins

    def get_code(self, fullname: str) -> CodeType | None:
        code = self.source_to_code(self.get_data(self.path), self.path)
        return code if isinstance(code, CodeType) else None

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = self._own_builtins
        super().exec_module(module)
