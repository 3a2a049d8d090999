"""What calls cost: prices from a user's file, OpenRouter's list and the package genai-prices.

Where a price is looked for, in this order:

1. the user's file (``read_prices``),
2. loopback: an endpoint on this machine costs nothing,
3. OpenRouter's own list (``fetch_openrouter``), for calls to OpenRouter,
4. the data of PyPI ``genai-prices``, which comes with the installed package and needs no network.

A price that is not found is unknown: None and a reason, never 0. Prices are US dollars for a
million tokens, amounts US dollars. Cached tokens are part of the prompt tokens and reasoning tokens
part of the completion tokens, so each token is paid once.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from pydantic import Field

from pytest_mtarena.errors import UsageError
from pytest_mtarena.llm.chat import ChatReply, ChatRequest, Usage
from pytest_mtarena.records import Json, Record
from pytest_mtarena.text import cut, printable

if TYPE_CHECKING:
    import aiohttp
    from genai_prices.types import ModelInfo, ModelPrice, Provider

MILLION = Decimal(1_000_000)

OPENROUTER_MODELS = "https://openrouter.ai/api/v1/models"
"""OpenRouter's public list of models with prices; it needs no key."""
LIST_BYTES = 32 * 1024 * 1024
"""A longer list is not read."""

DATA_NAMES = {"gemini": "google"}
"""Our name of a provider to the name that genai-prices has for it, where they differ."""

TOKENS_A_CALL = 64
TOKENS_A_MESSAGE = 16
TOKENS_FOR_TOOLS = 1024
"""What providers add around messages and around tools or a reply schema, estimated from above."""


class Cost(Record):
    """What one call cost."""

    usd: float | None = None
    """Computed from tokens and prices; None: unknown."""
    source: str = ""
    """Where the price is from: ``file``, ``loopback``, ``openrouter``, ``genai-prices 0.2.3``;
    empty without a price."""
    reason: str = ""
    """Why ``usd`` is None, one line."""
    reported_usd: float | None = None
    """What the provider itself says that the call cost; None when it says nothing."""

    @property
    def best_usd(self) -> float | None:
        """The provider's own figure where there is one, else the computed one; None: unknown."""
        return self.usd if self.reported_usd is None else self.reported_usd


class Estimate(Record):
    """What calls will take, before they are made."""

    calls: int = 0
    kept: int = 0
    """Entries that are answered from the cache."""
    prompt_tokens: int = 0
    """About; see ``tokens_about``."""
    completion_tokens: int = 0
    usd: float | None = 0.0
    """About, in US dollars; None: unknown."""
    most_usd: float | None = 0.0
    """At most; None: unknown."""
    dearest_usd: float = 0.0
    """The most that one of the calls can cost, as far as it is known."""

    def plus(self, more: Estimate) -> Estimate:
        """Return both together; what is unknown of one is unknown of both."""
        return Estimate(
            calls=self.calls + more.calls,
            kept=self.kept + more.kept,
            prompt_tokens=self.prompt_tokens + more.prompt_tokens,
            completion_tokens=self.completion_tokens + more.completion_tokens,
            usd=None if self.usd is None or more.usd is None else self.usd + more.usd,
            most_usd=None
            if self.most_usd is None or more.most_usd is None
            else self.most_usd + more.most_usd,
            dearest_usd=max(self.dearest_usd, more.dearest_usd),
        )


def tokens_about(text: str) -> int:
    """Return about how many tokens a text has: four letters of ASCII a token, else one and a half.

    Tokenizers differ by half and more on languages with little data: it is for estimates only.
    """
    plain = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    return math.ceil(plain / 4 + (len(text) - plain) / 1.5)


class Rate(Record):
    """Prices of a model, US dollars for a million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of prompt tokens that the provider had in its cache; None: as other prompt tokens."""
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of prompt tokens that the provider puts into its cache; used for the worst case alone."""
    reasoning: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of reasoning tokens; None: as other completion tokens."""
    request: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """US dollars for each call, beside its tokens."""

    def usd(self, prompt: int, cached: int, completion: int, reasoning: int) -> Decimal:
        """Return what a call costs: cached is part of prompt, reasoning part of completion."""
        cached_price = self.input if self.cached is None else self.cached
        reasoning_price = self.output if self.reasoning is None else self.reasoning
        tokens = (
            _exact(self.input) * (prompt - cached)
            + _exact(cached_price) * cached
            + _exact(self.output) * (completion - reasoning)
            + _exact(reasoning_price) * reasoning
        )
        return tokens / MILLION + _exact(self.request)

    def most(self, prompt: int, completion: int) -> Decimal:
        """Return the most that a call of so many tokens can cost, in US dollars."""
        dearest_input = max(self.input, self.cached or 0.0, self.cache_write or 0.0)
        dearest_output = max(self.output, self.reasoning or 0.0)
        dearest = Rate(input=dearest_input, output=dearest_output, request=self.request)
        return dearest.usd(prompt, 0, completion, 0)


class Price(Protocol):
    """Something that knows what a model's tokens cost; ``Rate`` is one."""

    def usd(self, prompt: int, cached: int, completion: int, reasoning: int) -> Decimal: ...

    def most(self, prompt: int, completion: int) -> Decimal: ...


class PriceTable(Record):
    """The prices of a run, beside those of genai-prices."""

    file: Mapping[str, Rate] = Field(default_factory=dict)
    """The user's: a model as the provider calls it, or ``provider:model``, to its prices."""
    openrouter: Mapping[str, Rate] = Field(default_factory=dict)
    """OpenRouter's list; empty when it was not fetched."""
    packaged: bool = True
    """Whether genai-prices is asked."""

    def find(
        self, provider: str, model: str, base_url: str | None = None
    ) -> tuple[Price, str] | str:
        """Return a model's prices and where they are from, or the reason why there are none."""
        for name in (f"{provider}:{model}", model):
            if name in self.file:
                return self.file[name], "file"
        if is_loopback(base_url):
            return FREE, "loopback"
        routed = provider == "openrouter" if base_url is None else _is_openrouter(base_url)
        if routed and model in self.openrouter:
            return self.openrouter[model], "openrouter"
        if self.packaged:
            return _packaged(provider, model, base_url)
        return f"no price of {_shown(model)} is known"


FREE = Rate(input=0, output=0)


def price_of(
    provider: str,
    model: str,
    usage: Usage | None,
    *,
    table: PriceTable,
    base_url: str | None = None,
) -> Cost:
    """Return what a call cost; an unknown price is None with the reason, never 0.

    ``base_url`` is the endpoint's when it is not the provider's own. Raises nothing.
    """
    reported = None if usage is None else _amount(usage.cost_usd)
    found = table.find(provider, model, base_url)
    if isinstance(found, str):
        return Cost(reason=found, reported_usd=reported)
    price, source = found
    if source == "loopback":
        return Cost(usd=0.0, source=source, reported_usd=reported)
    counts = _counts(usage)
    if isinstance(counts, str):
        return Cost(reason=counts, reported_usd=reported)
    try:
        usd = float(price.usd(*counts))
    except (ValueError, ArithmeticError) as error:
        return Cost(reason=f"no price for these tokens: {_shown(error)}", reported_usd=reported)
    return Cost(usd=usd, source=source, reported_usd=reported)


class Pricer:
    """Prices of the calls to one endpoint, in the form that a budget takes."""

    def __init__(self, provider: str, *, table: PriceTable, base_url: str | None = None) -> None:
        self._provider = provider
        self._table = table
        self._base_url = base_url
        self._charging: set[str] = set()
        """Models at an endpoint on this machine that turned out to cost something: a gateway."""

    def cost(self, request: ChatRequest, reply: ChatReply) -> Cost:
        """Return what a call cost, at the prices of the model that was asked for."""
        cost = price_of(
            self._provider,
            request.model,
            reply.usage,
            table=self._table,
            base_url=self._base_url,
        )
        if cost.source == "loopback" and cost.reported_usd:
            self._charging.add(request.model)
        return cost

    def cost_of(self, request: ChatRequest, reply: ChatReply) -> float | None:
        """Return what a call cost in US dollars, as the provider reports it or as computed."""
        return self.cost(request, reply).best_usd

    def worst_case(self, request: ChatRequest) -> float | None:
        """Return the most that a call can cost in US dollars; None: unknown.

        Without ``max_tokens`` nothing bounds a reply, so that only a free call has a worst case.
        """
        found = self._table.find(self._provider, request.model, self._base_url)
        if isinstance(found, str):
            return None
        price, source = found
        if source == "loopback":
            return None if request.model in self._charging else 0.0
        prompt = prompt_tokens_at_most(request)
        try:
            if request.max_tokens is not None:
                return float(price.most(prompt, request.max_tokens))
            # Where a million tokens more cost nothing, the length of the reply does not matter.
            least, more = price.most(prompt, 0), price.most(prompt, 1_000_000)
            return float(least) if least == more else None
        except (ValueError, ArithmeticError):
            return None


def prompt_tokens_at_most(request: ChatRequest) -> int:
    """Return a number of tokens that the prompt cannot exceed.

    No token of a text is shorter than one byte of its UTF-8; what a provider adds is estimated
    from above.
    """
    tokens = TOKENS_A_CALL
    for message in request.messages:
        tokens += TOKENS_A_MESSAGE + _bytes(message.content) + _bytes(message.tool_call_id or "")
        for call in message.tool_calls:
            tokens += TOKENS_A_MESSAGE
            tokens += _bytes(call.id) + _bytes(call.name) + _bytes(call.arguments)
    if request.tools or request.reply_schema is not None:
        tokens += TOKENS_FOR_TOOLS + _bytes(request.reply_schema_name or "")
        tokens += _bytes(json.dumps([*request.tools, request.reply_schema], ensure_ascii=False))
    return tokens


def is_loopback(base_url: str | None) -> bool:
    """Return whether an endpoint is on this machine (``localhost``, 127.0.0.0/8, ``::1``)."""
    host = _host(base_url)
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def read_prices(path: Path) -> dict[str, Rate]:
    """Return the prices of a user's file; raises UsageError that says what is wrong where.

    The file is a JSON object: a model as the provider calls it, or ``provider:model``, to an
    object with ``input`` and ``output``, and where they differ ``cached``, ``cache_write`` and
    ``reasoning`` (US dollars for a million tokens), and ``request`` (US dollars for each call).
    Names that begin with ``_`` are comments.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=_without_repeats)
    except OSError as error:
        raise UsageError(f"{path}: cannot read the prices: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: prices have to be JSON: {error.msg}") from None
    except (ValueError, RecursionError):
        raise UsageError(f"{path}: prices have to be JSON in UTF-8") from None
    except _RepeatedName as error:
        raise UsageError(f"{path}: {_shown(error)} stands there twice; keep one") from None
    if not isinstance(data, dict):
        raise UsageError(f'{path}: prices have to be an object: {{"MODEL": {_EXAMPLE}}}')
    return {name: _rate(path, name, it) for name, it in data.items() if not name.startswith("_")}


_EXAMPLE = '{"input": 1.25, "output": 10}'


def _rate(path: Path, name: str, data: Json) -> Rate:
    where = f"{path}: {_shown(name)}"
    if not isinstance(data, dict):
        raise UsageError(f"{where}: has to be an object such as {_EXAMPLE}")
    known = list(Rate.model_fields)
    for key, value in data.items():
        if key.startswith("_"):
            continue
        if key not in known:
            raise UsageError(f"{where}: unknown key {_shown(key)}; known: {', '.join(known)}")
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not number or not 0 <= value < 1e9:
            raise UsageError(f"{where}: {key} has to be a number of US dollars, 0 or more")
    missing = [key for key in ("input", "output") if key not in data]
    if missing:
        raise UsageError(f"{where}: {' and '.join(missing)} missing; a free model says 0")
    return Rate(**{key: value for key, value in data.items() if key in known})


async def fetch_openrouter(
    session: aiohttp.ClientSession, *, url: str = OPENROUTER_MODELS, timeout: float = 3.0
) -> dict[str, Rate]:
    """Return OpenRouter's current prices by model id; empty when the list cannot be had.

    Being offline, a slow or a broken list are no errors: the other prices are used then.
    ``timeout`` is in seconds, for all of it. No key is sent.
    """
    import aiohttp

    try:
        async with asyncio.timeout(timeout), session.get(url) as answer:
            if answer.status != 200:
                return {}
            body = bytearray()
            async for piece in answer.content.iter_chunked(65536):
                body += piece
                if len(body) > LIST_BYTES:
                    return {}
        models = json.loads(body)["data"]
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError, LookupError, TypeError):
        return {}
    except RecursionError:
        return {}
    return _openrouter_rates(models) if isinstance(models, list) else {}


def _openrouter_rates(models: list[Json]) -> dict[str, Rate]:
    rates: dict[str, Rate] = {}
    aliases: dict[str, Rate] = {}
    for model in models:
        if not isinstance(model, dict) or not isinstance(model.get("id"), str):
            continue
        rate = _openrouter_rate(model.get("pricing"))
        if rate is not None:
            rates[model["id"]] = rate
            if isinstance(model.get("canonical_slug"), str):
                aliases.setdefault(model["canonical_slug"], rate)
    # The dated slug of a free variant is that of the paid one: a model's own id goes before.
    return aliases | rates


def _openrouter_rate(pricing: Json) -> Rate | None:
    """Return the prices of one model: strings of US dollars a token; None where they vary (-1)."""
    if not isinstance(pricing, dict):
        return None
    wanted = {
        "input": "prompt",
        "output": "completion",
        "cached": "input_cache_read",
        "cache_write": "input_cache_write",
        "reasoning": "internal_reasoning",
    }
    prices: dict[str, float] = {}
    for ours, theirs in wanted.items():
        price = _listed(pricing.get(theirs))
        # A 0 beside a price means "not separate" there; prompt and completion say what they mean.
        if price is not None and (price > 0 or ours in ("input", "output")):
            prices[ours] = float(price * MILLION)
    if "input" not in prices or "output" not in prices:
        return None
    return Rate(**prices, request=float(_listed(pricing.get("request")) or 0))


def _listed(value: Json) -> Decimal | None:
    """Return a price of the list; None when it is none."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    try:
        price = Decimal(str(value))
    except InvalidOperation:
        return None
    return price if price.is_finite() and 0 <= price < 1000 else None


class _Packaged:
    """The prices that genai-prices has for a model."""

    def __init__(self, provider: Provider, model: ModelInfo) -> None:
        self._provider = provider
        self._model = model
        self._prices: ModelPrice | None = None

    def usd(self, prompt: int, cached: int, completion: int, reasoning: int) -> Decimal:
        from genai_prices import Usage as Tokens

        tokens = Tokens(
            input_tokens=prompt,
            cache_read_tokens=cached,
            output_tokens=completion,
            output_reasoning_tokens=reasoning,
        )
        return self._model.calc_price(tokens, self._provider).total_price

    def most(self, prompt: int, completion: int) -> Decimal:
        from genai_prices import Usage as Tokens

        prices = self.prices()
        writes = [0] if prices.cache_write_mtok is None else [0, prompt]
        reasons = [0] if prices.output_reasoning_mtok is None else [0, completion]
        usages = [
            Tokens(
                input_tokens=prompt,
                cache_write_tokens=written,
                output_tokens=completion,
                output_reasoning_tokens=reasoned,
            )
            for written in writes
            for reasoned in reasons
        ]
        return max(self._model.calc_price(one, self._provider).total_price for one in usages)

    def prices(self) -> ModelPrice:
        """Return the prices that hold now."""
        if self._prices is None:
            from genai_prices import Usage as Tokens

            nothing = Tokens(input_tokens=0, output_tokens=0)
            self._prices = self._model.calc_price(nothing, self._provider).model_price
        return self._prices


def _packaged(provider: str, model: str, base_url: str | None) -> tuple[Price, str] | str:
    """Return what genai-prices knows of a model."""
    try:
        import genai_prices
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        return "no price data: pip install genai-prices"
    # An endpoint of the user's own may serve anything under any name: its address decides.
    name = None if base_url is not None else DATA_NAMES.get(provider, provider)
    try:
        found = _Packaged(*get_snapshot().find_provider_model(model, None, name, base_url))
        prices = found.prices()
    except (LookupError, ValueError):
        return f"no price of {_shown(model)} is known for this endpoint"
    # Models without a price of tokens are in the data too, and would count as free.
    if prices.input_mtok is None or prices.output_mtok is None:
        return f"genai-prices has {_shown(model)} without a price for tokens"
    return found, f"genai-prices {genai_prices.__version__}"


def _counts(usage: Usage | None) -> tuple[int, int, int, int] | str:
    """Return prompt, cached, completion and reasoning tokens, or why they cannot be priced."""
    if usage is None:
        return "the provider reported no usage"
    prompt, completion = usage.prompt_tokens, usage.completion_tokens
    if prompt is None or completion is None:
        return "the provider reported only a part of the usage"
    cached, reasoning = usage.cached_tokens or 0, usage.reasoning_tokens or 0
    if not 0 <= cached <= prompt or not 0 <= reasoning <= completion:
        return (
            f"token counts contradict each other: prompt {prompt} (cached {cached}), "
            f"completion {completion} (reasoning {reasoning})"
        )
    return prompt, cached, completion, reasoning


def _amount(usd: float | None) -> float | None:
    """Return a reported amount; None when it is none that money can have."""
    return usd if usd is not None and math.isfinite(usd) and usd >= 0 else None


def _exact(price: float) -> Decimal:
    """Return the decimal number that was written: 0.1 is a tenth."""
    return Decimal(repr(price))


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _host(base_url: str | None) -> str:
    try:
        return (urlsplit(base_url or "").hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def _is_openrouter(base_url: str | None) -> bool:
    host = _host(base_url)
    return host == "openrouter.ai" or host.endswith(".openrouter.ai")


def _shown(what: object) -> str:
    return cut(printable(str(what)), 80)


class _RepeatedName(Exception):
    """A JSON object has a name twice."""


def _without_repeats(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    seen: dict[str, Json] = {}
    for name, value in pairs:
        if name in seen:
            raise _RepeatedName(name)
        seen[name] = value
    return seen
