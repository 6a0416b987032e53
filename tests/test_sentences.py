import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.corpus.sentences import sentences


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("One. Two! Three? Four… Five", ["One.", "Two!", "Three?", "Four…", "Five"]),
        ("Pay within 30 days [1]. Then close.", ["Pay within 30 days [1].", "Then close."]),
        ("Pay within 30 days. [1] Then close. [2, 3]", ["Pay within 30 days. [1]", "Then close. [2, 3]"]),
        ("Pay.  [1]  Then. [2][3]\nEnd. [4]", ["Pay.  [1]", "Then. [2][3]", "End. [4]"]),
        ("Pay. [1]. Then close.", ["Pay. [1].", "Then close."]),
        ("Pay 3.5 percent. Ver. 2.1 is out.", ["Pay 3.5 percent.", "Ver.", "2.1 is out."]),
        ("He said “Stop.” Then left.", ["He said “Stop.”", "Then left."]),
        ("Ask Mr. Smith, e.g. Monday. Then wait.", ["Ask Mr. Smith, e.g. Monday.", "Then wait."]),
        ("Signed by J. Smith. Done.", ["Signed by J. Smith.", "Done."]),
        ("See (fig. 3) and (Fig. A). End.", ["See (fig. 3) and (Fig. A).", "End."]),
        ("Voir M. Durand, art. L3141. Puis Mme. Roy.", ["Voir M. Durand, art. L3141.", "Puis Mme. Roy."]),
        ("Élire un membre. Écrire au CSE.", ["Élire un membre.", "Écrire au CSE."]),
        ("Zgodnie z art. 5 ust. 2 pkt. 1. Łącznie 20 dni.", ["Zgodnie z art. 5 ust. 2 pkt. 1.", "Łącznie 20 dni."]),
        ("Ul. Długa 5, tj. Kraków. Święto.", ["Ul. Długa 5, tj. Kraków.", "Święto."]),
        ("A headline\nA line. Another\n\nLast", ["A headline", "A line.", "Another", "Last"]),
        ("go to example.org. then on", ["go to example.org. then on"]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        ("Wait... Go.", ["Wait...", "Go."]),
        ("", []),
        (" \n ", []),
        ("...", ["..."]),
    ],
)
def test_sentences_end_where_a_reader_would_end_them(text, found):
    assert sentences(text) == found


@given(st.text(max_size=200) | st.text(alphabet="Aa.!? \n[1]\"'e.g", max_size=80))
def test_no_word_is_lost_and_none_is_added(text):
    found = sentences(text)
    assert " ".join(found).split() == text.split()
    assert all(s and s == s.strip() for s in found)


@pytest.mark.parametrize(
    "text", ["See e.g. A etc. B approx. C " * 3000, "." * 20_000 + " x", "Chapter ..... 12 " * 5000]
)
def test_long_lines_take_linear_time(text):
    started = time.perf_counter()
    sentences(text)
    assert time.perf_counter() - started < 3
