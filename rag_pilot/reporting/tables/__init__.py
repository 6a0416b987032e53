"""The tables of a pilot: each a function of plain results that returns a piece of a page.

They show every number with what it was counted over, say 'not measured' where nothing was, and show text of documents,
questions and answers only where the pilot's readers may see it.
"""

from .amended import amendments
from .answers import progress, run, stamp
from .candidates import imported, question_groups
from .documents import documents, inventory
from .examples import examples
from .failures import failures, pareto, tasks, trace
from .indexed import index, reindexed
from .judging import gate, grading, judge_in_use, scores
from .money import cost, dry_run
from .needs import build_cost, decision_table, freshness, hosted_or_own, long_context
from .plan import agreed, cost_plan, criteria, decision, judgements
from .ready import reading_order, ready, watch
from .review import review
from .score import four_way, headline, label_shares
from .second import second_reader
from .segments import retrieval_segments, segments
from .sources import composition, findings, leak_audit, retrievers, writing
from .week2 import changes, ledger, nothing, retrieval_rows, threshold, tried
from .weights import ablations, weighings

__all__ = [
    "ablations",
    "agreed",
    "amendments",
    "build_cost",
    "changes",
    "composition",
    "cost",
    "cost_plan",
    "criteria",
    "decision",
    "decision_table",
    "documents",
    "dry_run",
    "examples",
    "failures",
    "findings",
    "four_way",
    "freshness",
    "gate",
    "grading",
    "headline",
    "hosted_or_own",
    "imported",
    "index",
    "inventory",
    "judge_in_use",
    "judgements",
    "label_shares",
    "leak_audit",
    "ledger",
    "long_context",
    "nothing",
    "pareto",
    "progress",
    "question_groups",
    "reading_order",
    "ready",
    "reindexed",
    "retrieval_rows",
    "retrieval_segments",
    "retrievers",
    "review",
    "run",
    "scores",
    "second_reader",
    "segments",
    "stamp",
    "tasks",
    "threshold",
    "trace",
    "tried",
    "watch",
    "weighings",
    "writing",
]
