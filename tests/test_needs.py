"""What notebook 00 reckons with: rows counted, documents measured against a window, sources and their bounds."""

from pathlib import Path

import pytest
from small import add_documents, new_pilot, small_pilot

from rag_pilot.errors import SettingsError
from rag_pilot.planning import CorpusSize, corpus_size, sources
from rag_pilot.reporting import tables
from rag_pilot.settings import DocumentsTable, PlanTable, Settings, read_settings


def plan(**values: object) -> Settings:
    return Settings(plan=PlanTable(**values))


@pytest.mark.parametrize(
    ("needs", "count", "follows"),
    [
        (("changes", "source", "latency"), "2 of your 3 rows for retrieval, 1 for fine-tuning", "comes on top of it"),
        (("changes", "format"), "1 of your 2 rows for retrieval, 1 for fine-tuning", "Start with retrieval."),
        (("format", "latency", "access"), "1 of your 3 rows for", "cannot give you this: not everybody may read"),
        (("format", "latency", "start"), "1 of your 3 rows for", "Fine-tuning may serve you better"),
        (("format",), "0 of your 1 row for retrieval, 1 for", "Fine-tuning may serve you better"),
    ],
)
def test_the_teams_rows_are_counted_and_what_follows_is_said(needs, count, follows):
    page = repr(tables.decision_table(plan(needs=needs)))
    assert count in page and follows in page
    assert page.count("  yes  ") == len(needs)


def test_without_any_row_nothing_is_counted_and_it_says_where_to_name_them():
    page = repr(tables.decision_table(plan()))
    assert "not counted yet" in page and "[plan] needs" in page and "of your" not in page


def test_documents_fit_comfortably_up_to_half_the_window_and_not_beyond_it():
    size = CorpusSize(3, 1000, "words")
    assert [size.fits(window) for window in (2000, 1999, 1000, 999)] == ["yes", "barely", "barely", "no"]
    page = repr(tables.long_context(size, plan(context_window=500)))
    assert "3 documents, 1,000 tokens: they do not fit" in page and "2.0 times as long: you need a search" in page
    assert "1,000  50" in page  # 10,000 questions of 1,000 tokens at 5 a million


def test_tokens_are_those_of_all_documents_and_closed_ones_are_told(tmp_path):
    from rag_pilot.retrieval.embedding import cheap_counter

    pilot = small_pilot(tmp_path)
    found = corpus_size(pilot)
    count, name = cheap_counter(pilot.settings.passages.counted_with)
    alone = [count([d.text])[0] for d in pilot.documents().documents]
    assert (found.tokens, found.documents, found.counted_with, found.closed) == (sum(alone), 12, name, 4)
    assert "4 of them are not open to everyone" in tables.long_context(found, pilot.settings)


def test_each_source_has_its_own_bound_and_no_document_is_left_out(tmp_path):
    pilot = small_pilot(tmp_path)
    found = {s.name: s for s in sources(pilot)}
    assert {name: (s.days, len(s.documents)) for name, s in found.items()} == {
        "hire": (730, 8),
        "office": (1095, 2),
        "workshop": (1095, 2),
    }
    assert [d.id for d in found["hire"].stale] == ["late-returns"]  # 1,216 days; of 1,095 too, of 1,300 not
    assert (found["office"].stale, found["hire"].undated) == ((), 1)


def test_the_deepest_folder_that_is_named_counts_and_a_name_alone_is_no_folder():
    table = DocumentsTable(fresh_days=365, fresh={"hr": 90, "hr/pay": 30})
    assert [table.days_for(p) for p in ("hr/pay/a.md", "hr/b.md", "hrx/c.md", "d.md")] == [30, 90, 365, 365]


def test_a_folder_is_named_to_those_who_may_open_a_document_in_it(tmp_path):
    pilot = small_pilot(tmp_path)
    page = repr(tables.freshness(sources(pilot), {"all-staff"}))
    assert "workshop" not in page and "office" not in page and "2 sources not shown" in page
    assert "1 of 12 documents out of date" in page
    assert "workshop" in repr(tables.freshness(sources(pilot), {"workshop"}))


def test_a_bound_for_a_folder_that_is_not_there_is_told(tmp_path):
    pilot = new_pilot(tmp_path)
    add_documents(pilot)
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"hire" = 730', '"hires" = 730'), encoding="utf-8")
    found = sources(type(pilot).open(pilot.name, tmp_path))
    assert "No document stands in hires" in repr(tables.freshness(found, {"all-staff"}))


def test_a_build_range_is_the_articles_until_it_is_the_teams_own():
    assert "8,000 to 18,000 USD, 4 to 8 weeks  the article's published range" in repr(tables.build_cost(Settings()))
    assert "1 to 2 USD, 4 to 8 weeks  your figures" in repr(tables.build_cost(plan(build_cost=(1, 2))))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ('[plan]\nneeds = ["cheap"]', "plan.needs.0"),
        ("[plan]\nbuild_cost = [9, 8]", "the smaller one first"),
        ("[plan]\ncontext_window = 0", "plan.context_window"),
        ("[documents]\nfresh = { hr = -1 }", "documents.fresh.hr"),
    ],
)
def test_what_the_plan_cannot_mean_is_refused_with_its_name(tmp_path: Path, entry: str, said: str) -> None:
    (tmp_path / "pilot.toml").write_text(entry + "\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=said):
        read_settings(tmp_path / "pilot.toml")
