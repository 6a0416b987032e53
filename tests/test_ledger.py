"""Week 2: what is written before a run, what after it, and that nothing is decided twice."""

import json
import re
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from tiny import SECRET, run_and_label, tiny_pilot

from rag_pilot.analysis.comparison import SpentLevelError
from rag_pilot.errors import DataError, ModelError, StaleError
from rag_pilot.files import append_jsonl
from rag_pilot.grading.form import LabelForm
from rag_pilot.grading.labels import LabelStore
from rag_pilot.ledger import LeakingChangeError, Ledger, level_for
from rag_pilot.pilot import Pilot
from rag_pilot.reading import changed_items, changes_form
from rag_pilot.records import Label
from rag_pilot.reporting import tables

PLANNED = """
[[change]]
name = "glossary"
cause = "not_retrieved"
hypothesis = "Staff say cab."
measure = "hit5"
set = { "retrieval.glossary" = true }
[[change]]
name = "mended"
cause = "missing_or_stale"
hypothesis = "The hotel limit is out of date."
measure = "correct"
"""


@pytest.fixture
def pilot(tmp_path: Path) -> Pilot:
    pilot = tiny_pilot(tmp_path)
    path = pilot.data / "pilot.toml"
    text = path.read_text(encoding="utf-8").replace("changes_planned = 1", "changes_planned = 2")
    path.write_text(
        text.replace('method = "keyword"', 'method = "keyword"\nglossary = false') + PLANNED, encoding="utf-8"
    )
    (pilot.data / "glossary.toml").write_text('cab = ["taxi"]\n', encoding="utf-8")
    overlay = pilot.data / "changes" / "mended" / "documents"
    overlay.mkdir(parents=True)
    old = (pilot.data / "documents" / "travel.md").read_text(encoding="utf-8")
    (overlay / "travel.md").write_text(old.replace("95 euros", "120 euros"), encoding="utf-8")
    opened = Pilot.open("tiny", tmp_path)
    run_and_label(opened)
    return opened


def test_hypothesis_level_and_detectable_difference_stand_in_the_ledger_before_the_verdict(pilot):
    tried = Ledger(pilot).attempt("glossary")
    planned, verdict = Ledger(pilot).lines()
    assert (planned["event"], verdict["event"]) == ("planned", "verdict")
    assert planned["hypothesis"] == "Staff say cab."
    assert planned["level"] == pytest.approx(0.025)
    assert planned["measure"] == "hit5"
    assert "verdict" not in planned
    assert tried.comparison.verdict == verdict["verdict"] == "not shown"


def test_an_equal_pair_of_runs_is_read_back_and_not_decided_twice(pilot):
    first = Ledger(pilot).attempt("glossary")
    lines = Ledger(pilot).path.read_bytes()
    again = Ledger(Pilot.open("tiny", pilot.data.parents[1])).attempt("glossary")
    assert Ledger(pilot).path.read_bytes() == lines
    assert again.entry == first.entry


def test_a_changed_answer_that_nobody_read_is_not_measured_and_goes_to_the_expert(pilot):
    tried = Ledger(pilot).attempt("mended")
    assert tried.comparison.not_measured == ("q2", "q6")  # the answer to q2 quotes the limit too
    assert set(tried.to_read) == {"q2", "q6"}
    assert tried.comparison.verdict == "not shown"  # one question is within luck, whatever she says
    assert Ledger(pilot).kept() == ()


def test_once_read_it_counts_at_the_level_fixed_before(pilot):
    tried = Ledger(pilot).attempt("mended")
    answer = tried.after.run.answers["q6"]
    append_jsonl(
        pilot.data / "labels.jsonl", Label("q6", answer.sha, "Maud", "correct", saved_at="2026-01-06T10:00:00+01:00")
    )
    again = Ledger(pilot).attempt("mended")
    assert again.comparison.fixed == ("q6",)
    assert again.comparison.level == tried.comparison.level
    assert again.entry == tried.entry  # a verdict is never revised
    assert len([line for line in Ledger(pilot).lines() if line["event"] == "verdict"]) == 1


def test_an_undecided_change_keeps_its_share_of_the_level(pilot):
    Ledger(pilot).attempt("mended")
    assert Ledger(pilot).attempt("glossary").comparison.level == pytest.approx(0.025)


STEPS = st.lists(st.tuples(st.sampled_from("abcdefg"), st.sampled_from(("", "not decided", "not shown"))), max_size=20)


@given(STEPS, st.integers(1, 6))
def test_in_no_order_of_planning_and_deciding_is_more_than_the_level_spent_where_none_is_kept(steps, changes_planned):
    lines, spent = [], {}
    for name, verdict in steps:  # an empty verdict: planned, and its run failed
        try:
            spent[name] = level_for(name, lines, changes_planned)
        except SpentLevelError:
            assert len(spent) == changes_planned and name not in spent
            continue
        lines.append({"event": "planned", "name": name, "level": spent[name]})
        if verdict:
            lines.append({"event": "verdict", "name": name, "verdict": verdict})
    assert sum(spent.values()) <= 0.05 + 1e-12


def test_a_change_that_is_planned_and_has_no_verdict_yet_keeps_its_share_of_the_level(pilot):
    path = pilot.data / "pilot.toml"
    missing = '[[change]]\nname = "folder"\ncause = "not_retrieved"\nhypothesis = "h"\nmeasure = "hit5"\n'
    missing += 'set = { "retrieval.method" = "hybrid", "retrieval.embedding" = "/no/such/model" }\n'
    path.write_text(path.read_text(encoding="utf-8") + missing, encoding="utf-8")
    ledger = Ledger(Pilot.open("tiny", pilot.data.parents[1]))
    with pytest.raises(ModelError):
        ledger.attempt("folder")
    assert ledger.attempt("mended").comparison.level == pytest.approx(0.025)
    with pytest.raises(SpentLevelError):  # two are planned; the model may still come, and its change be tested
        ledger.attempt("glossary")


def test_all_changes_are_tried_in_order_and_a_missing_model_is_said(pilot):
    path = pilot.data / "pilot.toml"
    text = path.read_text(encoding="utf-8").replace("changes_planned = 2", "changes_planned = 3")
    path.write_text(
        text
        + '[[change]]\nname = "folder"\ncause = "not_retrieved"\nhypothesis = "h"\nmeasure = "hit5"\n'
        + 'set = { "retrieval.method" = "hybrid", "retrieval.embedding" = "/no/such/model" }\n',
        encoding="utf-8",
    )
    changed = Pilot.open("tiny", pilot.data.parents[1])
    changed.lock_acceptance(why="one more change was planned")
    ledger = Ledger(changed)
    assert [t.change.name for t in ledger.attempt_all()] == ["glossary", "mended"]
    assert "/no/such/model" in ledger.skipped["folder"]


def test_a_change_that_is_not_planned_is_refused(pilot):
    with pytest.raises(DataError, match="glossary, mended"):
        Ledger(pilot).attempt("luck")


def edit(pilot: Pilot, file: str, old: str, new: str) -> Pilot:
    path = pilot.data / file
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return Pilot.open("tiny", pilot.data.parents[1])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Staff say cab.", "Something else."),
        ('"retrieval.glossary" = true', '"retrieval.k" = 4'),
        ('cause = "not_retrieved"', 'cause = "missing_or_stale"'),
    ],
)
def test_a_decided_name_with_another_content_is_refused(pilot, old, new):
    Ledger(pilot).attempt("glossary")
    lines = Ledger(pilot).lines()
    with pytest.raises(DataError, match="name of its own"):
        Ledger(edit(pilot, "pilot.toml", old, new)).attempt("glossary")
    assert Ledger(pilot).lines() == lines


def test_a_mended_typo_decides_nothing_again_and_says_so(pilot):
    Ledger(pilot).attempt("glossary")
    verdicts = Ledger(pilot).verdicts()
    ledger = Ledger(edit(pilot, "documents/leave.md", "Everybody", "Everyone"))
    assert "glossary" not in [t.change.name for t in ledger.attempt_all()]
    assert "the verdict stands" in ledger.skipped["glossary"]
    assert ledger.verdicts()["glossary"] == verdicts["glossary"]


def test_a_change_that_changes_nothing_is_refused_and_takes_no_share_of_the_level(pilot):
    path = pilot.data / "pilot.toml"
    text = path.read_text(encoding="utf-8").split("[[change]]")[0]
    empty = '[[change]]\nname = "empty"\ncause = "not_retrieved"\nhypothesis = "h"\nmeasure = "hit5"\n'
    path.write_text(text + empty, encoding="utf-8")
    opened = Pilot.open("tiny", pilot.data.parents[1])
    runs = sorted((pilot.results / "runs").iterdir())
    with pytest.raises(DataError, match="empty changes nothing: give it settings"):
        Ledger(opened).attempt("empty")
    ledger = Ledger(opened)
    assert ledger.attempt_all() == [] and "changes nothing" in ledger.skipped["empty"]
    assert ledger.lines() == [] and sorted((pilot.results / "runs").iterdir()) == runs


def test_a_decided_change_whose_files_are_others_by_now_runs_nothing(pilot):
    Ledger(pilot).attempt("mended")
    page = pilot.data / "changes" / "mended" / "documents" / "travel.md"
    page.write_text(page.read_text(encoding="utf-8").replace("120", "130"), encoding="utf-8")
    runs = sorted((pilot.results / "runs").iterdir())
    with pytest.raises(StaleError, match="plan it under a new name, its folder"):
        Ledger(Pilot.open("tiny", pilot.data.parents[1])).attempt("mended")
    assert sorted((pilot.results / "runs").iterdir()) == runs


# -- both versions of changed answers, read by the expert ------------------------------------------------------------

LIMITS = {"hotel": "95", "taxi": "30", "train": "80", "meals": "40", "parking": "25", "visa": "60"}


@pytest.fixture
def outdated(tmp_path: Path) -> Pilot:
    """Six limits that are out of date in the documents and mended by a change."""
    return with_limits(tmp_path, LIMITS)


def with_limits(root: Path, limits: dict[str, str]) -> Pilot:
    pilot = tiny_pilot(root)
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8") + PLANNED[PLANNED.rindex("[[change]]") :], encoding="utf-8")
    rows = []
    for name, euros in limits.items():
        text = f"---\ngroups: [all-staff]\nowner: Finance\n---\n# {name}\n\nThe {name} limit is {euros} euros.\n"
        for folder, new in (("documents", text), ("changes/mended/documents", text.replace(euros, f"1{euros}"))):
            (pilot.data / folder).mkdir(parents=True, exist_ok=True)
            (pilot.data / folder / f"{name}.md").write_text(new, encoding="utf-8")
        question = {"id": name, "question": f"What is the {name} limit?", "expected": f"1{euros} euros", "doc": name}
        rows.append(json.dumps({**question, "groups": [], "answerable": True}) + "\n")
    with (pilot.data / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(rows)
    opened = Pilot.open("tiny", root)
    opened.lock_acceptance()
    return opened


def read_all(form: LabelForm, label_of) -> list[str]:
    """Label what the form shows, one screen after the other, as an expert would; return the answers read."""
    read = []
    form.press("ready")
    while form.session.item:
        item = form.session.item
        read.append(item.answer)
        form.session._shown_at -= timedelta(seconds=5)
        key = label_of(item)
        form.press(key)
        if key != "1":
            form.press("ArrowRight")
    return read


def test_the_expert_reads_both_versions_shuffled_and_her_labels_decide(outdated):
    tried = Ledger(outdated).attempt("mended")
    assert tried.entry["verdict"] == "not decided"
    form = changes_form([tried])
    read = read_all(form, lambda item: "1" if item.expected.split()[0] in item.answer else "3")
    assert not any(item.doc_updated or item.passages[0].updated for item in form.session.queue)
    new = ["limit is 1" in text for text in read]
    assert sorted(set(read)) == sorted(read) and new.count(True) == new.count(False) == len(LIMITS)
    assert new not in ([True] * 6 + [False] * 6, [False] * 6 + [True] * 6, [True, False] * 6, [False, True] * 6)
    again = Ledger(outdated).attempt("mended")
    assert (again.entry["verdict"], again.comparison.fixed) == ("kept", tuple(sorted(LIMITS)))
    rows = BeautifulSoup(tables.changes([again]), "html.parser").find_all("tr")
    (row,) = (r.get_text(" ") for r in rows if r.find("th") and r.find("th").get_text() == "visa")
    for said in ("What is the visa limit?", "Expected: 160 euros", "The visa limit is 60", "The visa limit is 160"):
        assert said in row
    assert "No changed answer" in changes_form([again]).data
    assert "Aucune réponse modifiée" in changes_form([again], "fr").data
    path = outdated.data / "pilot.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("[pilot]", '[pilot]\nform_language = "pl"', 1), encoding="utf-8"
    )
    polish = Ledger(Pilot.open("tiny", outdated.data.parents[1])).attempt("mended")
    assert "Żadna zmieniona odpowiedź" in changes_form([polish]).data
    assert "No changed answer" in changes_form([]).data


def test_what_a_kept_change_altered_of_the_sample_is_read_too_though_another_measure_decided_it(tmp_path):
    jargon = ["zorb", "yurn", "wisp", "vack", "tolm", "snib", "quell", "plim"]
    limits = dict(
        zip(["taxi", "meal", "hotel", "train", "plane", "ferry", "coach", "bike"], map(str, range(10, 18)), strict=True)
    )
    pilot = with_limits(tmp_path, limits)
    questions, settings = pilot.data / "questions.jsonl", pilot.data / "pilot.toml"
    text = questions.read_text(encoding="utf-8")
    terms = dict(zip(limits, jargon, strict=True))
    for name, term in terms.items():  # only the glossary tells which limit it is
        text = text.replace(f"What is the {name} limit?", f"What is the limit of a {term} in euros?")
    questions.write_text(text, encoding="utf-8")
    (pilot.data / "glossary.toml").write_text("".join(f'{term} = ["{name}"]\n' for name, term in terms.items()))
    text = settings.read_text(encoding="utf-8")
    text = text[: text.rindex("[[change]]")] + PLANNED[: PLANNED.rindex("[[change]]")]
    settings.write_text(text.replace('method = "keyword"', 'method = "keyword"\nglossary = false\nk = 1'), "utf-8")
    opened = Pilot.open("tiny", tmp_path)
    first = Ledger(opened).result(())
    for position, i in enumerate(first.to_read, start=1):
        label = Label(i, first.run.answers[i].sha, "Maud", "wrong", position=position)
        LabelStore(opened.data / "labels.jsonl").add(label)
    tried = Ledger(opened).attempt_all()
    assert [one.entry["verdict"] for one in tried] == ["kept"]
    final = Ledger(opened).result()
    altered = {i for i in final.to_read if final.run.answers[i].sha != first.run.answers[i].sha}
    assert len(altered) == 7 and set(final.expert.stale) == altered
    assert "read what changed in notebook 07" in str(tables.progress(final))
    form = changes_form(tried)
    assert {item.question_id for item in form.session.queue} == altered
    assert all(item.answer == final.run.answers[item.question_id].text for item in form.session.queue)
    read_all(form, lambda item: "1")
    done = Ledger(opened)
    assert done.result().labelled == (len(final.to_read), len(final.to_read))
    assert "No changed answer" in changes_form(done.attempt_all()).data
    assert "Done: the score is" in str(tables.progress(done.result()))


def test_what_is_read_of_kept_changes_is_the_last_run_wherever_they_stand_in_the_settings(tmp_path):
    words = [
        "taxi",
        "meal",
        "hotel",
        "train",
        "plane",
        "ferry",
        "coach",
        "bike",
        "pram",
        "tent",
        "lamp",
        "desk",
        "vase",
        "fork",
        "sofa",
        "kite",
    ]
    pilot = with_limits(tmp_path, dict(zip(words, map(str, range(10, 26)), strict=True)))
    terms = {word: f"zz{word[::-1]}" for word in words}  # only a glossary tells which limit is meant
    questions, settings = pilot.data / "questions.jsonl", pilot.data / "pilot.toml"
    text = questions.read_text(encoding="utf-8")
    for word, term in terms.items():
        text = text.replace(f"What is the {word} limit?", f"What is the limit of a {term} in euros?")
    questions.write_text(text, encoding="utf-8")
    lines = [f'{term} = ["{word}"]\n' for word, term in terms.items()]
    (pilot.data / "glossary.toml").write_text("".join(lines[:8]), encoding="utf-8")
    (pilot.data / "changes" / "more").mkdir(parents=True)
    (pilot.data / "changes" / "more" / "glossary.toml").write_text("".join(lines), encoding="utf-8")
    text = settings.read_text(encoding="utf-8").replace("changes_planned = 1", "changes_planned = 2")
    plain = text[: text.rindex("[[change]]")].replace('"keyword"', '"keyword"\nglossary = false\nk = 1')
    one = PLANNED[: PLANNED.rindex("[[change]]")]
    settings.write_text(plain + one, encoding="utf-8")
    (pilot.data / "acceptance.lock.json").unlink()
    Pilot.open("tiny", tmp_path).lock_acceptance()
    opened = Pilot.open("tiny", tmp_path)
    first = Ledger(opened).result(())
    for position, i in enumerate(first.to_read, start=1):
        label = Label(i, first.run.answers[i].sha, "Maud", "wrong", position=position)
        LabelStore(opened.data / "labels.jsonl").add(label)
    Ledger(opened).attempt_all()
    settings.write_text(plain + one.replace('"glossary"', '"more"') + one, encoding="utf-8")  # planned later, above it
    ledger = Ledger(Pilot.open("tiny", tmp_path))
    tried = ledger.attempt_all()
    assert [(x.change.name, x.entry["verdict"]) for x in tried] == [("more", "kept"), ("glossary", "kept")]
    assert ledger.kept() == ("glossary", "more")
    final = ledger.result()
    altered = {i for i in final.to_read if final.run.answers[i].sha != first.run.answers[i].sha}
    assert {item.question_id for item in changes_form(tried).session.queue} == altered
    assert len(altered) > 8


def test_a_judge_that_is_not_admitted_calls_no_pair_alike(tmp_path):
    """It scores all old and new answers alike (the word expected is not said): more than the twenty of a check."""
    limits = {f"limit{n}": str(10 + n) for n in range(24)}
    pilot = with_limits(tmp_path, limits)
    questions = pilot.data / "questions.jsonl"
    text = questions.read_text(encoding="utf-8")
    questions.write_text(re.sub(r'"expected": "1\d\d euros"', '"expected": "ask Finance"', text), encoding="utf-8")
    tried = Ledger(Pilot.open("tiny", tmp_path)).attempt("mended")
    assert set(tried.to_read) >= set(limits) and tried.entry["verdict"] == "not decided"
    assert len(changed_items([tried])) >= 2 * len(limits)
    n = len(tried.to_read)
    assert f"The judge is not admitted, so all {n} changed answers are read" in tables.changes([tried])


def test_a_change_beyond_those_planned_is_passed_over_and_the_others_stand(outdated):
    path = outdated.data / "pilot.toml"
    more = PLANNED[PLANNED.rindex("[[change]]") :].replace('"mended"', '"more"').replace('"correct"', '"hit5"')
    path.write_text(path.read_text(encoding="utf-8") + more + 'set = { "retrieval.k" = 2 }\n', encoding="utf-8")
    ledger = Ledger(Pilot.open("tiny", outdated.data.parents[1]))
    ledger.attempt("more")
    path.write_text(path.read_text(encoding="utf-8").replace('"more"', '"third"'), encoding="utf-8")
    ledger = Ledger(Pilot.open("tiny", outdated.data.parents[1]))
    tried = ledger.attempt_all()
    assert "used" not in ledger.skipped.get("mended", "")
    assert "changes_planned" in ledger.skipped["third"] and "third" not in [t.change.name for t in tried]


def test_an_interrupted_reading_goes_on_where_it_stopped(outdated):
    form = changes_form([Ledger(outdated).attempt("mended")])
    form.press("ready")
    for _ in range(2):
        form.session._shown_at -= timedelta(seconds=5)
        form.press("1" if "limit is 1" in form.session.item.answer else "3")
        form.press("ArrowRight")
    later = changes_form([Ledger(outdated).attempt("mended")])
    assert later.session.progress() == (2, 12)


def test_a_version_read_in_week_1_is_not_asked_again(outdated):
    result = Ledger(outdated).result(())
    for position, name in enumerate(LIMITS, start=1):
        label = Label(name, result.run.answers[name].sha, "Maud", "wrong", position=position)
        LabelStore(outdated.data / "labels.jsonl").add(label)
    items = changed_items([Ledger(outdated).attempt("mended")])
    assert len(items) == 6 and all("limit is 1" in item.answer for item in items)


def test_an_expert_who_may_not_open_a_version_is_not_shown_it(outdated):
    new = outdated.data / "changes" / "mended" / "documents" / "visa.md"
    new.write_text(new.read_text(encoding="utf-8").replace("[all-staff]", "[hr]"), encoding="utf-8")
    questions = outdated.data / "questions.jsonl"
    text = questions.read_text(encoding="utf-8")
    questions.write_text(
        "".join(
            line.replace('"groups": []', '"groups": ["hr"]') if '"id": "visa"' in line else line
            for line in text.splitlines(keepends=True)
        ),
        encoding="utf-8",
    )
    form = changes_form([Ledger(Pilot.open("tiny", outdated.data.parents[1])).attempt("mended")])
    assert "160 euros" not in "".join(item.answer for item in form.session.queue)
    form.press("ready")
    assert "hr" in form.page.value


# -- a change that waits while another is decided ----------------------------------------------------------------------


def right_if_expected(item) -> str:
    return "1" if item.expected.split()[0] in item.answer else "3"


def waiting_beside(root: Path, limits: dict[str, str], jargon: dict[str, str]) -> Pilot:
    """`mended` is planned first and waits for a reader; `glossary`, which explains `jargon`, is planned next."""
    pilot = with_limits(root, limits)
    questions, settings = pilot.data / "questions.jsonl", pilot.data / "pilot.toml"
    text = questions.read_text(encoding="utf-8")
    for name, term in jargon.items():
        text = text.replace(f"What is the {name} limit?", f"What is the limit of a {term} in euros?")
    questions.write_text(text, encoding="utf-8")
    told = "".join(f'{term} = ["{name}"]\n' for name, term in jargon.items())
    (pilot.data / "glossary.toml").write_text(told or 'cab = ["taxi"]\n', encoding="utf-8")
    text = settings.read_text(encoding="utf-8").replace("changes_planned = 1", "changes_planned = 2")
    text = text.replace('method = "keyword"', 'method = "keyword"\nglossary = false\nk = 1')
    settings.write_text(text + PLANNED[: PLANNED.rindex("[[change]]")], encoding="utf-8")
    (pilot.data / "acceptance.lock.json").unlink()
    opened = Pilot.open("tiny", root)
    opened.lock_acceptance()
    return opened


def test_a_change_stays_on_what_was_kept_when_it_was_planned_though_an_earlier_one_is_kept_later(tmp_path):
    pilot = waiting_beside(tmp_path, {**LIMITS, "lunch": "12", "bike": "15"}, {})
    waiting = Ledger(pilot).attempt_all()
    assert [t.entry["verdict"] for t in waiting] == ["not decided", "not shown"]
    read_all(changes_form(waiting), right_if_expected)
    for _ in range(2):
        ledger = Ledger(pilot)
        tried = ledger.attempt_all()
        assert [(t.change.name, t.entry["verdict"]) for t in tried] == [("mended", "kept"), ("glossary", "not shown")]
        assert ledger.skipped == {} and ledger.left() == 0
        assert {t.before.run.id for t in tried} == {ledger.result(()).run.id}
    assert [line["event"] for line in ledger.lines()].count("planned") == 2


def test_of_two_changes_kept_beside_each_other_the_run_with_both_is_read(tmp_path):
    words = ["taxi", "meal", "hotel", "train", "plane", "ferry", "coach", "bike"]
    jargon = dict(zip(words, ["zorb", "yurn", "wisp", "vack", "tolm", "snib", "quell", "plim"], strict=True))
    others = ["lamp", "desk", "vase", "fork", "sofa", "kite", "drum", "harp"]
    limits = {word: str(10 + n) for n, word in enumerate(words)} | {word: str(60 + n) for n, word in enumerate(others)}
    pilot = waiting_beside(tmp_path, limits, jargon)
    first = Ledger(pilot).result(())
    for position, i in enumerate(first.to_read, start=1):
        label = Label(i, first.run.answers[i].sha, "Maud", "wrong", position=position)
        LabelStore(pilot.data / "labels.jsonl").add(label)
    waiting = Ledger(pilot).attempt_all()
    assert [t.entry["verdict"] for t in waiting] == ["not decided", "kept"]
    found = waiting[1].retrieval
    assert (found.hit1.before.count, found.hit1.after.count, found.hit1.n) == (12, 19, 20)
    assert found.hit1.p == found.hit5.p == 2**-7 and found.hit1.interval == found.hit5.interval
    assert (found.mrr.n, found.mrr.changed, found.mrr.interval) == (20, 7, None)  # under forty questions: no interval
    assert found.mrr.difference == pytest.approx(7 / 20)
    shown = str(tables.changes(waiting[1:]))
    assert "+0.350 (no interval: too few questions, or too few changed)" in shown and "never decided on" in shown
    read_all(changes_form(waiting), right_if_expected)
    ledger = Ledger(pilot)
    tried = ledger.attempt_all()
    assert ledger.kept() == ("mended", "glossary")
    final = ledger.result()
    assert final.run.id not in {t.after.run.id for t in tried} and final.labelled[0] < final.labelled[1]
    form = changes_form(tried)
    assert all(item.answer == final.run.answers[item.question_id].text for item in form.session.queue)
    read_all(form, right_if_expected)
    assert Ledger(pilot).result().labelled == (len(final.to_read), len(final.to_read))


def test_what_kept_changes_altered_is_read_though_none_of_them_can_be_tried_again(outdated):
    tried = [Ledger(outdated).attempt("mended")]
    read_all(changes_form(tried), right_if_expected)
    assert Ledger(outdated).attempt("mended").entry["verdict"] == "kept"
    ledger = Ledger(edit(outdated, "changes/mended/documents/visa.md", "160 euros", "160 euros a visa"))
    assert ledger.attempt_all() == [] and "the verdict stands" in ledger.skipped["mended"]
    queue = changes_form([], ledger=ledger).session.queue
    assert "visa" in {item.question_id for item in queue}


# -- calls that failed -------------------------------------------------------------------------------------------------


def fail(result, question: str, final: bool = True) -> None:
    """As the run would stand on disk, had the model's reply to that question been filtered twice."""
    path = result.run.folder / "answers.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lost = {"question_id": question, "status": "error", "reason": "filtered", "final": final}
    path.write_text("".join(json.dumps(lost if r["question_id"] == question else r) + "\n" for r in rows), "utf-8")


def test_a_failed_call_is_named_and_its_run_holds_the_same_questions(pilot):
    fail(Ledger(pilot).result(("glossary",)), "q2")
    found = Ledger(pilot).attempt("glossary")
    assert (found.entry["verdict"], found.entry["failed"], found.entry["questions"]) == ("not shown", 1, 3)
    assert "1 failed (q2)" in found.comparison.words and "same questions" not in found.comparison.words
    assert Ledger(pilot).left() == 1


def test_a_failed_call_is_not_given_to_the_expert_to_read(outdated):
    fail(Ledger(outdated).result(("mended",)), "visa")
    found = Ledger(outdated).attempt("mended")
    assert found.comparison.failed == ("visa",) and "visa" not in found.to_read and "hotel" in found.to_read
    assert found.entry["verdict"] == "not shown" and changed_items([found]) == []  # at best 5 to 1, whatever she reads


def test_a_long_answer_is_shortened_on_the_page_and_a_failed_one_says_why(outdated):
    page = outdated.data / "changes" / "mended" / "documents" / "taxi.md"
    page.write_text(page.read_text("utf-8").replace("130 euros", "130 euros" + " and more" * 90), "utf-8")
    fail(Ledger(Pilot.open("tiny", outdated.data.parents[1])).result(("mended",)), "visa")
    shown = str(tables.changes([Ledger(Pilot.open("tiny", outdated.data.parents[1])).attempt("mended")]))
    assert "failed: filtered" in shown and "130 euros and more" in shown and " …<" in shown
    assert " and more" * 50 not in shown


def test_a_document_that_a_change_adds_makes_no_other_set_of_questions(pilot):
    page = pilot.data / "documents" / "leave.md"
    (pilot.data / "changes" / "mended" / "documents" / "leave.md").write_text(page.read_text("utf-8"), "utf-8")
    page.unlink()
    found = Ledger(edit(pilot, "pilot.toml", 'measure = "correct"', 'measure = "hit5"')).attempt("mended").comparison
    assert (found.fixed, found.only_after, found.verdict) == (("q1",), (), "not shown")


# -- a change that leaks -----------------------------------------------------------------------------------------------


def test_a_change_whose_run_leaks_gets_no_verdict_spends_nothing_and_is_decided_once_it_is_mended(outdated):
    """All answers are mended and read: it would be kept, were there not one restricted passage in the run file."""
    tried = Ledger(outdated).attempt("mended")
    read_all(changes_form([tried]), lambda item: "1" if item.expected.split()[0] in item.answer else "3")
    path = tried.after.run.folder / "answers.jsonl"
    sound = path.read_text(encoding="utf-8")
    lines = Ledger(outdated).lines()
    secret = next(p.id for p in tried.after.built.index.passages if p.doc == "salaries")
    rows = [json.loads(line) for line in sound.splitlines()]
    q1 = next(row for row in rows if row["question_id"] == "q1")
    for plant in (
        lambda: q1["lists"]["keyword"].append(secret),
        lambda: q1.update(text=f"Band 7 pays {SECRET} euros a year."),
    ):
        before = json.dumps(q1)
        plant()
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        ledger = Ledger(Pilot.open("tiny", outdated.data.parents[1]))
        with pytest.raises(LeakingChangeError, match=r"leaks on 1 of 12 questions .*q1.*no level spent"):
            ledger.attempt("mended")
        assert ledger.attempt_all() == [] and "run file: q1" in ledger.skipped["mended"]
        assert ledger.lines() == lines and ledger.kept() == () and ledger.left() == 1
        q1.clear()
        q1.update(json.loads(before))
    path.write_text(sound, encoding="utf-8")
    again = Ledger(Pilot.open("tiny", outdated.data.parents[1])).attempt("mended")
    assert again.entry["verdict"] == "kept" and again.comparison.level == tried.comparison.level


def test_a_leaking_run_is_answered_anew_once_it_is_removed(outdated):
    tried = Ledger(outdated).attempt("mended")
    folder = tried.after.run.folder
    rows = [json.loads(line) for line in (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()]
    rows[0]["text"] = f"Band 7 pays {SECRET} euros a year."
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(LeakingChangeError, match=re.escape(f"remove {folder}")):
        Ledger(outdated).attempt("mended")
    shutil.rmtree(folder)
    assert Ledger(outdated).attempt("mended").entry["verdict"] == "not decided"
