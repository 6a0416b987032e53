import json
from datetime import date
from pathlib import Path

import pytest

from rag_pilot.errors import PilotError, SettingsError, StaleError
from rag_pilot.files import read_text
from rag_pilot.lock import as_locked, lock_criteria, read_lock
from rag_pilot.reporting import tables
from rag_pilot.settings import Settings, read_settings

DAY, LATER = date(2026, 9, 1), date(2026, 9, 20)
GOOD = """
[pilot]
title = "Ask the handbook"
languages = ["en", "fr"]
as_of = 2026-09-15
[[acceptance]]
name = "few wrong"
measure = "wrong"
at_most = 0.05
[[acceptance]]
name = "found"
measure = "hit5"
at_least = 0.85
of = "answerable questions"
[retrieval]
k = 6
[cost]
input_per_million = 5
[budgets]
total = 1.9
[[change]]
name = "titles"
cause = "not_retrieved"
hypothesis = "titles help"
measure = "hit5"
set = { "retrieval.titles" = false }
"""


def pilot(folder: Path, text: str) -> Path:
    path = folder / "pilot.toml"
    path.write_bytes(text.encode())
    return path


# -- reading ---------------------------------------------------------------------------------------------------------


def test_what_the_file_does_not_say_has_its_default(tmp_path: Path) -> None:
    settings = read_settings(pilot(tmp_path, GOOD))
    assert (settings.pilot.languages, settings.pilot.as_of) == (("en", "fr"), date(2026, 9, 15))
    assert (settings.retrieval.k, settings.retrieval.depth, settings.retrieval.rrf_k) == (6, 50, 60)
    assert (settings.cost.input_per_million, settings.budgets) == (5.0, {"total": 1.9})
    assert read_settings(pilot(tmp_path, "")) == Settings()


def test_a_mark_of_byte_order_and_other_line_ends_change_nothing(tmp_path: Path) -> None:
    plain = read_settings(pilot(tmp_path, GOOD))
    assert read_settings(pilot(tmp_path, "\ufeff" + GOOD.replace("\n", "\r\n"))) == plain


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ("[retrieval]\nk = 0", "retrieval.k is 0"),
        ("[retrieval]\nk = -3", "retrieval.k is -3"),
        ("[retrieval]\nk = true", "retrieval.k is True"),
        ('[retrieval]\nk = "5"', "retrieval.k is '5'"),
        ("[retrieval]\nk = 2.5", "retrieval.k is 2.5"),
        ("[retrieval]\ndepth = 0", "retrieval.depth is 0"),
        ("[retrieval]\nrrf_k = 0", "retrieval.rrf_k is 0"),
        ("[retrieval]\nper_document = -1", "retrieval.per_document is -1"),
        ('[retrieval]\nmethod = "vector"', "retrieval.method is 'vector'"),
        ('[retrieval]\nbm25 = "plus"', "retrieval.bm25 is 'plus'"),
        ('[retrieval]\ntitles = "yes"', "retrieval.titles is 'yes'"),
        ("[retrieval]\ntitles = 1", "retrieval.titles is 1"),
        ("[retrieval]\ntopk = 5", "retrieval.topk is no setting"),
        ("[retreival]\nk = 5", "retreival is no setting"),
        ("retrieval = 5", "retrieval is 5"),
        ("[passages]\nmax_tokens = 10", "passages.max_tokens is 10"),
        ("[passages]\nparent_tokens = 300", "passages is "),
        ("[passages]\noverlap = 0.9", "passages.overlap is 0.9"),
        ("[passages]\noverlap = nan", "passages.overlap is nan"),
        ('[pilot]\nlanguages = "en"', "pilot.languages is 'en'"),
        ("[pilot]\nlanguages = [1]", "pilot.languages.0 is 1"),
        ('[pilot]\nform_language = "de"', "pilot.form_language is 'de': Input should be 'en', 'fr' or 'pl'"),
        ('[pilot]\neveryone = ""', "pilot.everyone is ''"),
        ('[pilot]\nas_of = "soon"', "pilot.as_of is 'soon'"),
        ("[pilot]\nlabels = 0", "pilot.labels is 0"),
        ("[pilot]\nchanges_planned = 0", "pilot.changes_planned is 0"),
        ('[answer]\nkind = "gpt"', "answer.kind is 'gpt'"),
        ('[answer]\nkind = "model"', "answer is "),
        ("[answer]\ntemperature = -1", "answer.temperature is -1"),
        ("[answer]\ntemperature = nan", "answer.temperature is nan"),
        ("[answer]\nmax_tokens = 0", "answer.max_tokens is 0"),
        ("[answer]\ntimeout = 0", "answer.timeout is 0"),
        ("[answer]\ntimeout = inf", "answer.timeout is inf"),
        ("[answer]\nconcurrency = 0", "answer.concurrency is 0"),
        ("[answer]\nsentences = 0", "answer.sentences is 0"),
        ("[answer]\ncoverage = 1.5", "answer.coverage is 1.5"),
        ('[judge]\nkind = "model"', "judge is "),
        ('[judge]\nkind = "extractive"', "judge.kind is 'extractive'"),
        ("[cost]\ninput_per_million = -1", "cost.input_per_million is -1"),
        ('[cost]\nquestions_per_month = "many"', "cost.questions_per_month is 'many'"),
        ('[budgets]\ntotal = "fast"', "budgets.total is 'fast'"),
        ("[budgets]\ntotal = nan", "budgets.total is nan"),
        ("threshold_max_wrong = 0", "threshold_max_wrong is 0"),
        ('[[acceptance]]\nname = "x"\nmeasure = "speed"\nat_most = 1', "acceptance.0.measure is 'speed'"),
        ('[[acceptance]]\nname = "x"\nmeasure = "wrong"', "acceptance.0 is "),
        ('[[acceptance]]\nname = "x"\nmeasure = "wrong"\nat_most = 0.1\nat_least = 0.1', "acceptance.0 is "),
        ('[[acceptance]]\nname = "x"\nmeasure = "wrong"\nat_most = 5', "acceptance.0.at_most is 5"),
        ('[[acceptance]]\nname = "x"\nmeasure = "wrong"\nat_most = nan', "acceptance.0.at_most is nan"),
        ('[[acceptance]]\nname = "x"\nmeasure = "hit5"\nat_least = 0.8', "answerable questions"),
        ('[[acceptance]]\nmeasure = "wrong"\nat_most = 0.1', "acceptance.0.name"),
        (
            '[[acceptance]]\nname = "x"\nmeasure = "wrong"\nat_most = 0.1\n' * 2,
            "two [[acceptance]] have the name 'x'",
        ),
        (
            '[[change]]\nname = "New One"\ncause = "not_retrieved"\nhypothesis = ""\nmeasure = "hit5"',
            "change.0.name is 'New One'",
        ),
        (
            '[[change]]\nname = "x"\ncause = "outdated"\nhypothesis = ""\nmeasure = "hit5"',
            "change.0.cause is 'outdated'",
        ),
        (
            '[[change]]\nname = "x"\ncause = "not_retrieved"\nhypothesis = ""\nmeasure = "wrong"',
            "change.0.measure is 'wrong'",
        ),
        (
            '[[change]]\nname = "x"\ncause = "not_retrieved"\nhypothesis = ""\nmeasure = "hit5"\n' * 2,
            "two [[change]] have the name 'x'",
        ),
        (
            '[[change]]\nname = "x"\ncause = "not_retrieved"\n'
            'hypothesis = ""\nmeasure = "hit5"\nset = { "retrieval.topk" = 5 }',
            "change 'x': a change sets 'retrieval.topk', which is no setting",
        ),
        (
            '[[change]]\nname = "x"\ncause = "not_retrieved"\n'
            'hypothesis = ""\nmeasure = "hit5"\nset = { "retrieval.k" = 0 }',
            "change 'x': a change: retrieval.k is 0",
        ),
    ],
)
def test_a_wrong_entry_is_named_with_the_file_and_what_it_holds(tmp_path: Path, line: str, entry: str) -> None:
    with pytest.raises(SettingsError) as fault:
        read_settings(pilot(tmp_path, line))
    assert str(tmp_path / "pilot.toml") in str(fault.value)
    assert entry in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    "text", ["title = unquoted", "[pilot", "a = 1\na = 2", "[pilot]\n[pilot]", "[answer]\nmodel = 'x"]
)
def test_a_file_that_is_no_toml_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"pilot\.toml: .*(line \d|end of document).*mend the line"):
        read_settings(pilot(tmp_path, text))


def test_a_missing_file_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"does not exist: make a pilot with `rag-pilot new NAME`"):
        read_settings(tmp_path / "pilot.toml")


@pytest.mark.parametrize("line", ['api_key = "sk-live-123"', 'key = "sk-live-123"', 'key_variable = "sk-live-123"'])
def test_a_key_written_into_the_file_is_refused_and_not_repeated(tmp_path: Path, line: str) -> None:
    with pytest.raises(SettingsError) as fault:
        read_settings(pilot(tmp_path, f"[answer]\n{line}"))
    assert f"answer.{line.split(' ')[0]} is no" in str(fault.value)
    assert "sk-live" not in str(fault.value) + repr(fault.value.__context__)


# -- changing --------------------------------------------------------------------------------------------------------


def test_a_change_replaces_values_by_dotted_name_and_nothing_else() -> None:
    settings = Settings()
    changed = settings.changed({"retrieval.k": 8, "pilot.languages": ["fr"]})
    assert (changed.retrieval.k, changed.pilot.languages) == (8, ("fr",))
    assert changed.changed({"retrieval.k": 5, "pilot.languages": ["en"]}) == settings
    assert settings.retrieval.k == 5


@pytest.mark.parametrize("name", ["k", "retrieval", "retrieval.topk", "nothing.k", "", "acceptance.0", "retrieval.k.x"])
def test_a_change_of_what_is_no_setting_names_it(name: str) -> None:
    with pytest.raises(SettingsError, match="which is no setting") as fault:
        Settings().changed({name: 1})
    assert repr(name) in str(fault.value)


def test_a_change_to_what_cannot_be_names_the_entry() -> None:
    with pytest.raises(SettingsError, match="a change: retrieval.k is 'many'"):
        Settings().changed({"retrieval.k": "many"})


def test_the_fingerprint_follows_the_tables_named_and_no_others() -> None:
    settings = Settings()
    changed = settings.changed({"answer.sentences": 3})
    assert settings.fingerprint("answer") != changed.fingerprint("answer")
    assert settings.fingerprint("retrieval", "passages") == changed.fingerprint("passages", "retrieval")
    assert Settings.model_validate(settings.model_dump()).fingerprint("pilot") == settings.fingerprint("pilot")


# -- the lock --------------------------------------------------------------------------------------------------------


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return read_settings(pilot(tmp_path, GOOD))


def loosened(tmp_path: Path, at_most: float = 0.2, planned: int = 5) -> Settings:
    text = GOOD.replace("at_most = 0.05", f"at_most = {at_most}")
    return read_settings(pilot(tmp_path, text.replace("[pilot]", f"[pilot]\nchanges_planned = {planned}")))


def test_the_criteria_are_locked_once_with_date_and_author(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "acceptance.lock.json"
    assert read_lock(path) is None
    locked = lock_criteria(path, settings, DAY, "Maud")
    assert (locked["date"], locked["author"], locked["changes_planned"]) == ("2026-09-01", "Maud", 5)
    assert locked["criteria"][0] == {"name": "few wrong", "measure": "wrong", "at_most": 0.05, "of": "all questions"}
    before = path.read_bytes()
    assert lock_criteria(path, settings, LATER, "Otto", why="again") == locked == read_lock(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("why", ["", "  "])
@pytest.mark.parametrize("change", [{"at_most": 0.2}, {"at_most": 0.05, "planned": 1}])
def test_other_criteria_are_refused_without_a_reason_and_the_lock_stays(
    tmp_path: Path, settings: Settings, why: str, change: dict[str, float]
) -> None:
    path = tmp_path / "acceptance.lock.json"
    lock_criteria(path, settings, DAY, "Maud")
    before = path.read_bytes()
    with pytest.raises(StaleError, match="not those locked on 2026-09-01"):
        lock_criteria(path, loosened(tmp_path, **change), LATER, "Maud", why)  # type: ignore[arg-type]
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("plan", "told"), [("second_look", "second look at the judge"), ("extension_planned", "extension of the question")]
)
def test_a_second_verdict_is_planned_in_the_lock_or_amended_with_a_reason(
    tmp_path: Path, settings: Settings, plan: str, told: str
) -> None:
    path = tmp_path / "acceptance.lock.json"
    old = lock_criteria(path, settings, DAY, "Maud")
    assert plan not in old  # a lock from before there was such a plan reads as one without it
    planned = read_settings(pilot(tmp_path, GOOD.replace("[pilot]", f"[pilot]\n{plan} = true")))
    assert as_locked(settings, old) and not as_locked(planned, old)
    with pytest.raises(StaleError, match=told):
        lock_criteria(path, planned, LATER, "Maud")
    amended = lock_criteria(path, planned, LATER, "Maud", "agreed with the sponsor")
    assert amended[plan] is True and amended["amends"] == old and as_locked(planned, amended)
    assert told in tables.agreed(amended) and told in tables.criteria(["one"], amended, planned)
    with pytest.raises(StaleError, match=told):
        lock_criteria(path, settings, LATER, "Maud")
    path.write_text(read_text(path).replace(f'"{plan}": true, ', ""))
    with pytest.raises(SettingsError, match="edited by hand"):
        read_lock(path)


def test_an_amendment_keeps_every_earlier_lock_on_record(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "acceptance.lock.json"
    first = lock_criteria(path, settings, DAY, "Maud")
    second = lock_criteria(path, loosened(tmp_path), LATER, "Otto", "the sponsor agreed")
    third = lock_criteria(path, settings, LATER, "Maud", "a mistake")
    assert (second["why"], second["amends"]) == ("the sponsor agreed", first)
    assert third["amends"]["amends"] == first
    assert read_lock(path) == third


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"at_most": 0.2', '"at_most": 0.9'),
        ('"at_most": 0.05', '"at_most": 0.9'),
        ('"changes_planned": 5', '"changes_planned": 1'),
        ('"name": "few wrong", ', ""),
        ('"hash"', '"hush"'),
        ('"criteria"', '"criterion"'),
        ("}\n", "\n"),
        ("{", "["),
    ],
)
def test_a_lock_edited_by_hand_is_refused_in_all_its_history(
    tmp_path: Path, settings: Settings, old: str, new: str
) -> None:
    path = tmp_path / "acceptance.lock.json"
    lock_criteria(path, settings, DAY, "Maud")
    lock_criteria(path, loosened(tmp_path), LATER, "Maud", "agreed")
    text = read_text(path)
    assert old in text
    path.write_text(text.replace(old, new))
    for read in (lambda: read_lock(path), lambda: lock_criteria(path, settings, LATER, "Maud", "why not")):
        with pytest.raises(SettingsError, match=r"acceptance\.lock\.json: edited by hand or damaged"):
            read()


@pytest.mark.parametrize("text", ["", "null", "[]", "7", '"locked"'])
def test_a_lock_that_is_none_at_all_is_refused_too(tmp_path: Path, text: str) -> None:
    path = tmp_path / "acceptance.lock.json"
    path.write_text(text)
    with pytest.raises(PilotError, match="edited by hand or damaged"):
        read_lock(path)


def test_the_lock_is_plain_json_on_one_line(tmp_path: Path, settings: Settings) -> None:
    path = tmp_path / "acceptance.lock.json"
    locked = lock_criteria(path, settings, DAY, "Émilie")
    assert json.loads(path.read_bytes()) == locked
    assert path.read_bytes().count(b"\n") == 1
    assert "Émilie".encode() in path.read_bytes()


# -- documents ---------------------------------------------------------------------------------------------------------


def test_keys_of_other_programs_are_named_once(tmp_path: Path) -> None:
    path = tmp_path / "pilot.toml"
    path.write_text('[documents]\nother_keys = ["layout", "date"]\nids = "path"\nfresh_days = 365\n', encoding="utf-8")
    table = read_settings(path).documents
    assert (table.other_keys, table.ids, table.fresh_days) == (("layout", "date"), "path", 365)


@pytest.mark.parametrize(
    ("key", "meant"),
    [("groups", "groups"), ("Groups", "groups"), ("group", "groups"), ("groupes", "groups"), ("user_group", "groups")]
    + [("gruops", "groups"), ("Title", "title"), ("owners", "owner"), ("reviewby", "review_by"), ("LANG", "lang")],
)
def test_a_key_that_may_be_one_of_ours_mistyped_cannot_be_passed_over(tmp_path: Path, key: str, meant: str) -> None:
    path = tmp_path / "pilot.toml"
    path.write_text(f'[documents]\nother_keys = ["layout", "{key}"]\n', encoding="utf-8")
    with pytest.raises(SettingsError, match=f"documents .*other_keys holds '{key}', which is '{meant}' or nearly so"):
        read_settings(path)


@pytest.mark.parametrize("entry", ["fresh_days = -1", 'fresh_days = "365"', 'ids = "title"', 'other_keys = "layout"'])
def test_unfit_settings_of_documents_are_refused(tmp_path: Path, entry: str) -> None:
    path = tmp_path / "pilot.toml"
    path.write_text(f"[documents]\n{entry}\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=f"documents.{entry.split()[0]}"):
        read_settings(path)
