"""The pictures of a pilot: each a function of plain results, drawn the same way everywhere.

One width, one white page, fixed colours and hatches, counts beside what they belong to, intervals drawn, n in the
title, and an alt text that states the finding with its numbers.
"""

from .answers import causes, confusion, labels
from .retrieval import retrieval, retrieval_by, similarities
from .score import score
from .week2 import changes, risk_coverage

__all__ = [
    "causes",
    "changes",
    "confusion",
    "labels",
    "retrieval",
    "retrieval_by",
    "risk_coverage",
    "score",
    "similarities",
]
