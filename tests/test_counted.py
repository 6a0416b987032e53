"""What is counted while not all is read: a random sample, never all that rules label and the little that is read."""

import json

import pytest
from bs4 import BeautifulSoup
from tiny import tiny_pilot

from rag_pilot.analysis.shares import Share
from rag_pilot.files import append_jsonl
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reading import failures
from rag_pilot.records import Label
from rag_pilot.reporting import figures, tables
from rag_pilot.reporting.pages import run_page
from rag_pilot.results import Result

ANSWERED, DECLINED = 40, 20
CAPTION = "Causes, largest first, over the first {} questions of the order, read up to there"


@pytest.fixture(scope="module")
def unread(tmp_path_factory) -> Pilot:
    """Forty questions that are answered, of one category, and twenty that are declined, of another."""
    pilot = tiny_pilot(tmp_path_factory.mktemp("counted"))
    rows = [
        {"id": f"a{n:02}", "question": f"How many days of annual leave, in year {n}?", "doc": "leave", "category": "a"}
        for n in range(ANSWERED)
    ]
    rows += [{"id": f"d{n:02}", "question": f"Zz{'z' * n}?", "doc": "leave", "category": "d"} for n in range(DECLINED)]
    same = {"expected": "25 days", "groups": [], "answerable": True}
    lines = [json.dumps({**row, **same}) + "\n" for row in rows]
    (pilot.data / "questions.jsonl").write_text("".join(lines), encoding="utf-8")
    settings = (pilot.data / "pilot.toml").read_text(encoding="utf-8")
    (pilot.data / "pilot.toml").write_text(settings.replace("[pilot]", "[judge]\nkind = 'none'\n[pilot]"))
    pilot = Pilot.open("tiny", pilot.data.parents[1])
    pilot.lock_acceptance()
    return pilot


def read(pilot: Pilot, first: int) -> Result:
    """The run with the first answers of the order labelled: every second one wrong."""
    labels = pilot.data / "labels.jsonl"
    labels.unlink(missing_ok=True)
    result = Ledger(pilot).result(())
    for n, i in enumerate(result.to_read[:first]):
        said = "wrong" if n % 2 else "correct"
        at = f"2026-01-05T10:{n:02}:00+01:00"
        line = Label(i, result.run.answers[i].sha, "Maud", said, position=result.order.index(i) + 1, saved_at=at)
        append_jsonl(labels, line)
    return Ledger(pilot).result(())


def test_causes_are_counted_up_to_the_last_answer_read_and_all_bad_answers_are_listed(unread):
    result = read(unread, 10)
    covered = result.order[: result.order.index(result.to_read[10])]
    declines = [i for i in covered if i.startswith("d")]
    assert len(covered) == 10 + len(declines) < 20
    assert {g.by for i, g in result.graded.items() if i not in covered} == {"rule", "not_graded"}
    assert (result.pareto.bad, result.pareto.first) == (len(declines) + 5, len(covered))
    assert {i for row in result.pareto.rows for i in row.questions} <= set(covered)
    assert len(failures(result)) == DECLINED + 5
    assert {i for i in result.causes if i.startswith("d")} == {f"d{n:02}" for n in range(DECLINED)}


def test_a_cause_of_declines_weighs_as_much_after_ten_labels_as_after_all(unread):
    """With every decline of the set against ten answers it would be four fifths, and the largest cause."""

    def of_declines(result: Result) -> float:
        return sum(i.startswith("d") for row in result.pareto.rows for i in row.questions) / result.pareto.known

    early, late = of_declines(read(unread, 10)), of_declines(read(unread, ANSWERED))
    assert late == pytest.approx(0.5)
    assert abs(early - late) < 0.1


def test_table_and_picture_of_causes_say_over_which_questions_they_count(unread):
    result = read(unread, 10)
    page = BeautifulSoup(tables.pareto(result.pareto), "html.parser")
    assert page.caption.get_text() == CAPTION.format(len(result.counted))
    assert "the judge is not admitted" in page.get_text()
    assert f"over the first {len(result.counted)} questions of the order" in figures.causes(result.pareto)
    whole = read(unread, ANSWERED)
    assert len(whole.counted) == ANSWERED + DECLINED and whole.pareto.first is None
    page = BeautifulSoup(tables.pareto(whole.pareto), "html.parser")
    assert page.caption.get_text() == "Causes, largest first"
    assert "not admitted" not in page.get_text()


def test_shares_of_correct_answers_by_part_are_over_the_same_questions(unread):
    result = read(unread, 10)
    found = {row.part: row.values["correct"] for row in result.measures_by("category")}
    declines = len(result.counted) - 10
    assert found["a"] == Share(5, 10, {"after the last one read": ANSWERED - 10})
    assert found["d"] == Share(0, declines, {"after the last one read": DECLINED - declines})
    said = f"Labels are over the first {len(result.counted)} questions of the order, those up to the last answer read."
    assert said in tables.segments(result) and said not in tables.segments(read(unread, ANSWERED))


def test_before_any_label_there_are_words_and_no_number(unread):
    result = read(unread, 0)
    assert set(result.counted) == set(result.order[: result.order.index(result.to_read[0])])
    for page in (
        tables.pareto(result.pareto),
        figures.causes(result.pareto),
        run_page(result),
        tables.segments(result),
    ):
        assert "nan" not in BeautifulSoup(page, "html.parser").get_text().lower().split()
    assert result.decision().verdict == "not_decided"
