"""What the metrics of one run are made for: two languages, and the resources that were given."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_mtarena.records import LanguageFacts, Resources


@dataclass(frozen=True)
class Setting:
    """Where metrics will work. A metric that lacks something says so in ``missing``."""

    source: LanguageFacts = field(default_factory=LanguageFacts)
    target: LanguageFacts = field(default_factory=LanguageFacts)
    unsegmented: bool = False
    """Whether the target language is written without spaces between words."""
    resources: Resources = field(default_factory=Resources)

    @property
    def has_cards(self) -> bool:
        """Whether a language card of the user says something of either language."""
        return bool(self.source.card or self.target.card)
