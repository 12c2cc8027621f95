import pytest
from refusals import refused

from repro.core import discovery
from repro.core.names import StageName


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("paper/study", ("paper", "study", "", 0)),
        ("paper/study+2", ("paper", "study", "", 2)),
        ("paper/study/tune", ("paper", "study", "tune", 0)),
        ("paper/study/tune+2", ("paper", "study", "tune", 2)),
    ],
)
def test_a_stage_s_name_is_its_parts(name, parts):
    assert StageName.parse(name) == StageName(*parts)
    assert str(StageName(*parts)) == name


def test_every_stage_is_found_by_the_name_it_is_listed_under():
    names = discovery.study_names()
    assert any(StageName.parse(name).round for name in names)
    for name in names:
        assert str(StageName.parse(name)) == name
        discovery.study(name)


@pytest.mark.parametrize("name", ["upscaling/mlp_sgd/tune+x", "upscaling/mlp_sgd/tune+0"])
def test_a_round_that_is_no_number_is_refused_in_one_line(name):
    with refused(r"tune\+.*: a round of a search is a number from 1"):
        discovery.study(name)
