"""Cleaning replies: what wraps a translation goes, what belongs to it stays."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mtarena.llm.cleaning import clean, is_nothing, without_thought


@pytest.mark.parametrize(
    ("reply", "source", "expected"),
    [
        ("  Bom dia.\n", "Good morning.", "Bom dia."),
        ("\ufeffBom dia.", "Good morning.", "Bom dia."),
        ('"Bom dia."', "Good morning.", "Bom dia."),
        ("'Bom dia.'", "Good morning.", "Bom dia."),
        ("`Bom dia.`", "Good morning.", "Bom dia."),
        ("„Guten Tag.“", "Good morning.", "Guten Tag."),
        ("«Bom dia.»", "Good morning.", "Bom dia."),
        ("'C'est l'eau.'", "It's the water.", "C'est l'eau."),
        ("**Bom dia.**", "Good morning.", "Bom dia."),
        ('**"Bom dia."**', "Good morning.", "Bom dia."),
        ("```\nBom dia.\n```", "Good morning.", "Bom dia."),
        ("```text\nBom dia.\n```", "Good morning.", "Bom dia."),
        ("<translation>Bom dia.</translation>", "Good morning.", "Bom dia."),
        ("<source-2>\nBom dia.\n</source-2>", "Good morning.", "Bom dia."),
        ("Translation:\nBom dia.", "Good morning.", "Bom dia."),
        ("**Translation:**\n\n“Bom dia.”", "Good morning.", "Bom dia."),
        ("Here it is:\n```\nBom dia.\n```", "Good morning.", "Bom dia."),
        ("Bom dia.\n\n(Informal: oi.)", "Good morning.", "Bom dia."),
        ("Translation:\nEle disse: sim.", "He said: yes.", "Ele disse: sim."),
        ("Sure! Here is the translation:\nBom dia, Ana.", "Good morning, Ana.", "Bom dia, Ana."),
        ("Sure, here you go:\nBom dia.", "Good morning.", "Bom dia."),
        ("Here it is:\nBom dia, Ana.", "Good morning, Ana.", "Bom dia, Ana."),
        ("Aqui está a tradução:\nBom dia.", "Good morning.", "Bom dia."),
        ("Übersetzung:\nGuten Tag.", "Good morning.", "Guten Tag."),
        ("译文：\n早上好。", "Good morning.", "早上好。"),
        ("## Translation:\nBom dia.", "Good morning.", "Bom dia."),
        ("Translation:\nPão:\nfrancês", "Bread:\nFrench", "Pão:\nfrancês"),
        ("Vai assim:\n```\nBom dia, Ana.\n```", "Good morning, Ana.", "Bom dia, Ana."),
        ("Um.\n\nDois.\n\nInformal.", "One. Two.", "Um.\n\nDois."),
        ("Um. Dois.\n\nInformal.", "One. Two.", "Um. Dois."),
        ("Translation:\n\nÀs dez e meia.", "At 10:30.", "Às dez e meia."),
        ("Translation:\n\nUm.\n\nDois.", "One.\n\nTwo.", "Um.\n\nDois."),
        ('"Três linhas.\nDuas.\nUma."', "Three lines.\nTwo.\nOne.", "Três linhas.\nDuas.\nUma."),
        ('"A comida dos cães."', "The dogs' food.", "A comida dos cães."),
        ('"Os anos 90."', "The 90s’ years.", "Os anos 90."),
        ("**Um**.\n\nNote: informal.", "One.", "**Um**."),
        ("", "Good morning.", ""),
        (" \n ", "Good morning.", ""),
    ],
)
def test_what_wraps_a_translation_goes(reply, source, expected):
    assert clean(reply, source) == expected


@pytest.mark.parametrize(
    ("reply", "source"),
    [
        ('Ele disse "sim"', "He said yes"),
        ('"Sim", disse ele.', "Yes, he said."),
        ('"Sim" e "não"', "Yes and no"),
        ("l'eau d'", "the water of"),
        ('"Sim"', 'He said "yes"'),
        ("«Sim»", '"Yes"'),
        ("**Aviso**", "**Warning**"),
        ("**a** e **b**", "a and b"),
        ("```\nls\n```", "```\nlist\n```"),
        ("<text>a</text>", "<text>b</text>"),
        ("Primeira linha.\nSegunda linha.", "First and second line."),
        ("Lista:\n- pão\n- sal", "List:\n- bread\n- salt"),
        ("Um\n\nDois", "One\n\nTwo"),
        ("Nota:\nDois", "A note\nTwo"),
        ("Ele escreveu:\nConcordo.", "He wrote: I agree."),
        ("Ele disse:\n'Vem cá.'", "He said, 'Come here.'"),
        ("Ele disse:\nVem cá.", "He told me to come here."),
        ("Nota:\nleia isto primeiro.", "Note – read this first."),
        ("Nota:\nleia isto primeiro.", "Note - read this first."),
        ("Aviso:\nfechado.", "WARNING (closed)."),
        ("A tradução:\né grátis.", "The translation is free."),
        ("Tradução:\numa arte.", "Traduire, un art."),
        ("Here you go:\nJoão.", "Aqui tens, João."),
        ("Answer:\nfive.", "Resposta – cinco."),
        ("Sure, here you go:\nFive.", "Claro, aqui tens, cinco."),
        ("Answer:\n'five'", "Resposta 'cinco'"),
        ("A todos:\n\nBom dia.", "To all: good morning."),
        ("Para todos：\n早上好。", "To all：good morning."),
        ('Ele disse:\n"Sim"', 'He said: "yes"'),
        ('"Um" e\n"dois"', "One and\ntwo"),
        ("'Tis", "It is"),
        ("'Sim' e 'não'", "Yes and no"),
        ('"Sim"', "'Yes'"),
        ('"Sim"', "’Yes’"),
        ("`a` e `b`", "a and b"),
        ("**Um** e\n**dois**", "One and\ntwo"),
        ("Um **dois**", "One two"),
        ("Sim:", "Yes:"),
        ('"', "x"),
        ('""', "x"),
        ("```", "x"),
        ("```a```b```", "x"),
    ],
)
def test_what_belongs_to_a_translation_stays(reply, source):
    assert clean(reply, source) == reply


@pytest.mark.parametrize(
    "label", ["Portuguese:", "**Portuguese:**", "In Portuguese:", "Brazilian Portuguese:"]
)
def test_the_name_of_the_language_is_a_label_unless_the_source_speaks_of_it(label):
    reply = f"{label}\nBom dia, Ana."
    assert clean(reply, "Good morning, Ana.", "Portuguese (Brazil)") == "Bom dia, Ana."
    assert clean(reply, "Good morning, Ana.", "German") == reply
    assert clean(reply, "Portuguese, good morning, Ana.", "Portuguese") == reply
    assert clean(reply, "Good morning, Ana.") == reply
    assert clean("English:\nthe language.", "Inglês – o idioma.", "English").startswith("English")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<think>\n1. no\n</think>\n\n1. yes", "1. yes"),
        ("1. no\n</think>1. yes", "1. yes"),
        ("<reasoning>so</reasoning> yes", "yes"),
        ("<think>never ended", ""),
        ("a <think> b", "a <think> b"),
        ("yes", "yes"),
    ],
)
def test_reasoning_between_tags_is_no_answer(reply, expected):
    assert without_thought(reply, ["x"]) == expected
    assert without_thought(reply, ["<think>", "</think>", "<reasoning>"]) == reply


@given(st.text(), st.text())
def test_cleaning_adds_nothing(reply, source):
    once = clean(reply, source)
    assert once == once.strip()
    assert set(once) <= {*reply, "\n"}


def test_long_replies_are_cleaned_in_linear_time():
    start = time.perf_counter()
    for reply in (
        '"' * 500_000,
        "**" * 500_000,
        "`" * 500_000,
        " \n" * 500_000,
        "<text>" * 200_000,
        "\n" + "." * 500_000 + "x",
        "\n" + '."' * 250_000 + "x",
        ":\n" * 250_000,
    ):
        clean(f"a{reply}", "x")
        clean(f"a{reply}", "x. y.")
        clean(reply, "x")
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize(
    ("source", "translation", "note"),
    [
        ("Mr. Brown called.", "O senhor Brown ligou.", "Note: formal."),
        ("The U.S. Army came at 5 a.m. today.", "O exército dos EUA chegou.", "Nota: EUA = U.S."),
        ("Wait. Stop. Go.", "等等，停下，走。", "（注：口语）"),
        ("Wait. Stop. Go.", "Espere, pare, vá.", "**Alternative:** Aguarde, pare, siga."),
        ("Wait. Stop. Go.", "Espere, pare, vá.", "**Notes:**\n- Imperative."),
        ("Wait. Stop. Go.", "Warte, halt, geh.", "Anmerkung des Modells: Imperativ."),
    ],
)
def test_a_note_below_goes_however_many_sentences_there_are(source, translation, note):
    assert clean(f"{translation}\n\n{note}", source) == translation


def test_a_paragraph_that_may_be_the_note_of_the_source_stays():
    reply = "Ele partiu.\n\nNota: levem canetas."
    assert clean(reply, "He left. Note: bring pens.") == reply


@pytest.mark.parametrize(
    ("text", "source", "nothing"),
    [
        ("...", "Uh...", False),
        ("…", "Uh...", False),
        ("?", "Eh?", False),
        ("!", "!", False),
        ("…", "Yes", True),
        (".", "Hello there.", True),
        ("-", "Hello world", True),
        (" ", "x", True),
    ],
)
def test_marks_alone_answer_an_exclamation_only(text, source, nothing):
    assert is_nothing(text, source) == nothing
