"""Language models as contestants: ``--mt-model`` and what belongs to it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_mtarena.contestants.kept import Kept
from pytest_mtarena.contestants.model import READING_VERSION, ModelContestant
from pytest_mtarena.contestants.revising import RevisingContestant
from pytest_mtarena.contestants.tools import Toolbox
from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.breaker import Breaker
from pytest_mtarena.llm.budget import Budget, Toll
from pytest_mtarena.llm.cache import CachingChat, Store
from pytest_mtarena.llm.champollion import readable_coaching
from pytest_mtarena.llm.chat import Chat, ChatReply, ChatRequest
from pytest_mtarena.llm.client import ProviderChat
from pytest_mtarena.llm.ledger import Ledger
from pytest_mtarena.llm.names import ModelName, find_aliases, resolve_models
from pytest_mtarena.llm.prices import (
    OPENROUTER_MODELS,
    Cost,
    Pricer,
    PriceTable,
    Rate,
    fetch_openrouter,
    read_prices,
)
from pytest_mtarena.llm.prompts import Builder, Prompt, make_prompt
from pytest_mtarena.llm.retry import Gate
from pytest_mtarena.plugin.settings import ModelSettings, Settings
from pytest_mtarena.protocols import Identity
from pytest_mtarena.records import Json
from pytest_mtarena.referee.review import fst_review
from pytest_mtarena.registry import Registry

PRICE_LIST = OPENROUTER_MODELS
"""Where OpenRouter's current prices are."""


class Purse:
    """What all models of a session share, whatever they are asked for."""

    def __init__(
        self, max_cost: float | None, workers: int, share: int, ledger: Ledger | None = None
    ) -> None:
        """The limit of costs is that of the whole session: of all models and all workers.

        ``share`` is how many calls of a model may be out at once in this process. Workers that
        can share no ``ledger`` divide the limit.
        """
        self.budget: Budget | None = None
        if max_cost is not None:
            part = max_cost / workers if ledger is None else max_cost
            self.budget = Budget(part, ledger)
        self.breaker = Breaker()
        self.share = share
        self._gates: dict[str, Gate] = {}
        self._live: Mapping[str, Rate] | None = None

    def live_prices(self, settings: Settings) -> Mapping[str, Rate]:
        """Return OpenRouter's list where it decides something; fetched once, empty when offline."""
        asked = settings.model
        if asked.provider != "openrouter" or asked.base_url is not None:
            return {}
        if asked.max_cost is None and not settings.dry_run:
            return {}  # OpenRouter itself says what each call cost
        if self._live is None:
            self._live = asyncio.run(_fetch(PRICE_LIST))
        return self._live

    def gate(self, model: str) -> Gate:
        """Return the limit of calls of a model, the same for all of its suites."""
        if model not in self._gates:
            self._gates[model] = Gate(self.share)
            if self.budget is not None:
                self._gates[model].on_lost = self.budget.lose
        return self._gates[model]


def load_models(
    settings: Settings, purse: Purse, registry: Registry
) -> list[ModelContestant | RevisingContestant]:
    """Return a contestant for every model that was asked for; raises UsageError."""
    asked = settings.model
    if not asked.models:
        return []
    names = resolve_models(
        ",".join(asked.models),
        asked.provider,
        aliases=find_aliases(Path.cwd()),
        custom_endpoint=asked.base_url is not None,
    )
    prompt = _prompt(asked, registry.prompts())
    tools = Toolbox(registry.tools(asked.tools_list or None)) if asked.tools else None
    file = {} if asked.prices is None else read_prices(asked.prices)
    table = PriceTable(file=file, openrouter=purse.live_prices(settings))
    pricer = Pricer(asked.provider, table=table, base_url=asked.base_url)
    if asked.max_cost is not None and not asked.allow_unknown_cost:
        _require_prices(names, pricer, table, settings)
    made = [_contestant(name, settings, prompt, tools, pricer, purse) for name in names]
    if not asked.fst_retries:
        return list(made)
    review = fst_review(settings.scoring.resources)
    return [RevisingContestant(one, review, asked.fst_retries) for one in made]


async def _fetch(url: str) -> Mapping[str, Rate]:
    import aiohttp

    async with aiohttp.ClientSession(trust_env=True) as session:
        return await fetch_openrouter(session, url=url)


def _require_prices(
    names: Sequence[ModelName], pricer: Pricer, table: PriceTable, settings: Settings
) -> None:
    """Raise UsageError for models whose calls have no upper bound: no limit could hold."""
    asked = settings.model
    for name in names:
        probe = ChatRequest(model=name.id, messages=(), max_tokens=settings.max_tokens)
        if pricer.worst_case(probe) is None:
            found = table.find(asked.provider, name.id, asked.base_url)
            why = found if isinstance(found, str) else "its calls have no upper bound"
            raise UsageError(
                f"--mt-max-cost: {why}, and unknown is not free: give a price with --mt-prices "
                "FILE, or send it all the same with --mt-allow-unknown-cost"
            )


def _contestant(
    name: ModelName,
    settings: Settings,
    prompt: Prompt,
    tools: Toolbox | None,
    pricer: Pricer,
    purse: Purse,
) -> ModelContestant:
    asked = settings.model
    gate = purse.gate(name.id)
    toll = None
    if purse.budget is not None:
        toll = Toll(
            purse.budget,
            pricer.worst_case,
            pricer.cost_of,
            allow_unknown=asked.allow_unknown_cost,
        )
    provider = ProviderChat(
        asked.provider,
        base_url=asked.base_url,
        timeout=settings.timeout_seconds,
        breaker=purse.breaker,
        toll=toll,
        gate=gate,
    )
    facts: dict[str, Json] = {
        **provider.facts,
        "reading": READING_VERSION,
        "keyed": asked.keyed,
        "prompt": prompt.name,
        "coaching_sha256": hashlib.sha256(prompt.coaching.encode()).hexdigest()
        if prompt.coaching
        else None,
    }
    if tools is not None:
        facts["tools"] = {**tools.facts, "max_rounds": asked.max_tool_rounds}
    told = {"register": prompt.tone, "prompt_context": prompt.context, "gender": prompt.gender}
    facts |= {name: text for name, text in told.items() if text}
    further: Chat = provider
    kept = None
    if asked.cache_dir is not None:
        further = CachingChat(provider, asked.cache_dir, parser_version=READING_VERSION)
        how = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
        kept = Kept(Store(asked.cache_dir), {"model": name.id, **how, **facts})
    content = hashlib.sha256(
        json.dumps({"model": name.id, **facts}, sort_keys=True).encode()
    ).hexdigest()

    def cost_of(reply: ChatReply) -> Cost:
        return pricer.cost(ChatRequest(model=name.id, messages=()), reply)

    return ModelContestant(
        provider,
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
        tools=tools,
        max_tool_rounds=asked.max_tool_rounds,
        gate=gate,
        as_given=name.given,
        notes=[name.note] if name.note else [],
        kept=kept,
        further=further,
        together=purse.share,
    )


def _prompt(asked: ModelSettings, more: Mapping[str, Builder]) -> Prompt:
    coaching = asked.coaching or ""
    if asked.coaching_file is not None:
        try:
            coaching = asked.coaching_file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"--mt-coaching-file {asked.coaching_file}: {error}") from None
        if not coaching.strip():
            raise UsageError(f"--mt-coaching-file {asked.coaching_file}: there is no text in it")
    if coaching and asked.prompt == "naive":
        raise UsageError(
            "--mt-prompt=naive has no place for coaching: leave one of them out, or take "
            "--mt-prompt=custom or champollion"
        )
    name = asked.prompt or ("custom" if coaching else "naive")
    source = asked.coaching_file
    if name == "champollion":
        coaching = readable_coaching(coaching, "--mt-coaching" if source is None else source.name)
    prompt = make_prompt(
        name,
        coaching=coaching,
        tone=asked.tone,
        context=asked.context,
        gender=asked.gender,
        more=more,
    )
    return prompt.model_copy(update={"coaching_file": source and source.name})
