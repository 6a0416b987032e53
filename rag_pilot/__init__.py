"""A two-week pilot that measures whether an assistant on your own documents works.

Names are loaded at first use, so that `import rag_pilot` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .amending import accept_amendment as accept_amendment
    from .amending import amendments as amendments
    from .amending import refuse_amendment as refuse_amendment
    from .answering.answerer import answer as answer
    from .compared import ablations as ablations
    from .compared import retrievers as retrievers
    from .compared import weighings as weighings
    from .criteria import what_can_be_shown as what_can_be_shown
    from .errors import PilotError as PilotError
    from .evaluation import run_eval as run_eval
    from .examples import example_runs as example_runs
    from .ledger import Ledger as Ledger
    from .pilot import Pilot as Pilot
    from .planning import corpus_size as corpus_size
    from .planning import sources as sources
    from .reading import changes_form as changes_form
    from .reading import expert_form as expert_form
    from .reading import failures as failures
    from .reading import writing_form as writing_form
    from .reporting import figures as figures
    from .reporting import tables as tables
    from .results import Result as Result
    from .retrieval.hybrid import HybridIndex as HybridIndex
    from .review import review_form as review_form
    from .review import spot_checks as spot_checks
    from .second import second_form as second_form
    from .second import settling_form as settling_form
    from .tracing import trace as trace
    from .tracing import trace_largest_cause as trace_largest_cause

_HOMES = {
    "HybridIndex": "retrieval.hybrid",
    "Ledger": "ledger",
    "Pilot": "pilot",
    "PilotError": "errors",
    "Result": "results",
    "ablations": "compared",
    "accept_amendment": "amending",
    "amendments": "amending",
    "answer": "answering.answerer",
    "changes_form": "reading",
    "corpus_size": "planning",
    "example_runs": "examples",
    "expert_form": "reading",
    "failures": "reading",
    "figures": "reporting",
    "refuse_amendment": "amending",
    "retrievers": "compared",
    "review_form": "review",
    "run_eval": "evaluation",
    "sources": "planning",
    "second_form": "second",
    "settling_form": "second",
    "spot_checks": "review",
    "tables": "reporting",
    "trace": "tracing",
    "trace_largest_cause": "tracing",
    "weighings": "compared",
    "what_can_be_shown": "criteria",
    "writing_form": "reading",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f".{_HOMES[name]}", __name__)
    return import_module(f".{_HOMES[name]}.{name}", __name__) if name in ("figures", "tables") else getattr(home, name)
