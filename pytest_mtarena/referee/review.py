"""What a morphological analyser says of a text before it is graded: for ``--mt-fst-retries``."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pytest_mtarena.errors import UsageError
from pytest_mtarena.records import Resources, RunConfig
from pytest_mtarena.referee.analysers import Reader
from pytest_mtarena.referee.metrics.fst import reader_for, tally
from pytest_mtarena.referee.setting import Setting


def fst_review(resources: Resources) -> Callable[[str, RunConfig], Sequence[str]]:
    """Return what names the words of an output that the target language's analyser rejects.

    At most 20 words. It raises UsageError for a language without an analyser.
    """
    from pytest_mtarena.languages.table import find_language

    readers: dict[tuple[str, str], Reader] = {}

    def rejected(output: str, config: RunConfig) -> Sequence[str]:
        key = (config.target_code, config.target_lang)
        if key not in readers:
            setting = Setting(target=find_language(*key), resources=resources)
            reader, why = reader_for(setting)
            if reader is None:
                raise UsageError(f"--mt-fst-retries: {why}")
            readers[key] = reader
        return tally(readers[key], output).rejected

    return rejected
