from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.errors import SettingsError
from rag_pilot.retrieval.rewrite import expander, read_glossary

GLOSSARY = {
    "blue list": ("approved supplier list", "fournisseurs agréés"),
    "RTS": ("return to supplier",),
    "PX-20": ("pump",),
    "zielona kartę": ("przepustka",),
    "": ("never",),
    "...": ("never",),
}


@pytest.mark.parametrize(
    ("question", "added"),
    [
        ("Is Tarvik on the Blue List?", " (approved supplier list; fournisseurs agréés)"),
        ("is it on the BLUE-LIST", " (approved supplier list; fournisseurs agréés)"),
        ("how do I file an rts?", " (return to supplier)"),
        ("px20 leaks", " (pump)"),
        ("Gdzie oddać ZIELONA KARTE?", " (przepustka)"),
        ("rts for px-20", " (return to supplier; pump)"),
        ("the list is blue", ""),
        ("charts and parts", ""),
        ("a bluelist of blue lists", ""),
        ('"..." ?', ""),
        ("", ""),
    ],
)
def test_synonyms_of_terms_that_stand_as_whole_words_are_appended(question, added):
    assert expander(GLOSSARY)(question) == question + added


def test_a_synonym_of_two_terms_is_appended_once():
    expand = expander({"zielona karta": ("przepustka",), "zieloną kartę": ("przepustka", "wstęp")})
    assert expand("zielona karta, zieloną kartę") == "zielona karta, zieloną kartę (przepustka; wstęp)"


@given(st.text(max_size=60))
def test_the_question_itself_is_never_changed(question):
    assert expander(GLOSSARY)(question).startswith(question)
    assert expander({})(question) == question


def glossary(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "glossary.toml"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_glossary_is_read_with_or_without_a_byte_order_mark(tmp_path):
    line = '"blue list" = ["liste agréée"]\r\nRTS = []\r\n'
    for content in (line, b"\xef\xbb\xbf" + line.encode()):
        assert read_glossary(glossary(tmp_path, content)) == {"blue list": ("liste agréée",), "RTS": ()}


def test_no_file_is_an_empty_glossary(tmp_path):
    assert read_glossary(tmp_path / "glossary.toml") == {}


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ('RTS = "return to supplier"', "'RTS' is 'return to supplier'"),
        ("RTS = [1]", "'RTS' is"),
        ("[RTS]\nx = []", "'RTS' is {"),
        ("blue list = []", "expected lines such as"),
        ('RTS = ["a"]\nRTS = ["b"]', "expected lines such as"),
    ],
)
def test_an_entry_that_does_not_fit_is_refused_with_file_and_example(tmp_path, content, found):
    path = glossary(tmp_path, content)
    with pytest.raises(SettingsError) as fault:
        read_glossary(path)
    assert found in str(fault.value) and str(path) in str(fault.value)
