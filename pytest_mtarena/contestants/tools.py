"""Tools for language models: plain functions, shown to the model and called for it.

A tool is a function whose parameters are annotated; its docstring is what the model reads. What a
model gives is checked against the annotations before the function is called. Whatever goes wrong
(no JSON, a wrong type, an exception, no answer in time) is the answer that the model gets, and
stands in the row: a tool never ends a run.
"""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import re
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pydantic

from pytest_mtarena.contestants.calling import call, clean, one_line
from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.chat import ToolCall
from pytest_mtarena.records import Json, Record, RunConfig
from pytest_mtarena.text import cut

LONGEST = 20_000
"""Characters of an answer that a model is given: it pays for each of them."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
_PROBLEMS = 5


class ToolAnswer(Record):
    """What a model gets for a call."""

    text: str
    """Text, or JSON for anything else than text; for a fault ``{"error": "..."}``."""
    fault: str | None = None
    """What went wrong, on one line; None when the tool answered."""


class Tool:
    """A function and what a model is told of it."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        """Read the signature; raises UsageError for one that no model can be told."""
        if not _NAME.fullmatch(name):
            raise UsageError(f"tool {name!r}: its name needs to be 1-64 letters, digits, _ or -")
        if not callable(function):
            raise UsageError(f"tool {name!r} is {type(function).__name__}, not a function")
        self.name = name
        self._function = function
        self._run: str | None = None
        """The parameter that takes the run's configuration; models do not see it."""
        self._arguments = self._read()

    @property
    def definition(self) -> dict[str, Json]:
        """Return the definition in the OpenAI form."""
        schema = self._arguments.model_json_schema()
        schema.pop("title", None)
        about = inspect.getdoc(self._function) if hasattr(self._function, "__code__") else None
        return {
            "type": "function",
            "function": {"name": self.name, "description": about or "", "parameters": schema},
        }

    async def __call__(self, arguments: str, config: RunConfig, seconds: float) -> ToolAnswer:
        """Call the tool with the JSON that a model wrote; raises only if cancelled."""
        try:
            checked = self._arguments.model_validate_json(arguments or "{}")
        except pydantic.ValidationError as error:
            return _fault(f"bad arguments: {_problems(error)}")
        values = {name: getattr(checked, name) for name in type(checked).model_fields}
        if self._run is not None:
            values[self._run] = config

        def act() -> Any:
            return self._function(**values)

        try:
            # Plain functions run in a thread, and what they return may be awaitable.
            async with asyncio.timeout(seconds):
                value, fault = await call(act, home=_home(self._function))
        except TimeoutError:
            return _fault(f"no answer within {seconds:g} s")
        return _fault(fault.message) if fault is not None else _answer(value)

    def _read(self) -> type[pydantic.BaseModel]:
        """Return the parameters as a model of pydantic."""
        try:
            signature = inspect.signature(self._function)
            hints = typing.get_type_hints(_underlying(self._function), include_extras=True)
        except (TypeError, ValueError, NameError) as error:
            raise UsageError(f"tool {self.name!r}: its signature cannot be read: {error}") from None
        fields: dict[str, Any] = {}
        for name, parameter in signature.parameters.items():
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise UsageError(f"tool {self.name!r}: a model cannot give {parameter}")
            if name not in hints:
                raise UsageError(f"tool {self.name!r}: the parameter {name} has no annotation")
            if hints[name] is RunConfig:
                self._run = name
                continue
            required = parameter.default is parameter.empty
            fields[name] = (hints[name], ... if required else parameter.default)
        try:
            made = pydantic.create_model(
                f"Arguments of {self.name}",
                __config__=pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=False),
                **fields,
            )
            made.model_json_schema()
        except (pydantic.PydanticUserError, NameError) as error:
            what = one_line(error)
            raise UsageError(f"tool {self.name!r}: its parameters have no schema: {what}") from None
        return made


class Toolbox:
    """The tools of a run, by name."""

    def __init__(self, tools: Mapping[str, Callable[..., Any]]) -> None:
        """Read all signatures; raises UsageError."""
        self._tools = {name: Tool(name, function) for name, function in tools.items()}

    @property
    def definitions(self) -> tuple[Mapping[str, Json], ...]:
        """Return the definitions in the OpenAI form, sorted by name."""
        return tuple(self._tools[name].definition for name in sorted(self._tools))

    @property
    def facts(self) -> dict[str, Json]:
        """Return the names, and the SHA-256 of what the model is told of them."""
        told = json.dumps(self.definitions, sort_keys=True).encode()
        return {"names": sorted(self._tools), "sha256": hashlib.sha256(told).hexdigest()}

    async def answer(self, asked: ToolCall, config: RunConfig, seconds: float) -> ToolAnswer:
        """Answer a call; raises only if cancelled."""
        tool = self._tools.get(asked.name)
        if tool is None:
            known = ", ".join(sorted(self._tools))
            return _fault(f"there is no tool {cut(asked.name, 60)!r}; there are: {known}")
        return await tool(asked.arguments, config, seconds)


def _answer(value: object) -> ToolAnswer:
    if not isinstance(value, str):
        try:
            value = json.dumps(value, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            return _fault(f"the tool returned no JSON: {one_line(error)}")
    text = clean(str.__str__(value))
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n[cut: {len(text) - LONGEST} more characters]"
    return ToolAnswer(text=text)


def _fault(message: str) -> ToolAnswer:
    return ToolAnswer(text=json.dumps({"error": message}, ensure_ascii=False), fault=message)


def _problems(error: pydantic.ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    said = [
        f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}"
        for one in found[:_PROBLEMS]
    ]
    more = len(found) - len(said)
    return clean("; ".join(said)) + (f"; and {more} more" if more else "")


def _underlying(function: Callable[..., Any]) -> Any:
    """Return what has the annotations: the function itself, or an object's ``__call__``."""
    plain = inspect.unwrap(function)
    return plain if inspect.isroutine(plain) else type(plain).__call__


def _home(function: Callable[..., Any]) -> Path | None:
    try:
        return Path(inspect.getfile(inspect.unwrap(function)))
    except TypeError:
        return None
