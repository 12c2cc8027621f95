from pathlib import Path

import pytest
from refusals import refused

from repro.core import config, discovery
from repro.core.suite import load
from repro.data.source import Source

LAUGHS = ["a"]  # a list whose text has 10^30 characters
for _ in range(30):
    LAUGHS = [LAUGHS] * 10


def parse(**values):
    return config.parse(values, ["covtype", "wikitext2"])


def test_a_key_twice_in_a_configuration_file_is_named_with_its_lines(tmp_path):
    file = tmp_path / "own.yaml"
    file.write_text("scale: smoke\ndata: real\n# a comment\nscale: reduced\n")
    with refused(r"own.yaml, line 4: scale stands in line 1 too; leave one"):
        config.check_keys_once(file)
    file.write_text("scale: smoke\nfigures: [data, data]\n")
    config.check_keys_once(file)
    file.write_text("")
    config.check_keys_once(file)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"scal": "smoke"}, "unknown config key 'scal': did you mean 'scale'"),
        ({"seeds": 3}, "(other settings are a study's: docs/own-settings.md)"),
        ({"wikitxt2": "real"}, "did you mean 'wikitext2'"),
        (
            {"scale": "reducd"},
            "config key scale: 'reducd' is unknown, did you mean 'reduced'",
        ),
        ({"data": "fake"}, "config key data: 'fake' is unknown"),
        ({"wikitext2": "no/such/folder"}, "folder 'no/such/folder' does not exist"),
        ({"max_gpu_hours": "many"}, "'many' is not a number"),
        ({"max_gpu_hours": "nan"}, "'nan' is not a number of hours"),
        ({"max_gpu_hours": 10**400}, "000 is not a number of hours"),
        ({"max_gpu_hours": -1}, "-1 is not a number of hours"),
        ({"max_days": "nan"}, "'nan' is not a number of days"),
        ({"max_gpu_hours": True}, "True is not a number of hours"),
        ({"wikitext2": "~nobody-of-this-name/x"}, "does not exist"),
        ({"figures": 3}, "not a list of names"),
        ({"wikitext2": ""}, "config key wikitext2: '' is empty; give a value"),
        ({"wikitext2": " "}, "is empty; give a value"),
        ({"figures": ","}, "is empty; give a value"),
        ({"figures": []}, "is empty; give a value"),
        ({"scale": ["smoke"]}, "config key scale: \\['smoke'\\] is unknown"),
        ({"scale": LAUGHS}, "config key scale: .* is unknown"),
        ({"figures": LAUGHS}, "is not a list of names"),
        ({"wikitext2": LAUGHS}, "is what YAML makes"),
        ({"arithmetic": "avx"}, "config key arithmetic: 'avx' is unknown, did you mean 'avx2'"),
    ],
)
def test_a_mistake_names_the_key_and_the_way_out(values, message):
    with refused(message):
        parse(**values)


@pytest.mark.parametrize("name", ["a #1", "007", "1_0", "a: b", "*a", "scale=[", "~", "{x}"])
def test_a_folder_is_taken_literally(tmp_path, monkeypatch, name):
    """Found in review: YAML made other folders of these names, or a traceback."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    (tmp_path / name / "train.txt").write_text("text")
    chosen = load([f"wikitext2={tmp_path / name}"]).source("wikitext2")
    assert chosen == Source("folder", tmp_path / name)
    if name != "~":
        assert load([f"wikitext2={name}"]).source("wikitext2") == chosen


ODD_NAMES = ("number #32", "123_456", "007", "no", "12:30", "a: b", "[a]", "~", "it's", '"x"', "#1")


@pytest.mark.parametrize("name", ODD_NAMES)
@pytest.mark.parametrize("typed", ["{}", '"{}"', "'{}'", "./{}"])
def test_a_path_of_the_command_line_is_what_was_typed(tmp_path, monkeypatch, name, typed):
    """Found in review: `"number #32"`, quoted twice as the error said, was read as `number`."""
    monkeypatch.chdir(tmp_path)
    Path(name).mkdir()
    for twin in {"number", "x"} - {name}:
        Path(twin).mkdir()
    words = ["scale=smoke", "wikitext2=other", f"wikitext2={typed.format(name)}", "covtype"]
    found = config.as_typed(words, ["wikitext2"])
    assert found.keys() == {"wikitext2"} and Path(found["wikitext2"]) == Path(name)


def test_a_folder_of_a_file_that_yaml_changes_is_named_as_it_is_by_what_the_error_says(tmp_path):
    (tmp_path / "007").mkdir()
    with refused("7 is what YAML makes of the folder given; ") as caught:
        parse(**config.from_yaml("wikitext2: 007", "own.yaml"))
    advice = str(caught.value).split("quotes: ")[1]
    line = advice.replace("FOLDER", str(tmp_path / "007"))
    assert parse(**config.from_yaml(line, "own.yaml")).sources["wikitext2"].folder.name == "007"


def test_unknown_figure_names_the_nearest():
    with refused("did you mean 'embedding_lr/fig3'"):
        discovery.selected_figures(("embedding_lr/fgi3",))


def test_arguments_round_trip(tmp_path):
    first = parse(
        scale="smoke", data="real", wikitext2=str(tmp_path), covtype="embedded", arithmetic="native"
    )
    again = parse(**dict(word.split("=", 1) for word in first.arguments()))
    assert again.sources == first.sources
    assert (again.scale, again.data, again.arithmetic) == ("smoke", "real", "native")


def test_a_source_equal_to_the_default_changes_no_path():
    assert config.data_label(parse(wikitext2="embedded"), {}) == "embedded"


def test_folders_with_other_content_have_other_paths(tmp_path):
    chosen = parse(wikitext2=str(tmp_path))
    labels = {config.data_label(chosen, {"wikitext2": {"sha256": digest}}) for digest in "ab"}
    assert len(labels) == 2
    assert all(label.startswith("embedded+wikitext2=folder-") for label in labels)


@pytest.mark.parametrize(
    "figures", ["[" * 500, "[a", "[\t", "[*a]", "[{[a]: b}]", "[!!python/name:os]"]
)
def test_a_list_of_figures_that_is_no_list_is_a_line(figures):
    """Found in review: a RecursionError, for one."""
    with refused("^config key figures: ") as caught:
        load([f"figures={figures}"])
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", ["0x_", "1" * 5000, "2020-13-45", "1:99:99", "no", "007"])
def test_names_of_figures_are_no_numbers_and_dates(name):
    assert load([f"figures=[{name}, b]"]).config.figures == (name, "b")


@pytest.mark.parametrize("text", ["scale: [", "a: 2020-13-45", "a: !!bool x", "[" * 500, "- a"])
def test_a_configuration_file_that_is_none_is_named(tmp_path, text):
    path = tmp_path / "config.yaml"
    with refused("config.yaml: "):
        config.defaults(path, text)
