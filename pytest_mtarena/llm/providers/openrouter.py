"""OpenRouter: the OpenAI form, with the cost of each call in its usage."""

from __future__ import annotations

from pytest_mtarena.llm.chat import ChatRequest
from pytest_mtarena.llm.providers.openai import Compatible
from pytest_mtarena.records import Json


class OpenRouter(Compatible):
    """OpenRouter's endpoint; models are called ``vendor/name``."""

    name = "openrouter"
    base_url = "https://openrouter.ai/api/v1"

    def headers(self, key: str | None) -> dict[str, str]:
        """Return the key as a bearer token, and who asks."""
        return {**super().headers(key), "X-Title": "pytest-mtarena"}

    def body(self, request: ChatRequest, *, stream: bool) -> dict[str, Json]:
        """Return the body; cost is asked for."""
        return {**super().body(request, stream=stream), "usage": {"include": True}}
