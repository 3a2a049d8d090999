"""chrF, chrF++, BLEU and TER against sacreBLEU itself, to the last digit."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.lib_ter import BeamEditDistance, translation_edit_rate
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer
from translation_making import inputs_of, streams

from pytest_mtarena.referee.metrics import ngrams
from pytest_mtarena.referee.metrics.bleu import Bleu
from pytest_mtarena.referee.metrics.builtin import make_builtin
from pytest_mtarena.referee.metrics.chrf import make_chrf, split_words
from pytest_mtarena.referee.metrics.edits import _distances, count_edits
from pytest_mtarena.referee.metrics.ids import LIMITS
from pytest_mtarena.referee.metrics.ter import Ter

OURS = make_builtin("13a", asian=False)
THEIRS = {"chrf_plus_plus": CHRF(word_order=2), "chrf": CHRF(), "bleu": BLEU(), "ter": TER()}
SENTENCE = {**THEIRS, "bleu": BLEU(effective_order=True)}

alphabet = st.sampled_from(list("abcABÁáß .,!?'\"-%&<>1290\n\t漢字かなกไ\u0301\u2028\ud800😀"))
texts = st.text(alphabet, max_size=40)
references = st.text(alphabet, min_size=1, max_size=40)
corpora = st.lists(
    st.tuples(texts, st.lists(references, min_size=1, max_size=3)), min_size=1, max_size=6
)

LAPPS = [
    ("Mun boađán odne.", ["Mun boađán ihttin."]),
    ("Beaivváš báitá", ["Beaivváš báitá.", "Báitá beaivváš"]),
    ("", ["Giitu eatnat"]),
    ("  giitu  ", ["Giitu!", "Giitu", "Giitu dutnje"]),
    ("(dat) lea 1,5 km - ja 50%.", ["Dat lea 1.5 km, ja (50 %)."]),
    ("guokte\nlinnjá\ttabuin", ["guokte\nlinnjá\ttabuin"]),
]


def corpus(name, pairs):
    metric = OURS[name]
    inputs = inputs_of(*pairs)
    rows = metric.statistics(inputs)
    return float(metric.score(rows.sum(axis=0)[None])[0]), list(metric.entry(inputs, rows))


@pytest.mark.parametrize("name", THEIRS)
def test_scores_are_those_of_sacrebleu(name):
    ours, entries = corpus(name, LAPPS)
    outputs = [output for output, _ in LAPPS]
    several = [refs for _, refs in LAPPS]
    assert ours == THEIRS[name].corpus_score(outputs, streams(several)).score
    expected = [SENTENCE[name].sentence_score(output, refs).score for output, refs in LAPPS]
    assert entries == [min(score, 100.0) if name != "ter" else score for score in expected]


@settings(max_examples=120, deadline=None)
@given(corpora)
def test_any_corpus_scores_as_in_sacrebleu(pairs):
    outputs = [output for output, _ in pairs]
    several = [refs for _, refs in pairs]
    for name, theirs in THEIRS.items():
        ours, _ = corpus(name, pairs)
        expected = theirs.corpus_score(outputs, streams(several)).score
        assert ours == (expected if name == "ter" else min(expected, 100.0)), name


def test_batches_do_not_matter():
    rng = random.Random(3)
    pairs = [(_words(rng, 9), [_words(rng, 9)]) for _ in range(150)]
    for name, metric in OURS.items():
        whole = metric.statistics(inputs_of(*pairs))
        parts = [metric.statistics(inputs_of(*pairs[i : i + 7])) for i in range(0, 150, 7)]
        assert np.array_equal(whole, np.vstack(parts)), name


def _words(rng, size):
    return " ".join("".join(rng.choices("aeik", k=rng.randint(1, 4))) for _ in range(size))


def test_both_chrfs_count_once(monkeypatch):
    plus, plain = make_chrf()
    inputs = inputs_of(*LAPPS)
    plus.statistics(inputs)
    monkeypatch.setattr("pytest_mtarena.referee.metrics.chrf._count", None)
    assert plain.statistics(inputs).shape == (len(LAPPS), 18)
    with pytest.raises(TypeError):
        plain.statistics(inputs[1:])


@pytest.mark.parametrize("word", ["a", "a.", ".a", "(hi)", "..", "a-b", "’a"])
def test_words_are_split_as_in_sacrebleu(word):
    assert split_words(f"x {word}") == CHRF(word_order=2)._remove_punctuation(f"x {word}")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(1, 5), max_size=30), st.lists(st.integers(1, 2000), max_size=30)
        ),
        min_size=1,
        max_size=70,
    ),
    st.integers(1, 7),
)
def test_packed_counts_are_those_of_dictionaries(pairs, order):
    arrays = [(np.array(a, np.int64), np.array(b, np.int64)) for a, b in pairs]
    expected = [ngrams.shared_plain(a, [b], order) for a, b in pairs]
    assert ngrams.shared(arrays, order).tolist() == expected


def test_an_alphabet_too_large_to_pack_is_counted_all_the_same():
    rng = random.Random(4)
    signs = [chr(code) for code in range(0x4E00, 0x4E00 + 1500)]
    output, reference = "".join(rng.choices(signs, k=4000)), "".join(rng.choices(signs, k=4000))
    ours, _ = corpus("chrf", [(output, [reference]), ("漢", ["漢字"])])
    assert ours == CHRF().corpus_score([output, "漢"], [[reference, "漢字"]]).score


def test_a_perfect_short_entry_has_bleu_100_and_no_more():
    pairs = [("Mun boađán .", ["Mun boađán ."]), ("a b c d e", ["a b c d e"]), ("yes", ["no"])]
    assert corpus("bleu", pairs)[1] == [100.0, 100.0, 0.0]
    assert BLEU(effective_order=True).sentence_score(*pairs[0]).score > 100
    assert corpus("bleu", pairs[:1])[0] == 0.0


def test_bleu_with_another_tokenizer():
    output, reference = "我喜欢读书", "我很喜欢读书"
    metric = Bleu("zh")
    rows = metric.statistics(inputs_of((output, [reference])))
    assert metric.score(rows)[0] == BLEU(tokenize="zh").corpus_score([output], [[reference]]).score
    assert "tok:zh" in metric.signature


def test_ter_counts_signs_with_asian_support():
    output, reference = "私は本を読む", "私は本を買う"
    metric = Ter(asian=True)
    rows = metric.statistics(inputs_of((output, [reference])))
    theirs = TER(normalized=True, asian_support=True).corpus_score([output], [[reference]])
    assert metric.score(rows)[0] == theirs.score < 100
    assert "asian:yes" in metric.signature


phrases = st.lists(st.sampled_from("abcdefgh"), max_size=25)


@settings(max_examples=150, deadline=None)
@given(phrases, phrases, st.permutations(range(6)))
def test_edits_are_those_of_sacrebleu(output, reference, order):
    assert count_edits(output, reference) == translation_edit_rate(output, reference)[0]
    # Blocks of the reference in another order: shifts are what is best here.
    size = max(1, len(reference) // 6)
    moved = [word for i in order for word in reference[i * size : (i + 1) * size]]
    assert count_edits(moved, reference) == translation_edit_rate(moved, reference)[0]


@pytest.mark.parametrize(("words", "seed"), [(45, 1), (60, 2), (80, 3)])
def test_edits_of_long_texts_beyond_the_beam(words, seed):
    rng = random.Random(seed)
    reference = [f"w{rng.randrange(40)}" for _ in range(words)]
    output = [f"w{rng.randrange(40)}" for _ in range(words // 2)]
    assert count_edits(output, reference) == translation_edit_rate(output, reference)[0]
    assert count_edits(reference, output) == translation_edit_rate(reference, output)[0]
    output = reference[20:] + reference[:20]
    assert count_edits(output, reference) == translation_edit_rate(output, reference)[0] < words


@pytest.mark.parametrize("name", LIMITS)
def test_what_is_beyond_the_limit_does_not_count(name):
    limit = LIMITS[name]
    start = "ab " * (limit // 3) + "xy"[: limit % 3]
    assert len(start) == limit
    metric = OURS[name]
    within, beyond = metric.statistics(inputs_of((start, ["ab"]), (start + "cd" * limit, ["ab"])))
    assert np.array_equal(within, beyond)
    shorter = metric.statistics(inputs_of((start[:-4], ["ab"])))[0]
    assert not np.array_equal(within, shorter)


@pytest.mark.parametrize(("own", "wanted"), [(90, 90), (100, 60), (40, 130), (4, 240), (130, 7)])
def test_a_table_of_distances_keeps_to_the_beam(own, wanted):
    rng = random.Random(own)
    reference = [f"w{number}" for number in range(wanted)]
    tried = [
        [f"w{number % wanted}" for number in range(start, start + own)] for start in range(own)
    ]
    tried += [rng.choices(reference, k=own) for _ in range(10)]
    distance = BeamEditDistance(reference)
    expected = [distance(words)[0] for words in tried]
    assert _distances(tried, reference).tolist() == expected


@pytest.mark.parametrize(("name", "tokenizer"), [("bleu", Tokenizer13a), ("ter", TercomTokenizer)])
def test_texts_are_not_kept(name, tokenizer):
    caches = [tokenizer.__call__, TokenizerRegexp.__call__]
    for cache in caches:
        cache.cache_clear()
    OURS[name].statistics(inputs_of(*LAPPS))
    assert [cache.cache_info().currsize for cache in caches] == [0, 0]
