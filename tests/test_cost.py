"""Cost from measured tokens."""

from dataclasses import replace

import pytest

from rag_pilot.analysis.cost import Prices, Spending, Tariff, Usage, monthly_cost, spending, usage, what_if
from rag_pilot.errors import SettingsError
from rag_pilot.records import Answer, Verdict
from rag_pilot.settings import CostTable


def answer(tokens_in=0, tokens_out=0, status="answered", reason=None, **seconds):
    return Answer("q", status, reason=reason, tokens_in=tokens_in, tokens_out=tokens_out, seconds=seconds)


def test_the_articles_illustration():
    assert monthly_cost(10_000, Usage(2_800, 0), Prices(5, 5)) == pytest.approx(140)
    assert monthly_cost(10_000, Usage(2_500, 300), Prices(5, 15)) == pytest.approx(125 + 45)


def test_usage_counts_declines_without_a_call_as_free_and_leaves_untold_tokens_out():
    answers = [answer(1000, 100), answer(2000, 200), answer(status="declined", reason="no_passage")]
    answers += [answer(), answer(500, 5, status="error"), answer(900, 30, status="declined", reason="not_found")]
    assert usage(answers) == Usage(3900 / 4, 330 / 4, n=4, without_call=1, not_reported=1, errors=1)
    assert usage([answer(), answer(5, 5, status="error")]) is None
    assert usage([answer(), answer(status="declined", reason="no_passage")]) is None  # what is free tells no price


def test_what_a_run_used_tells_answering_rewriting_and_grading_apart():
    kept = {"tokens_in": 200, "tokens_out": 20, "reused": True}
    answers = [
        replace(answer(1000, 100), reused=True, rewriting=kept),
        replace(answer(2000, 300), rewriting={"tokens_in": 100, "tokens_out": 10, "reused": False}),
        replace(answer(3000, 200), rewriting={"tokens_in": 0, "tokens_out": 0, "reused": False}),  # untold
        answer(2000, 200),  # a question without a word: nobody was asked to rewrite it
        replace(answer(status="error"), rewriting=kept),
    ]
    verdicts = [
        Verdict("q", "", "correct", "judge", reused=False, spent={"tokens_in": 300, "tokens_out": 30, "seconds": 1.0}),
        Verdict("q", "", "wrong", "judge", reused=True, spent={"tokens_in": 100, "tokens_out": 10, "seconds": 1.0}),
        Verdict("q", "", "wrong", "judge", reused=False),  # untold
        Verdict("q", "", "declined", "rule"),
        Verdict("q", "", "wrong", "judge"),  # no model
    ]
    found = spending(answers, verdicts)
    assert found.answering == Usage(2000, 200, n=4, errors=1)
    assert found.rewriting == Usage(100, 10, n=3, without_call=1, not_reported=1, errors=1)
    assert found.judging == Usage(200, 20, n=2, not_reported=1)
    assert spending([answer()], [Verdict("q", "", "wrong", "judge")]) == Spending()


PRICES = Tariff(
    Prices(5, 15, cached=0.5), Prices(1, 2), Prices(5, 15), small=Prices(0.5, 1.5), easy_share=0.6
)  # for a million: 2,800 x 5 + 200 x 15 = 17,000 to answer one question, 100 x 1 + 30 x 2 = 160 to rewrite it
SPENT = Spending(Usage(2800, 200), Usage(100, 30), Usage(9000, 900))


def levers(spent=SPENT, tariff=PRICES, shown=8, fewer=5, prefix=400):
    return {row.lever: row for row in what_if(10_000, spent, tariff, shown, fewer, prefix)}


def test_levers_each_alone_by_hand():
    rows = levers()
    assert [(lever, round(row.cost, 6), round(row.saved, 6)) for lever, row in rows.items()] == [
        ("as measured", 171.6, 0),  # 170 + 1.6; grading is no part of a month
        ("5 passages instead of 8", 126.6, 45),  # of 2,400 tokens of passages 900 less, at 5
        ("a small model for rewriting", 170.95, 0.65),  # 100 x .5 + 30 x 1.5 = 95 for 160
        ("the fixed part of the prompt cached", 153.6, 18),  # 400 tokens at .5 for 5
        ("a router: a small model for 60 % of the questions", 79.8, 91.8),  # .4 x 170 + .6 x 17 + 1.6
    ]
    assert not any(row.missing for row in rows.values())


def test_of_a_lever_without_its_price_is_said_what_is_missing_and_no_number():
    rows = levers(tariff=Tariff(Prices(5, 15), Prices(5, 15), Prices(5, 15)))
    small = "small_input_per_million and small_output_per_million"
    assert {row.lever: row.missing for row in rows.values() if row.cost is None and row.saved is None} == {
        "a small model for rewriting": small,
        "the fixed part of the prompt cached": "cached_per_million",
        "a router: a small model for easy questions": f"{small} and easy_share",
    }
    half = levers(tariff=replace(PRICES, easy_share=None))["a router: a small model for easy questions"]
    assert (half.cost, half.missing) == (None, "easy_share")


def test_without_rewriting_there_is_nothing_to_save_on_it():
    row = levers(spent=Spending(Usage(2800, 200)))["a small model for rewriting"]
    assert (row.cost, row.saved, row.missing) == (None, None, "no rewriting that was measured")


def test_one_passage_cannot_become_fewer_and_a_prompt_that_is_all_prefix_saves_nothing():
    assert "1 passage instead of 1" not in levers(shown=1, fewer=1)
    assert levers(spent=Spending(Usage(300, 10)))["5 passages instead of 8"].saved == 0
    assert what_if(10_000, Spending(None, Usage(1, 1)), PRICES, 8, 5, 400) == []


def test_the_prices_of_pilot_toml_are_those_of_who_uses_them():
    table = CostTable(input_per_million=4.0, output_per_million=6.0)
    assert Tariff.of(table) == Tariff(Prices(4, 6), Prices(4, 6), Prices(4, 6))
    given = {
        f"{who}_{side}_per_million": n
        for who, n in (("rewrite", 1.0), ("judge", 2.0), ("small", 3.0))
        for side, n in (("input", n), ("output", n + 0.5))
    }
    table = CostTable(cached_per_million=0.1, easy_share=0.25, **given)
    assert Tariff.of(table) == Tariff(Prices(5, 5, 0.1), Prices(1, 1.5), Prices(2, 2.5), Prices(3, 3.5), 0.25)


@pytest.mark.parametrize("who", ["rewrite", "judge", "small"])
def test_half_a_price_is_refused(who):
    with pytest.raises(ValueError, match=f"give both of {who}_input_per_million and {who}_output_per_million"):
        CostTable(**{f"{who}_output_per_million": 1.0})


@pytest.mark.parametrize("make", [lambda: Prices(-1, 0), lambda: levers(shown=5, fewer=8)])
def test_unfit_prices_and_levers_are_refused(make):
    with pytest.raises(SettingsError, match="expected"):
        make()
