"""The hooks of the pluggy project ``mtarena``: everything that can be added from outside.

Implement them with ``@pytest_mtarena.hookimpl`` in

- an installed package, named by an entry point of the group ``mtarena``;
- a module given to pytest with ``-p``;
- a ``conftest.py``. Under xdist the controlling process loads only the conftest files at or above
  the root directory, so what scores a whole run must stand there.

The same hooks are heard when a stored card is scored again outside pytest; there, only entry
points speak.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from pytest_mtarena.llm.prompts import Builder
    from pytest_mtarena.protocols import ContestantFactory, Kind, Metric, PostTranslation

hookspec = pluggy.HookspecMarker("mtarena")
hookimpl = pluggy.HookimplMarker("mtarena")


class Specs:
    """What a plug-in may implement."""

    @hookspec
    def mtarena_methods(self) -> Mapping[str, ContestantFactory | type]:  # type: ignore[empty-body]
        """Return methods by name, for ``--mt-method=NAME``.

        A value is a class with ``translate(entries, config)``, or a callable that takes the
        ``--mt-method-arg`` options and returns such an object or a contestant::

            class Shout:
                def translate(self, entries, config):
                    return [{"id": e["id"], "predicted": e["source"].upper()} for e in entries]

            @pytest_mtarena.hookimpl
            def mtarena_methods():
                return {"shout": Shout}
        """

    @hookspec
    def mtarena_metrics(self) -> Mapping[str, Metric]:  # type: ignore[empty-body]
        """Return metrics by id; each appears in every row, in the card, and in gates.

        ``mean_metric`` makes one from a function of one entry::

            from pytest_mtarena import hookimpl, mean_metric

            def ends_alike(entry):
                return float(entry.output[-1:] == entry.references[0][-1:])

            @hookimpl
            def mtarena_metrics():
                return {"same_ending": mean_metric("same_ending", ends_alike, scale="0-1")}
        """

    @hookspec
    def mtarena_post_translation(self) -> Mapping[str, PostTranslation]:  # type: ignore[empty-body]
        """Return post-translation hooks by name, for ``--mt-hooks NAME,NAME``.

        A hook gets a batch and returns a batch; the raw output is kept beside the result::

            @pytest_mtarena.hookimpl
            def mtarena_post_translation():
                return {"strip": lambda entries, outputs, config: [o.strip() for o in outputs]}

        One with a parameter ``ask`` may ask a language model again: ``ask(entry_id, wish)``.
        """

    @hookspec
    def mtarena_prompts(self) -> Mapping[str, Builder]:  # type: ignore[empty-body]
        """Return system prompts by name, for ``--mt-prompt=NAME``.

        A prompt is a function of what is known of the run: ``source_language``,
        ``target_language``, their codes, and the user's ``coaching``::

            @pytest_mtarena.hookimpl
            def mtarena_prompts():
                return {"terse": lambda run: f"Translate into {run.target_language}. No notes."}
        """

    @hookspec
    def mtarena_tools(self) -> Mapping[str, Callable[..., Any]]:  # type: ignore[empty-body]
        """Return tools for language models by name, for ``--mt-tools``.

        A tool is a function, plain or async, with annotated parameters; its docstring is what the
        model reads. A parameter annotated with ``RunConfig`` gets the run's languages and is not
        shown to the model. What a tool raises is told to the model::

            WORDS = {"house": "casa"}

            def look_up(word: str) -> str:
                \"\"\"Return the translation of an English word.\"\"\"
                return WORDS[word]

            @pytest_mtarena.hookimpl
            def mtarena_tools():
                return {"look_up": look_up}
        """

    @hookspec
    def mtarena_run_card(self, card: dict[str, Any]) -> None:
        """Add to a run card before it is sealed, under ``card["extra"]``.

        Everything else is read-only; a change there is an error that names the plug-in::

            @pytest_mtarena.hookimpl
            def mtarena_run_card(card):
                card["extra"]["ci_job"] = os.environ.get("CI_JOB_ID")
        """

    @hookspec
    def mtarena_kinds(self) -> Mapping[str, Kind]:  # type: ignore[empty-body]
        """Return kinds of case by name: how to read, show, grade and score them.

        ``pytest_mtarena/protocols.py`` says what a kind is; ``tests/plugin/test_second_kind.py``
        builds one in forty lines.
        """
