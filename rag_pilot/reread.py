"""Real answers that a person re-read (`rag-pilot review --file`) against the alert on wrong ones: the monthly alarm.

They are few, 15 a month. Of 15 answers of a system at 5 % wrong more than half the draws hold a wrong one: an alarm on
the bare share would ring every other month and be switched off. So it rings only where the exact one-sided 95 % bound
is beyond the limit, and says so where that many do not tell. Nothing is known here of runs and of the question set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .analysis.acceptance import Criterion, acceptance
from .analysis.shares import Share
from .pilot import Pilot
from .review import SpotCheck, check_of, draws
from .settings import Alert


@dataclass(frozen=True)
class RealAnswers:
    """The last spot check of real answers that is read through, against the alert on wrong ones; None: there is none.

    `state` is within, beyond, not decided (by so few) or no limit.
    """

    check: SpotCheck | None
    wrong: Share
    state: str
    words: str
    waiting: int  # real answers of other draws that wait to be read

    @property
    def below(self) -> bool:
        """Whether real answers are shown to be worse than the alert allows."""
        return self.state == "beyond"


def real_answers(pilot: Pilot) -> RealAnswers:
    """The last spot check of real answers (`rag-pilot review --file`) that is read through, against the alert."""
    checks = [check_of(pilot, draw) for draw in draws(pilot) if not draw.run]
    waiting = sum(check.waiting for check in checks)
    done = [check for check in checks if check.done and check.rows]
    if not done:
        return RealAnswers(None, Share(0, 0), "no limit", "No real answers were re-read so far.", waiting)
    last = done[-1]
    return _real(last, [label for _, label, _ in last.rows], _wrong_alert(pilot), waiting)


def _wrong_alert(pilot: Pilot) -> Alert | None:
    return next((alert for alert in pilot.settings.alert if alert.measure == "wrong"), None)


def _real(check: SpotCheck, labels: Sequence[str], alert: Alert | None, waiting: int) -> RealAnswers:
    wrong = Share(labels.count("wrong"), len(labels), {"closed or gone": check.closed} if check.closed else {})
    interval = wrong.interval
    span = f" (95 % interval {100 * interval.low:.0f} to {100 * interval.high:.0f} %)" if interval else ""
    words = f"{wrong.count} wrong of {wrong.n} re-read{span}, drawn on {check.draw.date} from {check.draw.source}"
    if missing := wrong.missing_text():
        words += f"; {missing}"
    if alert is None:
        return RealAnswers(check, wrong, "no limit", f"{words}. There is no alert on wrong answers.", waiting)
    limit = Criterion("real answers", "wrong", "at_most", alert.at_most or 0.0, "real answers re-read")
    if limit.limit == 0:
        state = "beyond" if wrong.count else "within"
    else:
        state = {"met": "within", "not met": "beyond"}.get(acceptance(limit, wrong).state, "not decided")
    said = {
        "within": "that is shown to be within the limit",
        "beyond": "that is beyond the limit, and not by chance",
        "not decided": "so few do not tell on which side of the limit the system is",
    }
    return RealAnswers(check, wrong, state, f"{words}. {limit.text()}: {said[state]}.", waiting)
