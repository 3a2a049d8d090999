"""The one normalisation that all metrics share."""

from __future__ import annotations

import unicodedata
from typing import Literal

Normalization = Literal["NFC", "none"]


def normalise(text: str, form: Normalization) -> str:
    """Return the text as the metrics see it; ``none`` leaves it as it came."""
    return unicodedata.normalize(form, text) if form != "none" else text


def is_blank(text: str | None) -> bool:
    """Say whether there is nothing to score: None, empty, or white space only."""
    return text is None or not text.strip()
