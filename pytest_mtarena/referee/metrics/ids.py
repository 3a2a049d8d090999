"""The ids of the package's metrics, and how much of a text each looks at. Nothing heavy."""

from __future__ import annotations

NON_FINITE = "non-finite"
NO_VALUE = "no value"
"""Reasons for a value that is not there."""

CHRF_CHARACTERS = 20_000
BLEU_CHARACTERS = 20_000
TER_CHARACTERS = 2_000

LIMITS = {
    "chrf_plus_plus": CHRF_CHARACTERS,
    "chrf": CHRF_CHARACTERS,
    "bleu": BLEU_CHARACTERS,
    "ter": TER_CHARACTERS,
}
"""Metric id to the number of characters of a side that it looks at."""

IDS = (
    "chrf_plus_plus",
    "chrf",
    "bleu",
    "ter",
    "exact_match_rate",
    "exact_match_strict",
    "exact_match_lenient",
    "length_ratio",
    "length_ratio_total",
)
"""The string metrics: they have a value for every entry, and fields of their own in a row."""

MORE_IDS = (
    "spbleu",
    "equivalent_match_rate",
    "fst_acceptance_rate",
    "morphological_accuracy",
    "orthographic_accuracy",
    "semantic_score",
    "comet_score",
    "code_switching_rate",
    "hallucination_rate",
    "hallucination_rate_legacy",
    "terminology_adherence",
    "consistency_score",
    "compliance_index",
    "repair_effectiveness",
    "style_consistency_rate",
)
"""The others of the package."""

EVERY_ID = (*IDS, *MORE_IDS)

RESOURCES_OF = {
    "fst_acceptance_rate": ("fst",),
    "morphological_accuracy": ("fst",),
    "orthographic_accuracy": ("cards_dir",),
    "semantic_score": ("semantic_model",),
    "comet_score": ("comet_model",),
    "code_switching_rate": ("language_id", "cards_dir"),
    "hallucination_rate": ("language_id", "cards_dir"),
    "terminology_adherence": ("glossary",),
    "consistency_score": ("glossary",),
    "compliance_index": ("cards_dir",),
    "repair_effectiveness": ("cards_dir",),
    "style_consistency_rate": ("style_profile", "cards_dir"),
}
"""Metric to the resources that its values hang on."""
