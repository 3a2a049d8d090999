"""Making contestants: from a method directory, or from a class that a plug-in contributes."""

from __future__ import annotations

import functools
import hashlib
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

from pytest_mtarena.contestants.calling import describe, one_line
from pytest_mtarena.contestants.exchange import contract, plain_json
from pytest_mtarena.contestants.manifest import (
    MANIFEST,
    Manifest,
    card_problems,
    make_method_id,
    read_manifest,
)
from pytest_mtarena.contestants.method import MethodContestant, fresh
from pytest_mtarena.contestants.sources import hash_directory, hash_file, import_private
from pytest_mtarena.errors import ArenaError, MethodError
from pytest_mtarena.protocols import Calibrating, Contestant, ContestantFactory, Identity, Metric
from pytest_mtarena.records import Json

_SECRET = re.compile(r"(^|[_-])(key|apikey|token|secret|password)s?$", re.I)


def load_method(directory: Path, options: Mapping[str, str]) -> MethodContestant:
    """Load the method of a directory with ``method.json``.

    The directory's files are hashed before anything of them runs. Every problem is a MethodError.
    """
    manifest = read_manifest(directory)
    directory = manifest.directory  # of a plug-in that was exported, the method inside
    content = hash_directory(directory)
    root = directory.resolve()
    factory = _import_class(manifest, root, manifest.module, manifest.attribute)
    offered: dict[str, Any] = {
        "manifest": fresh(dict(manifest.raw)),
        "method_dir": root,
        "options": dict(options),
    }
    subject = _construct(factory, offered, where=directory, home=root)
    function = _function_of(subject)
    if function is None:
        raise MethodError(
            directory / MANIFEST,
            f"{manifest.attribute} has no translate(entries, config); {contract()}",
        )
    identity = Identity(
        name=manifest.name,
        slug=_slug(manifest.method_id, content),
        content_sha256=content,
        label=manifest.method_id,
        card=_card(subject, manifest, home=root),
        facts={
            "method_class": manifest.method_class,
            "dependency_class": manifest.dependency_class,
            "options": describe_options(options),
        },
    )
    return MethodContestant(
        getattr(subject, function),
        identity,
        home=root,
        function=function,
        metrics=_load_metrics(manifest, root),
    )


def wrap_method(
    name: str, factory: ContestantFactory | type, options: Mapping[str, str]
) -> Contestant:
    """Make a contestant from a contributed class or callable.

    Its content hash is that of the file which defines it. A callable may also return a contestant
    of its own, which is taken as it is.
    """
    where = f"method {name!r}"
    source = _source_of(factory)
    if isinstance(factory, type):
        offered = {"manifest": {"name": name}, "options": dict(options)}
        subject = _construct(factory, offered, where=where, home=source)
    else:
        subject = _guarded(lambda: factory(dict(options)), where, source)
    if isinstance(getattr(subject, "identity", None), Identity) and callable(
        getattr(subject, "attempt", None)
    ):
        return cast(Contestant, subject)
    function = _function_of(subject)
    if function is None:
        raise MethodError(where, f"it has no translate(entries, config); {contract()}")
    method_id = make_method_id(name)
    if source is not None:
        content = hash_file(source)
    else:
        content = hashlib.sha256(_qualified_name(factory).encode()).hexdigest()
    card: dict[str, Json] = {"method_id": method_id, "name": name, "class": None}
    described = _described_card(subject, where, source)
    identity = Identity(
        name=name,
        slug=_slug(method_id, content),
        content_sha256=content,
        label=method_id,
        card={**card, **(described or {})},
        facts={
            "method_class": (described or {}).get("class"),
            "dependency_class": None,
            "options": describe_options(options),
        },
    )
    return MethodContestant(getattr(subject, function), identity, home=source, function=function)


def describe_options(options: Mapping[str, str]) -> dict[str, Json]:
    """Return options as a card may show them: files by name and hash, secrets not at all."""
    described: dict[str, Json] = {}
    for key, value in sorted(options.items()):
        if _SECRET.search(key):
            described[key] = "(withheld)"
            continue
        path = Path(value)
        try:
            is_file = path.is_file()
            described[key] = {"file": path.name, "sha256": hash_file(path)} if is_file else value
        except (OSError, ValueError):  # too long for a name, or not readable: a plain value
            described[key] = value
    return described


def _slug(method_id: str, content: str) -> str:
    return f"method/{method_id}@{content[:8]}"


def _load_metrics(manifest: Manifest, root: Path) -> dict[str, Metric]:
    """Return the metrics that a method brings, by id.

    They judge this method only. None may be calibrated: it would be shown the references before
    the method that lives in the same directory has answered.
    """
    where = manifest.directory / MANIFEST
    found: dict[str, Metric] = {}
    for module, attribute in manifest.metrics:
        made = _import_class(manifest, root, module, attribute)
        metric = _construct(made, {}, where=where, home=root) if isinstance(made, type) else made
        name = f"metric_plugins: {module}:{attribute}"
        if not isinstance(metric, Metric):
            raise MethodError(where, f"{name} is no metric: see docs/extending.md")
        if isinstance(metric, Calibrating):
            raise MethodError(where, f"{name}: a method's own metric cannot be calibrated")
        if metric.id in found:
            raise MethodError(where, f"{name}: the metric {metric.id!r} is there twice")
        found[metric.id] = metric
    return found


def _import_class(
    manifest: Manifest, root: Path, module: str, attribute: str
) -> Callable[..., Any]:
    where = manifest.directory / MANIFEST
    try:
        found = import_private(root, module, make_method_id(manifest.method_id))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module may raise anything while it is imported
        if isinstance(error, ModuleNotFoundError) and str(error.name).endswith(f".{module}"):
            raise MethodError(
                where, f"entry_point: there is no {module.replace('.', '/')}.py beside it"
            ) from error
        raise _failure(where, f"entry_point: importing {module} failed", error, root) from error
    value = getattr(found, attribute, None)
    if not callable(value) and not isinstance(value, Metric):
        what = "there is no" if value is None else "not callable:"
        raise MethodError(where, f"entry_point: {what} {attribute} in {module}.py")
    return cast(Callable[..., Any], value)


def _construct(
    factory: Callable[..., Any], offered: Mapping[str, Any], *, where: Path | str, home: Path | None
) -> Any:
    """Call a constructor with those of the offered arguments that its signature accepts."""
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):  # a class written in C without a signature
        parameters = []
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    by_name = {
        parameter.name
        for parameter in parameters
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    }
    wanting = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        and (parameter.name not in offered or parameter.kind is parameter.POSITIONAL_ONLY)
    ]
    if wanting:
        raise MethodError(
            where,
            f"the constructor needs {', '.join(wanting)}, but it can only be given "
            f"{', '.join(offered)}",
        )
    accepted = {key: value for key, value in offered.items() if takes_all or key in by_name}
    return _guarded(lambda: factory(**accepted), where, home)


def _guarded(make: Callable[[], Any], where: Path | str, home: Path | None) -> Any:
    try:
        return make()
    except (KeyboardInterrupt, ArenaError):
        raise  # ours, or a method's own clear message such as MissingExtra
    except BaseException as error:
        raise _failure(where, "the constructor failed", error, home) from error


def _failure(where: Path | str, what: str, error: BaseException, home: Path | None) -> MethodError:
    fault = describe(error, home)
    frames = f"\n{fault.traceback}" if fault.traceback else ""
    return MethodError(where, f"{what}: {fault.message}{frames}")


def _function_of(subject: object) -> str | None:
    """Return which function of a method makes attempts."""
    for name in ("translate", "attempt"):
        if callable(getattr(subject, name, None)):
            return name
    return None


def _card(subject: object, manifest: Manifest, home: Path) -> dict[str, Json]:
    if manifest.card is not None:
        return manifest.complete_card(manifest.card)
    described = _described_card(subject, manifest.directory, home)
    if described is None:
        return manifest.default_card()
    problems = card_problems(described, manifest.raw, manifest.dependency_class)
    if problems:
        raise MethodError(manifest.directory, [f"method_card(): {text}" for text in problems])
    return manifest.complete_card(described)


def _described_card(
    subject: object, where: Path | str, home: Path | None
) -> dict[str, Json] | None:
    """Return what a method's own ``method_card()`` says; None when there is none."""
    describe_itself = getattr(subject, "method_card", None)
    if not callable(describe_itself):
        return None
    try:
        card = describe_itself()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise _failure(where, "method_card() failed", error, home) from error
    if isinstance(card, Awaitable):
        if inspect.iscoroutine(card):
            card.close()
        raise MethodError(where, "method_card() must not be async")
    if card is None:
        return None
    if not isinstance(card, dict):
        raise MethodError(where, f"method_card() must return a dict, not {type(card).__name__}")
    try:
        return cast(dict[str, Json], plain_json(card))
    except ValueError as error:
        raise MethodError(where, f"method_card(): {one_line(error)}") from error


def _source_of(factory: Any) -> Path | None:
    """Return the file that defines a class or callable; None when there is none."""
    while isinstance(factory, functools.partial):
        factory = factory.func
    for candidate in (factory, type(factory)):
        try:
            path = Path(inspect.getsourcefile(candidate) or "")
        except TypeError:
            continue
        if path.is_file():
            return path
    return None


def _qualified_name(factory: Any) -> str:
    return f"{getattr(factory, '__module__', '')}:{getattr(factory, '__qualname__', factory)}"
