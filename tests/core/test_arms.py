"""Seeds derived from the commit of a row of the register."""

import pytest
from refusals import refused

from repro.core import rows, seeds
from repro.core.seeds import Arm, derived, of_arm

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def arm(name: str, number: int) -> Arm:
    return Arm(name, COMMIT, " ".join(map(str, derived(COMMIT, name, number))))


def test_seeds_are_distinct_and_none_of_a_pilot_s():
    found = derived(COMMIT, "narrow", 200)
    assert len({*found}) == 200
    assert min(found) > max(seeds.PILOT)


def test_more_seeds_of_an_arm_begin_with_the_same():
    assert derived(COMMIT, "narrow", 24)[:6] == derived(COMMIT, "narrow", 6)


def test_another_arm_or_another_commit_has_other_seeds():
    own = {*derived(COMMIT, "narrow", 24)}
    assert not own & {*derived(COMMIT, "wide", 24)}
    assert not own & {*derived(COMMIT[::-1], "narrow", 24)}


def test_a_seed_that_somebody_chose_is_refused():
    true = arm("narrow", 3)
    with pytest.raises(ValueError, match="are not those of its commit"):
        Arm("narrow", COMMIT, true.seeds.replace(true.seeds.split()[1], "20000"))


def test_a_study_reads_what_is_registered_and_no_more(tmp_path, monkeypatch):
    (tmp_path / "studies" / "paper").mkdir(parents=True)
    monkeypatch.setattr(rows, "ROOT", tmp_path)
    assert of_arm("paper", "narrow", 3) == [1900, 1901, 1902]
    rows.write(seeds.path("paper"), Arm, [arm("narrow", 6)])
    assert of_arm("paper", "narrow", 4) == derived(COMMIT, "narrow", 4)
    with refused("has 6 seeds, and its study asks for 7"):
        of_arm("paper", "narrow", 7)
