import errno

import pytest
import torch

from repro.__main__ import main, mistake_in, parser
from repro.core import catalog
from repro.products.summary import folded


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fetch", "wikitext2", "--config", "scale=huge"], "'huge' is unknown"),
        (["fetch", "wikitext2", "--config", "scale"], "give key=value"),
        (["make", "embedding_lr/fig9"], "unknown figure 'embedding_lr/fig9': did you mean"),
        (["train", "embedding_lr/width", "no-such-cell"], "has no cell no-such-cell"),
        (["show", "fig3.sqrt"], "did you mean 'fig3.sqrt-d-rule'"),
        (["show", "theorem1.ratoi"], "did you mean 'theorem1.ratio'"),
        (
            ["show", "nonsense"],
            "'nonsense': is unknown; `uv run python -m repro show PAPER` lists a paper's",
        ),
        (["page", "fig33"], "unknown page 'fig33': did you mean 'fig3'"),
        (["fetch", "wikitext"], "unknown dataset 'wikitext': did you mean 'wikitext2'"),
        (["train", "embedding_lr/widht", "x"], "did you mean 'embedding_lr/width'"),
        (["publish", "results/nothing"], "manifest.json: is missing; run the same command again"),
        (["record"], "has no picture of these settings; make it with uv run snakemake figures/"),
    ],
)
def test_a_mistake_is_one_line_on_stderr(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ") and error.count("\n") == 1
    assert message in error
    assert not list(tmp_path.iterdir())


def test_help_groups_the_commands_and_explains_every_argument():
    main = parser()
    (commands,) = [a.choices for a in main._actions if a.dest == "command"]
    lines = main.format_help().splitlines()
    for name, command in commands.items():
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert len(line.split()) > 3, f"{name} is described"
        unexplained = [action.dest for action in command._actions if not action.help]
        assert not unexplained, f"{name}: {unexplained}"
    titles = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert titles[1].startswith("What is known") and titles[-1].startswith("Jobs of the workflow")


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without CUDA")
@pytest.mark.parametrize(
    ("words", "said"),
    [(["--version"], "repro 0."), (["show", "--help"], "usage: repro show ")],
)
def test_version_and_usage_are_said_in_one_s_own_words(words, said, capsys):
    with pytest.raises(SystemExit) as ended:
        parser().parse_args(words)
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(said)


def test_cuda_without_a_gpu_is_named(suite, capsys):
    words = ["--config", *suite.config.arguments()]
    (cell,) = suite.cells("embedding_lr/parametrizations")
    assert main(["train", cell.study, cell.name, "--device", "cuda", *words]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"device cuda: torch {torch.__version__} (CUDA {torch.version.cuda}, driver " in line
    assert "says: Found no NVIDIA driver on your system." in line, "torch's own words"
    assert line.endswith("or run with --device cpu")


def test_ranks_of_somebody_else_s_launcher_mean_nothing(suite, monkeypatch, capsys):
    """Found in review: Kubeflow and SageMaker set these; every job took itself for a rank."""
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    (cell,) = suite.cells("embedding_lr/parametrizations")
    words = ["--config", *suite.config.arguments()]
    assert main(["train", cell.study, cell.name, *words]) == 0
    assert "trained 36" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable"), "ulimit -u"),
        (RuntimeError("can't start new thread"), "ulimit -u"),
        (
            ModuleNotFoundError("No module named 'graphlib'", name="graphlib"),
            "this Python lacks it",
        ),
        (ModuleNotFoundError("No module named 'nothing'", name="nothing"), "needs nothing, which"),
    ],
)
def test_what_the_machine_refuses_is_a_line_with_the_way_out(error, says):
    """Found in review: a traceback where no process more may run, and "graphlib, which this
    environment has not" where its file may not be read."""
    assert says in str(mistake_in(error, "run"))


def test_list_names_every_figure(capsys):

    assert main(["show"]) == 0
    listed = capsys.readouterr().out
    assert all(f"figures/{name}.pdf" in listed for name in catalog.figure_names())
    told = next(line for line in listed.splitlines() if "embedding_lr/fig1.pdf" in line)
    assert "minutes of one core; reproduced" in told


def test_explain_advises_a_call_of_the_scale_it_was_asked_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a text").mkdir()
    (tmp_path / "a text" / "train.txt").write_text("text")
    words = ["scale=smoke", f"wikitext2={tmp_path / 'a text'}"]
    assert main(["show", "fig3.sqrt-d-rule", "--config", *words]) == 0
    call = "uv run snakemake figures/embedding_lr/fig3.pdf"
    assert capsys.readouterr().out.endswith(f"{call} --config scale=smoke '{words[1]}'\n")


@pytest.mark.parametrize("words", [["--widths", "0"], ["--rates", "-1"], ["--rates", "nan"]])
def test_a_width_or_rate_that_is_none_is_refused(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["try", "fig3.transfer-lr-mlp", *words]) == 1
    said = capsys.readouterr().err
    assert said == f"error: {' '.join(words)}: is no number above 0\n" and not [*tmp_path.iterdir()]


def test_what_is_shown_fits_a_terminal_and_divides_no_command(capsys):
    assert main(["show", "upscaling/fig3.transfer-lr-gpt2", "upscaling"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if "uv run " not in line) <= 100
    call = "uv run snakemake figures/upscaling/fig3.pdf"
    wide = [*folded(f"  from: {'words ' * 12}({call})")]
    assert len(wide) == 2 and wide[1] == f"    ({call})"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show", "--config", "scale=smoke", "scale=reduced"], "--config scale: is 'smoke' and"),
        (["show", "--scale", "smoke", "--config", "scale=reduced"], "--config scale: is 'reduced'"),
        (["show", "upscaling", "--json"], "show --json: is of `show cost` alone"),
        (["seeds", "../x"], "unknown paper '../x': choose from"),
        (["report", "--folder", "/proc/x"], "/proc/x: cannot be made there ("),
        (["new", "paper", "x", "--arxiv", "٢٥١١.٠١٧٣٤v1"], "is no number as 2511.01734v1"),
    ],
)
def test_a_call_that_cannot_be_meant_is_a_line(words, says, capsys):
    """Found in review: the last value won, a flag was ignored, a file was named that is not there,
    a traceback, digits of another script."""
    assert main(words) == 1
    assert says in capsys.readouterr().err.splitlines()[-1]
