"""What a sponsor reads is there in each of her languages, with the same things to fill in."""

import string
import tomllib

import pytest

from rag_pilot.errors import SettingsError
from rag_pilot.reporting.speech import FOLDER, speech

PARTS = sorted(path.stem for path in FOLDER.glob("*.toml"))


@pytest.mark.parametrize("part", PARTS)
def test_every_language_has_the_same_words_with_the_same_places_to_fill_in(part):
    known = tomllib.loads((FOLDER / f"{part}.toml").read_text(encoding="utf-8"))
    assert list(known) == ["en", "fr", "pl"]
    for lang in ("fr", "pl"):
        assert known[lang].keys() == known["en"].keys()
        for name, words in known["en"].items():
            assert _places(known[lang][name]) == _places(words), (part, lang, name)
            assert known[lang][name].strip() == known[lang][name] != ""


def _places(words):
    return sorted((name or "", form or "") for _, name, form, _ in string.Formatter().parse(words) if name is not None)


def test_another_language_is_refused_by_name():
    with pytest.raises(SettingsError, match="no language 'de'; they speak en, fr, pl"):
        speech(PARTS[0], "de")


def test_a_cause_has_one_name_on_a_page_and_in_its_picture():
    for lang in ("en", "fr", "pl"):
        pages, pictures = speech("pages", lang), speech("figures", lang)
        causes = [key for key in pictures if key.startswith("cause_")]
        assert causes and [(key, pictures[key]) for key in causes] == [(key, pages[key]) for key in causes]
