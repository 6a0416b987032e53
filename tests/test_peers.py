"""The peers of benchmarks/retrieval.py are asked as their documentation says: they find what is there to find."""

import sys
from pathlib import Path

import numpy as np
import pytest

from rag_pilot.records import Document, Question
from rag_pilot.retrieval.embedding import Embedding, Model

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))
from _peers import PEERS, absent, peers

LETTERS = "abcdefghijklmnopqrstuvwxyz"
EVERYONE, BOARD = frozenset({"all"}), frozenset({"all", "board"})
DOCUMENTS = [
    Document("leave", "Leave", "Employees ask for holidays two weeks ahead. " * 90, EVERYONE),
    Document("travel", "Travel", "Trains are booked in second class.", EVERYONE),
    Document("badge", "Badges", "A lost badge is reported to the reception desk.", EVERYONE),
    Document("parking", "Parking garages", "See the page of the building.", EVERYONE),
    Document("pay", "Salaries", "Salaries of directors rise in March.", frozenset({"board"})),
]
QUESTIONS = [
    Question("q1", "Which class are trains booked in?", doc="travel", groups=EVERYONE),
    Question("q2", "Where is a lost badge reported?", doc="badge", groups=EVERYONE),
    Question("q3", "How far ahead do employees ask for holidays?", doc="leave", groups=EVERYONE),
    Question("q4", "When do salaries of directors rise?", doc="pay", groups=EVERYONE),
    Question("q5", "When do salaries of directors rise?", doc="pay", groups=BOARD),
    Question("q6", "Which parking garages are there?", doc="parking", groups=EVERYONE),  # in the title alone
]


def pairs_of_letters(texts):
    """A vector that counts which letters follow each other: like texts are near each other."""
    counts = np.zeros((len(texts), 26 * 26), dtype=np.float32)
    for row, text in zip(counts, texts, strict=True):
        known = [LETTERS.index(c) for c in text.lower() if c in LETTERS]
        np.add.at(row, [26 * a + b for a, b in zip(known, known[1:], strict=False)], 1)
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


@pytest.mark.parametrize("who", PEERS)
def test_a_peer_finds_the_obvious_document_first_and_only_what_the_asker_may_open(who):
    if reason := absent(who):
        pytest.skip(f"{who}: {reason}")
    search = peers(who, DOCUMENTS, QUESTIONS, "en", Embedding(Model("letters"), pairs_of_letters))
    found = {q.id: search(q) for q in QUESTIONS}
    assert [found[q][0] for q in ("q1", "q2", "q3", "q5", "q6")] == ["travel", "badge", "leave", "pay", "parking"]
    assert "pay" not in found["q4"] and {"leave", "travel", "badge"} <= set(found["q4"])
