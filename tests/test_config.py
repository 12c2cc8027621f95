import pytest

from repro.errors import UserError
from repro.suite import config, registry


def parse(**values):
    return config.parse(values, ["covtype", "wikitext2"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"scal": "smoke"}, "unknown config key 'scal': did you mean 'scale'"),
        ({"wikitxt2": "real"}, "did you mean 'wikitext2'"),
        (
            {"scale": "reducd"},
            "config key scale: 'reducd' is unknown, did you mean 'reduced'",
        ),
        ({"data": "fake"}, "config key data: 'fake' is unknown"),
        ({"wikitext2": "no/such/folder"}, "folder 'no/such/folder' does not exist"),
        ({"max_gpu_hours": "many"}, "'many' is not a number"),
        ({"figures": 3}, "not a list of names"),
    ],
)
def test_a_mistake_names_the_key_and_the_way_out(values, message):
    with pytest.raises(UserError, match=message):
        parse(**values)


def test_unknown_figure_names_the_nearest():
    with pytest.raises(UserError, match="did you mean 'embedding_lr/fig3'"):
        registry.selected_figures(("embedding_lr/fgi3",))


def test_arguments_round_trip(tmp_path):
    first = parse(scale="smoke", data="real", wikitext2=str(tmp_path), covtype="embedded")
    again = parse(**dict(word.split("=", 1) for word in first.arguments()))
    assert again.sources == first.sources
    assert (again.scale, again.data) == (first.scale, first.data)


def test_a_source_equal_to_the_default_changes_no_path():
    assert config.data_label(parse(wikitext2="embedded"), {}) == "embedded"


def test_folders_with_other_content_have_other_paths(tmp_path):
    chosen = parse(wikitext2=str(tmp_path))
    labels = {config.data_label(chosen, {"wikitext2": {"sha256": digest}}) for digest in "ab"}
    assert len(labels) == 2
    assert all(label.startswith("embedded+wikitext2=folder-") for label in labels)
