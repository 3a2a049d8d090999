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
        """Return the body; cost is asked for.

        A schema is only of use if the host that gets the request knows it, so others are not to
        be chosen then.
        """
        body = super().body(request, stream=stream)
        body["usage"] = {"include": True}
        if request.reply_schema is not None:
            body["provider"] = {"require_parameters": True}
        return body
