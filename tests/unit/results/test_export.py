"""Run cards become plug-ins: only what was measured, with its figures, and nothing secret."""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_mtarena.card.assemble import finish
from pytest_mtarena.card.seal import seal
from pytest_mtarena.card.store import write_card
from pytest_mtarena.cli import main
from pytest_mtarena.contestants.loading import load_method
from pytest_mtarena.contestants.sources import copy_directory, hash_directory
from pytest_mtarena.errors import MethodError
from pytest_mtarena.records import Language
from pytest_mtarena.referee.translation import TranslationKind
from pytest_mtarena.results.method_config import FIELDS, method_config, shortened, type_of
from pytest_mtarena.results.verify import verify
from tests.unit.card.making import sealed_card
from tests.unit.results.cards import make_suite, spoilt, translation_card

METHODS = Path(__file__).parents[3] / "methods"
ENGLISH = Language(code="eng", name="English")
PORTUGUESE = Language(code="por", name="Portuguese")
KEY = "sk-very-secret-1234567890"


def changed(card: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a sealed card with other facts of its run, and all that follows from them."""
    card = copy.deepcopy(card)
    card["config"] |= changes.pop("config", {})
    card |= changes
    if "system_prompt_used" in changes:
        text = card["system_prompt_used"].encode()
        card["system_prompt_sha256"] = hashlib.sha256(text).hexdigest() if text else ""
    kind = TranslationKind()
    report = kind.referee_for_card(card).score(card["results"])
    return seal(finish(card, report))


def model_card(
    target: Language = PORTUGUESE,
    *,
    coaching: str = "",
    prompt: str = "naive",
    name: str = "house/tiny-1",
    **config: Any,
) -> dict[str, Any]:
    """Return the card of a run of a model."""
    entries = make_suite(12)
    card = translation_card(entries, spoilt(entries, 3), pair=(ENGLISH, target))
    digest = hashlib.sha256(coaching.encode()).hexdigest() if coaching else None
    facts = {"prompt": prompt, "coaching_sha256": digest, "keyed": False, "endpoint": "e" * 16}
    return changed(
        card,
        model_slug=name,
        model_id=name,
        condition="coached" if coaching else prompt,
        method_card=None,
        system_prompt_used=coaching or "Translate, please.",
        config={
            "api_provider": "openrouter",
            "method_name": name,
            "method_path": None,
            "method_facts": facts,
            "options": {},
            **config,
        },
    )


def method_card_of(directory: Path, **config: Any) -> dict[str, Any]:
    """Return the card of a run of a method."""
    entries = make_suite(12)
    card = translation_card(entries, spoilt(entries, 3))
    digest = hash_directory(directory)
    slug = f"method/{directory.name}@{digest[:8]}"
    config = {"method_sha256": digest, "method_path": f"methods/{directory.name}", **config}
    return changed(card, model_slug=slug, model_id=slug, config={"options": {}, **config})


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Write a card; return its path."""
    monkeypatch.chdir(tmp_path)

    def write(card: dict[str, Any], stem: str = "card") -> str:
        return str(write_card(card, Path(), stem))

    return write


def export(*arguments: str) -> dict[str, Any]:
    """Export to ``out``; return the manifest."""
    assert main(["export", *arguments, "--name=mine", "-o", "out"]) == 0
    return json.loads(Path("out/method.json").read_text(encoding="utf-8"))


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, name: str = "mine") -> str:
    """Export what cannot be exported; return the error, which is the only trace of it."""
    before = sorted(Path().rglob("*"))
    assert main(["export", *arguments, "--name", name]) == 2
    out, err = capsys.readouterr()
    assert sorted(Path().rglob("*")) == before, "nothing is left behind"
    assert out == ""
    assert len(err.splitlines()) == 1
    return err


# -- export ---------------------------------------------------------------------------------


def test_a_naive_model_becomes_a_plug_in_with_its_figures(store):
    card = model_card()
    manifest = export(store(card))
    assert manifest["type"] == "llm"
    assert manifest["locales"] == ["pt"]
    assert tuple(manifest["config"]) == FIELDS
    assert manifest["config"]["model"] == "house/tiny-1"
    assert manifest["config"]["coachingPrompt"] is None
    assert manifest["version"] == "1.0.0"
    assert "coaching" not in manifest
    figures = manifest["benchmarks"]["pt"]
    assert figures["corpus_chrf"] == card["scores"]["chrf_plus_plus"]
    assert figures["date"] == "2026-03-04"
    assert figures["corpus_size"] == 12
    assert figures["suite"]["content_sha256"] == card["dataset"]["content_sha256"]
    assert figures["card"]["run_card_hash"] == card["run_card_hash"]
    assert figures["scores"]["ter"]["direction"] == "lower"
    assert sorted(path.name for path in Path("out").iterdir()) == ["README.md", "method.json"]
    assert "--mt-model=house/tiny-1" in Path("out/README.md").read_text(encoding="utf-8")


def test_intervals_are_those_of_the_card(store):
    entries = make_suite(12)
    card = translation_card(entries, spoilt(entries, 3))
    card["config"]["scoring"]["intervals"] = True
    card = changed(card, config={"api_provider": "openrouter"}, condition="naive")
    interval = card["scores"]["confidence_intervals"]["chrf_plus_plus"]
    score = export(store(card))["benchmarks"]["pt"]["scores"]["chrf_plus_plus"]
    assert score["value"] == card["scores"]["chrf_plus_plus"]
    assert [score["ci_lower"], score["ci_upper"]] == [interval["ci_lower"], interval["ci_upper"]]
    assert score["n"] == 12
    assert f"[{interval['ci_lower']:.2f}, " in Path("out/README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("coaching", "file"), [("Be formal.\n", "pt.txt"), ('{"style_notes": "Formal"}', "pt.json")]
)
def test_the_coaching_of_a_card_is_shipped_to_the_letter(store, coaching, file):
    manifest = export(store(model_card(coaching=coaching, prompt="custom")))
    assert manifest["type"] == "llm-coached"
    assert manifest["coaching"] == {"dir": "coaching"}
    assert manifest["config"]["coachingFile"] == f"coaching/{file}"
    assert Path("out/coaching", file).read_bytes() == coaching.encode()


def test_several_cards_are_several_locales(store):
    first = store(model_card(coaching="Formal.", prompt="custom"), "por")
    second = store(model_card(Language(code="cym"), coaching="Ffurfiol.", prompt="custom"), "cym")
    manifest = export(first, second)
    assert manifest["locales"] == ["pt", "cy"]
    assert list(manifest["benchmarks"]) == ["pt", "cy"]
    assert manifest["config"]["coachingFile"] is None, "there are two"
    assert Path("out/coaching/cy.txt").read_text(encoding="utf-8") == "Ffurfiol."


def test_a_locale_that_was_not_measured_has_no_figures(store):
    manifest = export(store(model_card()), "--locales=pt-BR,fr", "--register=formal")
    assert manifest["locales"] == ["pt-BR", "fr"]
    assert list(manifest["benchmarks"]) == ["pt-BR"]
    assert manifest["config"]["register"] == "formal"
    flags = manifest["provenance"]["flags"]
    assert flags[:2] == ["not-benchmarked:fr", "register-not-benchmarked"]
    page = Path("out/README.md").read_text(encoding="utf-8")
    assert "| fr | not measured |" in page
    assert "`register-not-benchmarked`" in page


def test_what_the_user_says(store):
    manifest = export(
        store(model_card()), "--author=Ana", "--description=Só isto", "--version=2.1.0-rc.1",
        "--commercial-ready",
    )  # fmt: skip
    assert manifest["author"] == "Ana"
    assert manifest["description"] == "Só isto"
    assert manifest["version"] == "2.1.0-rc.1"
    assert manifest["provenance"]["commercialReady"] is True


def test_the_users_coaching_must_be_the_measured_one(store, capsys):
    card = store(model_card(coaching="Be formal.\n", prompt="custom"))
    Path("texts").mkdir()
    Path("texts/pt.md").write_bytes(b"\xef\xbb\xbfBe formal.\r\n")
    manifest = export(card, "--coaching-dir=texts")
    assert manifest["config"]["coachingFile"] == "coaching/pt.md"
    assert Path("out/coaching/pt.md").read_bytes() == Path("texts/pt.md").read_bytes()
    capsys.readouterr()
    Path("texts/pt.md").write_text("Be rude.\n")
    assert "not the coaching that was measured" in refused(capsys, card, "--coaching-dir=texts")
    Path("texts/pt.txt").write_text("Be formal.\n")
    assert "for one locale" in refused(capsys, card, "--coaching-dir=texts")
    assert "no coaching for fr" in refused(capsys, card, "--locales=pt,fr")
    assert "no directory" in refused(capsys, card, "--coaching-dir=nowhere")


def test_an_api_has_an_endpoint_and_says_whether_it_was_asked(store):
    url = "https://mt.example.org/v1"
    card = model_card()
    facts = {**card["config"]["method_facts"]}
    facts["endpoint"] = hashlib.sha256(url.encode()).hexdigest()[:16]
    manifest = export(
        store(changed(card, config={"method_facts": facts})), "--type=api", f"--endpoint={url}/"
    )
    assert manifest["endpoint"] == f"{url}/"
    assert "endpoint-not-checked" not in manifest["provenance"]["flags"]


def test_a_method_behind_an_api(store):
    card = store(method_card_of(METHODS / "lexicon"))
    manifest = export(card, "--type=api", "--endpoint=https://mt.example.org")
    assert "endpoint-not-checked" in manifest["provenance"]["flags"]
    assert manifest["config"]["model"] is None
    assert not Path("out/method").exists()


def test_a_method_is_shipped_unchanged_and_is_the_same_contestant(store):
    manifest = export(store(method_card_of(METHODS / "lexicon")), f"--method={METHODS / 'lexicon'}")
    assert manifest["type"] == "method-plugin"
    assert manifest["config"]["model"] is None
    assert {one["id"] for one in manifest["provenance"]["resources"]} == {"tiny", "lexicon"}
    measured = load_method(METHODS / "lexicon", {}).identity
    assert load_method(Path("out"), {}).identity == measured
    assert load_method(Path("out/method"), {}).identity == measured


def test_another_version_of_a_method_is_refused(store, capsys):
    card = store(method_card_of(METHODS / "lexicon"))
    assert "it is not what card.json measured" in refused(
        capsys, card, f"--method={METHODS / 'copy'}"
    )
    assert "needs --method; the card calls it methods/lexicon" in refused(capsys, card)


def test_a_copy_has_what_counts_and_no_more(tmp_path):
    source = tmp_path / "source"
    (source / "data").mkdir(parents=True)
    (source / "data/words.txt").write_text("a")
    (source / "more").symlink_to(source / "data", target_is_directory=True)
    (source / "alias.txt").symlink_to(source / "data/words.txt")
    (source / ".env").write_text(KEY)
    (source / "__pycache__").mkdir()
    (source / "__pycache__/x.pyc").write_bytes(b"")
    copy_directory(source, tmp_path / "copy")
    assert hash_directory(tmp_path / "copy") == hash_directory(source)
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == [
        "alias.txt", "data", "more",
    ]  # fmt: skip
    assert (tmp_path / "copy/more").readlink() == Path("data")


@pytest.mark.parametrize("inner", [None, "../other", "/other", ".hidden", 3])
def test_a_plug_in_points_to_a_directory_of_its_own(tmp_path, inner):
    manifest = {"name": "x", "type": "method-plugin", "method": inner}
    (tmp_path / "method.json").write_text(json.dumps(manifest))
    with pytest.raises(MethodError, match="must name a directory beside it"):
        load_method(tmp_path, {})


def test_a_plug_in_of_a_model_says_that_it_is_no_method(store):
    export(store(model_card()))
    with pytest.raises(MethodError, match="no code to run; its README"):
        load_method(Path("out"), {})


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--locales=pt,,fr"], "'' is no code"),
        (["--locales=../pt"], "is no code"),
        (["--locales=pt,PT"], "stands there twice"),
        (["--locales=fr"], "--locales has no pt"),
        (["--version=1"], "three numbers"),
        (["--type=poem"], "there are llm, llm-coached"),
        (["--type=llm-coached"], "can be exported as llm, api"),
        (["--type=method-plugin"], "measured something else"),
        (["--type=api"], "needs --endpoint"),
        (["--endpoint=https://a.example"], "--endpoint is not for"),
        (["--type=api", "--endpoint=a.example"], "begins with https://"),
        (["--type=api", f"--endpoint=https://a.example/?key={KEY}"], "leave out"),
        (["--type=api", f"--endpoint=https://me:{KEY}@a.example"], "leave out"),
        (["--method=x"], "--method is not for"),
        (["--coaching-dir=x"], "measured without coaching"),
        (["card.json"], "given twice"),
        (["nowhere.json"], "cannot be read"),
    ],
)
def test_what_cannot_be_exported_is_one_line(store, capsys, options, told):
    error = refused(capsys, store(model_card()), *options)
    assert told in error
    assert KEY not in error


@pytest.mark.parametrize("name", ["Mine", "my_one", "-a", "a--b", "../a", "", "a" * 65, "a\n"])
def test_a_name_is_kebab_case(store, capsys, name):
    assert main(["export", store(model_card()), f"--name={name}"]) == 2
    assert "lower-case letters" in capsys.readouterr().err


def test_cards_that_do_not_belong_together_are_refused(store, capsys):
    one = store(model_card(), "one")
    welsh = Language(code="cym")
    for card, told in (
        (model_card(welsh, name="house/other"), "has model 'house/other'"),
        (model_card(welsh, temperature=0.5), "has temperature 0.5"),
        (model_card(welsh, api_provider="openai"), "has provider 'openai'"),
        (model_card(welsh, coaching="x", prompt="custom"), "of one type"),
        (model_card(), "are cards of this locale"),
    ):
        assert told in refused(capsys, one, store(card, "two"))


def test_a_card_that_does_not_hold_is_refused(store, capsys):
    card = model_card()
    card["scores"]["chrf_plus_plus"] = 99.0
    broken = store(card, "broken")
    assert "does not hold" in refused(capsys, broken)
    lied = store(seal({**card, "run_card_hash": ""}), "lied")
    assert "does not hold" in refused(capsys, lied), "a new seal helps nobody"
    assert main(["export-config", broken]) == 2
    assert "does not hold" in capsys.readouterr().err


def test_an_incomplete_run_is_refused(store, capsys):
    entries = make_suite(12)
    card = translation_card(entries, spoilt(entries, 3)[:5], complete=False)
    assert verify(card) == []
    assert "not complete" in refused(capsys, store(card))


def test_a_directory_that_holds_something_stays_as_it_is(store, capsys):
    card = store(model_card())
    Path("out").mkdir()
    export(card)
    before = Path("out/method.json").read_bytes()
    capsys.readouterr()
    assert "holds something" in refused(capsys, card, "-o", "out", "--author=Other")
    assert Path("out/method.json").read_bytes() == before
    assert "is no directory" in refused(capsys, card, "-o", card)
    assert "cannot be written" in refused(capsys, card, "-o", f"{card}/deeper")


def test_a_key_of_the_environment_is_never_shipped(store, capsys, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    card = store(model_card(coaching=f"Use {KEY}.", prompt="custom"))
    error = refused(capsys, card)
    assert "OPENAI_API_KEY" in error
    assert KEY not in error
    assert main(["export-config", card]) == 2
    out, err = capsys.readouterr()
    assert KEY not in out + err


def test_a_model_in_a_file_has_no_path(store):
    path = "/home/ana/models/tiny.gguf"
    export(store(model_card(name=path)))
    text = "".join(path.read_text(encoding="utf-8") for path in Path("out").iterdir())
    assert "tiny.gguf" in text
    assert "/home/ana" not in text


def test_the_other_name_and_json(store, capsys):
    card = store(model_card())
    assert main(["generate-plugin", card, "--name=mine", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["directory"] == "mine"
    assert told["files"] == ["README.md", "method.json"]
    assert told["manifest"] == json.loads(Path("mine/method.json").read_text(encoding="utf-8"))


# -- export-config --------------------------------------------------------------------------


@pytest.mark.parametrize("more", [[], ["--json"], ["--target-lang-code=pt"]])
def test_the_config_has_eight_fields_whatever_is_used(store, capsys, more):
    card = store(model_card(temperature=0.25, batch_size=7))
    assert main(["export-config", card, *more]) == 0
    out, err = capsys.readouterr()
    assert out.endswith("}\n")
    found = json.loads(out)
    tier = found.pop("qualityTier")
    assert tier is None or isinstance(tier, str)
    assert found == {
        "model": "house/tiny-1",
        "temperature": 0.25,
        "batchSize": 7,
        "register": None,
        "coachingFile": None,
        "coachingPrompt": None,
        "promptContext": None,
    }
    assert '"defaultMethod" is "llm"' in err


def test_the_config_of_a_coached_model_and_of_a_method(store, capsys):
    coached = model_card(coaching="Seja formal.", prompt="custom", coaching_file="pt.txt")
    assert main(["export-config", store(coached)]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["coachingPrompt"] == "Seja formal."
    assert json.loads(out)["coachingFile"] == "pt.txt"
    assert '"llm-coached"' in err
    assert main(["export-config", store(method_card_of(METHODS / "copy"))]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["model"] is None
    assert list(json.loads(out)) == list(FIELDS)
    assert "methodPlugin" in err


def test_a_config_goes_to_a_file_and_not_to_another_language(store, capsys):
    card = store(model_card())
    assert main(["export-config", card, "-o", "deep/config.json", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["config"] == json.loads(Path("deep/config.json").read_text(encoding="utf-8"))
    assert told["type"] == "llm"
    assert main(["export-config", card, "--target-lang-code=cym"]) == 2
    assert "is a run into pt" in capsys.readouterr().err
    assert main(["export-config", card, "-o", "deep"]) == 2
    assert "cannot be written" in capsys.readouterr().err
    assert [path.name for path in Path("deep").iterdir()] == ["config.json"]


def test_conditions_and_types():
    def typed(condition: str, provider: str | None, prompt: str | None = None) -> str:
        facts = {} if prompt is None else {"prompt": prompt}
        config = {"api_provider": provider, "method_facts": facts}
        return type_of({"condition": condition, "config": config})

    assert typed("naive", "openai") == "llm"
    assert typed("coached", "openai") == "llm-coached"
    assert typed("coached", "openai", "naive") == "llm", "the prompt that was sent decides"
    assert typed("custom", "openai") == typed("champollion", None) == "llm-coached"
    assert typed("method", None) == "method-plugin"
    assert typed("method", "openai") == "llm-coached", "a prompt may have that name"


def test_codes_are_as_short_as_they_get():
    assert [shortened(code) for code in ("por", "POR", "zho_Hans", "crk", "pt-BR", "qaa-x-a")] == [
        "pt", "pt", "zh-Hans", "crk", "pt-BR", "qaa-x-a",
    ]  # fmt: skip


def test_a_config_has_no_values_of_another_type():
    card = sealed_card(3)
    card["config"]["method_facts"] = {"register": 3, "prompt_context": ""}
    found = method_config(card)
    assert found["register"] is None
    assert found["promptContext"] is None
