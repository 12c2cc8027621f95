"""What an interval holds besides the scatter between seeds."""

import math

import pytest

from repro.verdicts.answers import (
    Measurement,
    above,
    within,
)
from repro.verdicts.intervals import farthest, half_step, no_finer_than, of_estimators, spanning
from repro.verdicts.verdict import (
    by_bound,
)


def found(value, reach=0.1, **more):
    return Measurement(value, value - reach, value + reach, 3, **more)


def ends(measurement):
    return pytest.approx((measurement.low, measurement.high))


def test_an_interval_is_no_finer_than_its_grid():
    assert ends(no_finer_than(found(1.0, 0.0), 0.5)) == (0.5, 1.5)
    assert ends(no_finer_than(found(1.0, 0.0), 0.5, lowest=0, highest=1)) == (0.5, 1.0)
    assert no_finer_than(found(1.0, 2.0), 0.5) == found(1.0, 2.0)
    one = Measurement(1.0, math.nan, math.nan, 1)
    assert no_finer_than(one, 0.5) is one and spanning(one, 3.0) is one


def test_a_grid_s_step_is_in_octaves():
    assert half_step([1, 2, 4]) == 0.5
    assert half_step([0, 0.25, 0.25, 4, 1]) == 1.0
    assert half_step([0, 3]) == 0.0


def test_where_any_two_estimators_exclude_one_another_the_interval_spans_all():
    judged = found(-0.4, 0.1, detail="optima")
    near, far = found(-0.45), found(-0.33)
    assert of_estimators(judged, near) == judged
    wide = of_estimators(judged, near, far)  # those two differ by more than their 0.1
    assert (wide.value, wide.n) == (-0.4, 3)
    assert ends(wide) == (-0.55, -0.23)
    assert wide.detail.startswith("optima; estimators differ by more than an interval")
    none = Measurement(math.nan, math.nan, math.nan, 3)
    assert of_estimators(judged, near, none) == judged
    assert of_estimators(none, near, far) is none


def seen(expected, *parts, wanted):
    return by_bound(expected, farthest(parts, wanted)).seen


def test_of_several_the_farthest_counts_with_the_ends_of_every_one():
    near = found(0.0, 0.1)
    assert farthest([near], 0.0) == near
    # The one that is nearer by its value reaches farther by its interval.
    both = farthest([found(-0.047, 0.048), found(0.027, 0.082)], 0.0)
    assert both.value == -0.047 and ends(both) == (-0.109, 0.001)
    bound = within(0, 0.1)
    assert seen(bound, found(-0.047, 0.048), wanted=0.0) == "agrees"
    assert seen(bound, found(-0.047, 0.048), found(0.027, 0.082), wanted=0.0) == "unclear"
    # One that lies beside the bound is enough, wherever the others lie.
    for other in (near, found(0.2, 0.1), found(-0.2, 0.15)):
        assert seen(bound, found(-0.3, 0.1), other, wanted=0.0) == "differs"
        assert seen(bound, other, found(0.3, 0.1), wanted=0.0) == "differs"


def test_of_what_should_be_above_a_bound_the_smallest_counts():
    least = farthest([found(2.0, 0.5), found(1.0, 0.1), found(1.2, 0.6)], math.inf)
    assert least.value == 1.0 and ends(least) == (0.6, 1.1)
    assert seen(above(0.5), found(2.0, 0.5), found(1.0, 0.1), wanted=math.inf) == "agrees"
    assert seen(above(1.5), found(3.0, 0.5), found(1.0, 0.1), wanted=math.inf) == "differs"
    most = farthest([found(2.0, 0.5), found(1.0, 0.1)], -math.inf)
    assert most.value == 2.0 and ends(most) == (1.5, 2.5)


def test_what_one_of_several_lacks_all_lack():
    one_run = Measurement(1.0, math.nan, math.nan, 1, "edge")
    both = farthest([found(5.0, problem="edge"), one_run], 0.0, "words")
    assert math.isnan(both.low) and math.isnan(both.high)
    assert (both.value, both.n, both.problem, both.detail) == (5.0, 1, "edge", "words")
    none = Measurement(math.nan, math.nan, math.nan, 3)
    assert math.isnan(farthest([found(1.0), none], 0.0).value)
