"""Rule-based translation with Apertium, as Debian and Ubuntu package it.

Each batch gets a fresh pipeline of Apertium's programs, which lives only as long as the batch:
nothing carries over from one batch to the next. Every segment is followed by a blank that names
its number, and the answer must bring all numbers back in order, so that a pipeline which swallows
or adds a segment is an error and never a shift.

The translation direction follows the suite's language codes; the option ``mode=NAME`` overrides
it. ``apt-get install apertium apertium-pt-gl`` (for example) installs what is needed.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

from pytest_mtarena.errors import UsageError

MODES = Path("/usr/share/apertium/modes")
PROGRAMS = ("bash", "apertium-wblank-mode", "lt-proc")
STOP_SECONDS = 0.5
"""How long the programs have to end by themselves before they are killed."""
_SPECIAL = re.compile(r"[\[\]{}^$/\\@<>]")
_TILDES = re.compile("~+")  # the last program eats them, escaped or not, unless they are a blank
_ENCODED = re.compile(r"\\(.)|\[(~+)\]", re.DOTALL)
# A full stop ends the sentence, as it would for any document; the blank behind it has the number.
_END = ".[][segment {}]"

ALIASES = {
    "afr": "af", "arg": "an", "ara": "ar", "bel": "be", "bos": "hbs_BS", "bre": "br", "bul": "bg",
    "cat": "ca", "cym": "cy", "dan": "da", "deu": "de", "eng": "en", "epo": "eo", "eus": "eu",
    "fra": "fr", "glg": "gl", "hin": "hi", "hrv": "hbs_HR", "ind": "id", "isl": "is", "ita": "it",
    "kaz": "kk", "mkd": "mk", "mlt": "mt", "nld": "nl", "nno": "nn", "nob": "nb", "oci": "oc",
    "pol": "pl", "por": "pt", "ron": "ro", "rus": "ru", "slv": "sl", "spa": "es", "srp": "hbs_SR",
    "swe": "sv", "tat": "tt", "tur": "tr", "ukr": "uk", "urd": "ur", "zsm": "zlm",
}  # fmt: skip
"""The names that Apertium's modes may use instead of ISO 639-3."""


class Apertium:
    """Translates a batch with one pipeline; batches may run side by side."""

    def __init__(self, options):
        missing = [program for program in PROGRAMS if shutil.which(program) is None]
        if missing:
            raise UsageError(
                f"the method apertium needs {', '.join(missing)}: apt-get install apertium"
            )
        self._mode = options.get("mode")

    async def translate(self, entries, config):
        mode = self._mode or find_mode(config.source_code, config.target_code)
        sources = [entry["source"] for entry in entries]
        try:
            outcomes = await translate_all(mode, sources)
        except PipelineError as error:
            if len(sources) == 1:
                return [{"id": entries[0]["id"], "error": str(error)}]
            # One text may have brought the pipeline down: each gets a pipeline of its own.
            outcomes = [await translate_one(mode, source) for source in sources]
        return [
            {"id": entry["id"], "error": str(outcome)}
            if isinstance(outcome, PipelineError)
            else {"id": entry["id"], "predicted": outcome, "cost_usd": 0.0}
            for entry, outcome in zip(entries, outcomes, strict=True)
        ]


class PipelineError(Exception):
    """A pipeline that failed, or whose answer does not match the question."""


def find_mode(source, target):
    """Return the name of the installed mode for a pair of codes; LookupError names the package."""
    names = [f"{one}-{other}" for one in spellings(source) for other in spellings(target)]
    for name in names:
        if (MODES / f"{name}.mode").is_file():
            return name
    short = f"{spellings(source)[-1]}-{spellings(target)[-1]}"
    long = f"{spellings(source)[0]}-{spellings(target)[0]}"
    raise LookupError(
        f"no Apertium mode for {source or '?'}>{target or '?'} is installed "
        f"(looked for {', '.join(names)}): apt-get install apertium-{long} or apertium-{short}; "
        "apt-cache search '^apertium-' lists the pairs that exist, either way round"
    )


def spellings(code):
    """Return the names a language may have in the name of a mode, the given one first."""
    language = code.replace("_", "-").split("-")[0].lower()
    long = next((key for key, value in ALIASES.items() if value == language), None)
    names = [code.replace("-", "_"), language, long, ALIASES.get(language)]
    return list(dict.fromkeys(name for name in names if name)) or [""]


async def translate_one(mode, source):
    try:
        return (await translate_all(mode, [source]))[0]
    except PipelineError as error:
        return error


async def translate_all(mode, sources):
    """Translate texts with one pipeline; PipelineError if it fails as a whole."""
    places = [place for place, source in enumerate(sources) if source.strip()]
    segments = [sources[place].strip() for place in places]
    outcomes = list(sources)
    if not segments:
        return outcomes
    answer = await run(mode, encode(segments))
    for place, text in zip(places, decode(answer, len(segments)), strict=True):
        source = outcomes[place]
        core = source.strip()
        start = source.index(core)
        outcomes[place] = source[:start] + text.strip() + source[start + len(core) :]
    return outcomes


def encode(segments):
    """Return the bytes of a question: escaped segments, each ended by its number and a NUL."""
    return "".join(
        _TILDES.sub(r"[\g<0>]", _SPECIAL.sub(r"\\\g<0>", segment.replace("\0", " ")))
        + f"{_END.format(number)}\0"
        for number, segment in enumerate(segments)
    ).encode()


def decode(answer, count):
    """Return the texts of an answer; PipelineError unless every number came back in order."""
    parts = answer.decode("utf-8", "replace").split("\0")
    texts = []
    for number, part in enumerate(parts[:count]):
        end = _END.format(number)[1:]
        if not part.endswith(end):
            raise PipelineError(f"Apertium lost its place at segment {number + 1} of {count}")
        text = part.removesuffix(end).removesuffix(".")
        texts.append(_ENCODED.sub(lambda match: match[1] or match[2], text))
    if len(texts) < count or any(parts[count:]):  # programs may add empty ones at the end
        raise PipelineError(f"Apertium answered {len(texts)} of {count} segments, or too many")
    return texts


async def run(mode, question):
    """Send bytes through a fresh pipeline and return its answer; nothing of it stays behind."""
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        # The trap lets bash outlive a SIGTERM to the group until it has reaped the programs.
        f"set -o pipefail; trap : TERM\n{pipeline(mode)}",
        "apertium",
        "-n",  # no marks at unknown words
        "",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        answer, complaint = await process.communicate(question)
    finally:
        if process.returncode is None:
            await stop(process)
    if process.returncode != 0:
        said = " ".join(complaint.decode("utf-8", "replace").split())[:300]
        raise PipelineError(
            f"the Apertium pipeline {mode} ended with status {process.returncode}: "
            f"{said or 'it said nothing'}"
        )
    return answer


async def stop(process):
    """End a pipeline with all its programs and wait for it; kill what does not end by itself."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except (ProcessLookupError, TimeoutError):
        pass
    finally:  # also when this is cancelled in its turn
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


@functools.cache
def pipeline(mode):
    """Return the shell command of a mode in the form that flushes at each NUL."""
    path = MODES / f"{mode}.mode"
    if "/" in mode or not path.is_file():
        have = ", ".join(sorted(known.stem for known in MODES.glob("*.mode"))) or "none"
        raise LookupError(f"there is no Apertium mode {mode!r} (installed: {have})")
    done = subprocess.run(
        ["apertium-wblank-mode", "-z", str(path)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0 or not done.stdout.strip():
        raise LookupError(f"apertium-wblank-mode cannot read {path}: {done.stderr.strip()}")
    return done.stdout
