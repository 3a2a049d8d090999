"""Language models as contestants: ``--mt-model`` and what belongs to it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from pytest_mtarena.contestants.model import READING_VERSION, ModelContestant
from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.breaker import Breaker
from pytest_mtarena.llm.budget import Budget, BudgetChat
from pytest_mtarena.llm.cache import CachingChat
from pytest_mtarena.llm.chat import Chat, ChatReply, ChatRequest
from pytest_mtarena.llm.client import ProviderChat
from pytest_mtarena.llm.names import ModelName, find_aliases, resolve_models
from pytest_mtarena.llm.prices import Pricer, PriceTable, read_prices
from pytest_mtarena.llm.prompts import Builder, Prompt, make_prompt
from pytest_mtarena.plugin.settings import ModelSettings, Settings
from pytest_mtarena.protocols import Identity


def load_models(
    settings: Settings, workers: int, prompts: Mapping[str, Builder]
) -> list[ModelContestant]:
    """Return a contestant for every model that was asked for; raises UsageError.

    The limit of costs is that of the whole session: workers divide it, and so do models.
    """
    asked = settings.model
    if not asked.models:
        return []
    names = resolve_models(
        ",".join(asked.models),
        asked.provider,
        aliases=find_aliases(Path.cwd()),
        custom_endpoint=asked.base_url is not None,
    )
    prompt = _prompt(asked, prompts)
    file = {} if asked.prices is None else read_prices(asked.prices)
    pricer = Pricer(asked.provider, table=PriceTable(file=file), base_url=asked.base_url)
    budget = None if asked.max_cost is None else Budget(asked.max_cost / workers)
    breaker = Breaker()
    return [_contestant(name, settings, prompt, pricer, budget, breaker) for name in names]


def _contestant(
    name: ModelName,
    settings: Settings,
    prompt: Prompt,
    pricer: Pricer,
    budget: Budget | None,
    breaker: Breaker,
) -> ModelContestant:
    asked = settings.model
    provider = ProviderChat(
        asked.provider,
        base_url=asked.base_url,
        timeout=settings.timeout_seconds,
        breaker=breaker,
    )
    facts = {
        **provider.facts,
        "reading": READING_VERSION,
        "keyed": asked.keyed,
        "prompt": prompt.name,
        "coaching_sha256": hashlib.sha256(prompt.coaching.encode()).hexdigest()
        if prompt.coaching
        else None,
        "model_as_given": name.given,
    }
    chat: Chat = provider
    if budget is not None:
        chat = BudgetChat(
            chat, budget, pricer.worst_case, pricer.cost_of, allow_unknown=asked.allow_unknown_cost
        )
    if asked.cache_dir is not None:
        chat = CachingChat(chat, asked.cache_dir, parser_version=READING_VERSION)
    content = hashlib.sha256(
        json.dumps({"model": name.id, **facts}, sort_keys=True).encode()
    ).hexdigest()

    def cost_of(reply: ChatReply) -> float | None:
        return pricer.cost_of(ChatRequest(model=name.id, messages=()), reply)

    return ModelContestant(
        chat,
        model=name.id,
        prompt=prompt,
        identity=Identity(
            name=name.id,
            slug=name.id if "/" in name.id else f"{asked.provider}/{name.id}",
            content_sha256=content,
            label=name.id.rpartition("/")[2],
            facts=facts,
        ),
        keyed=asked.keyed,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        cost_of=cost_of,
        worst_case=pricer.worst_case,
    )


def _prompt(asked: ModelSettings, more: Mapping[str, Builder]) -> Prompt:
    coaching = asked.coaching or ""
    if asked.coaching_file is not None:
        try:
            coaching = asked.coaching_file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--mt-coaching-file {asked.coaching_file}: {error}") from None
    name = asked.prompt or ("custom" if coaching else "naive")
    prompt = make_prompt(name, coaching=coaching, more=more)
    file = asked.coaching_file
    return prompt.model_copy(update={"coaching_file": file and file.name})
