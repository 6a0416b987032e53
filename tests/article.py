"""The method's answer and run_eval once more, as plainly as they can be written: the reference that tests compare with.

Also what tests of answering share: an embedding without a model.
"""

import re
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

DIMENSION = 12


def embed(texts: Sequence[str]) -> np.ndarray:
    """Unit vectors that depend on the words of a text and on nothing else."""
    rows = np.full((len(texts), DIMENSION), 0.01)
    for row, text in zip(rows, texts, strict=True):
        for word in text.lower().split():
            row[zlib.crc32(word.encode("utf-8", "replace")) % DIMENSION] += 1
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def answer(question: str, index: Any, groups: set[str], llm: Callable[[str], str], least: float = 0.35) -> dict:
    declined = {"status": "declined", "text": None, "docs": []}
    hits = index.search(question, groups)
    if len(hits) == 0 or all(hit["similarity"] < least for hit in hits):
        return declined
    shown = [f"[{number}] ({hit['doc']}) {hit['text']}" for number, hit in enumerate(hits, 1)]
    text = llm("\n\n".join([*shown, question])).strip()
    numbers = sorted({int(digits) for digits in re.findall(r"\[(\d+)\]", text)})
    if text == "NOT_FOUND" or not numbers or numbers[0] < 1 or numbers[-1] > len(hits):
        return declined
    return {"status": "answered", "text": text, "docs": [hits[number - 1]["doc"] for number in numbers]}


def run_eval(
    items: Sequence[dict],
    index: Any,
    llm: Callable[[str], str],
    judge: Callable[[str, str, str], str],
    answer: Callable[..., dict] = answer,
) -> tuple[Counter, int, int]:
    """(labels, questions whose document was found, answerable questions)."""
    labels: Counter = Counter()
    found = answerable = 0
    for item in items:
        groups = set(item["groups"])
        given = answer(item["question"], index, groups, llm)
        if item["answerable"]:
            answerable += 1
            found += any(hit["doc"] == item["doc"] for hit in index.search(item["question"], groups))
            if given["status"] == "declined":
                labels["declined"] += 1
            else:
                labels[judge(item["question"], item["expected"], given["text"])] += 1
        else:
            labels["correct" if given["status"] == "declined" else "wrong"] += 1
    return labels, found, answerable
