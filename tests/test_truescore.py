"""Where truescore, a library for judged evaluations, computes what the workbook computes, both say the same."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from truescore.agreement import cohen_kappa as their_kappa
from truescore.agreement import wilson_interval
from truescore.compare import mcnemar as their_mcnemar
from truescore.correct import ppi_estimate

from rag_pilot.analysis.comparison import compare
from rag_pilot.analysis.headline import estimate
from rag_pilot.analysis.intervals import wilson
from rag_pilot.grading.agreement import cohen_kappa
from rag_pilot.records import LABELS

outcomes = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=200)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilsons_interval(case):
    theirs = wilson_interval(*case)
    assert wilson(*case) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=2, max_size=60))
def test_cohens_kappa(pairs):
    experts, judges = zip(*pairs, strict=True)
    assume(len(set(experts)) > 1 and len(set(judges)) > 1)
    assert cohen_kappa(pairs) == pytest.approx(their_kappa(experts, judges))


@given(outcomes)
def test_the_exact_test_of_a_change_doubled_where_it_is_two_sided(pairs):
    before, after = ({str(i): pair[side] for i, pair in enumerate(pairs)} for side in (0, 1))
    ours = compare(before, after, at_level=0.01)
    theirs = their_mcnemar(list(after.values()), list(before.values()), midp=False)
    assert ours.difference == pytest.approx(theirs.difference)
    assert theirs.n_discordant == len(ours.fixed) + len(ours.broken)
    if len(ours.fixed) > len(ours.broken):
        assert 2 * ours.p == pytest.approx(theirs.p_value)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=60), st.lists(st.booleans(), min_size=2))
def test_the_prediction_powered_mean_at_the_same_weight(read, rest):
    ours = estimate("correct", 0, len(read) + len(rest), read, rest)
    expert, judge = np.array(read, dtype=float).T
    said = np.concatenate([judge, np.array(rest, dtype=float)])
    theirs = ppi_estimate(said, expert, np.arange(len(read)), lambda_=ours.weight)
    assert ours.value == pytest.approx(min(1.0, max(0.0, theirs.point)))
