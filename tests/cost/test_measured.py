"""`repro cost --measured`: hours by what `benchmarks/gpu.sh` found on a device."""

import json
import subprocess

import pytest

from repro import cost
from repro.__main__ import main
from repro.suite import measured
from repro.suite.checkout import ROOT

NAME = "NVIDIA H100 80GB HBM3"


def step(model, precision, parameters, seconds, **more):
    """A step of 1e12 operations."""
    sizes = {"parameters": parameters, "flops": 1e12, "microbatches": 1, "layers": 10}
    return {"model": model, "precision": precision, "seconds": seconds} | sizes | more


LINES = [
    {"stage": "machine", "format": measured.FORMAT, "name": NAME, "torch": "2.13.0"},
    {"stage": "tests", "error": "a stage that is not read"},
    {"stage": "speeds", "flops": {"float32": 5e13, "bfloat16": 7e14}, "memory": 2.6e12},
    {
        "stage": "steps",
        "steps": [
            step("decoder", "bfloat16", 10**6, 1e-3),
            step("decoder", "bfloat16", 10**8, 1e-2, tokens_a_second=6.5e6),
        ],
    },
]


def written(path, lines=LINES):
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def with_steps(*steps):
    return [*LINES[:3], {"stage": "steps", "steps": [*steps]}]


def run_of(parameters, model="decoder", precision="bfloat16"):
    """A run of a million steps of 1e12 operations."""
    return cost.Cost(
        flops=10**18,
        parameters=parameters,
        steps=10**6,
        layers=1,
        model=model,
        precision=precision,
    )


def test_a_model_s_hours_are_those_of_its_measured_steps(tmp_path):
    """1e15 operations a second at 1e6 parameters, 1e14 at 1e8: in between, 10^14.5."""
    speeds = measured.read(written(tmp_path / "gpu.jsonl")).speeds

    def rate(parameters):
        return 1e18 / 3600 / cost.gpu_hours(run_of(parameters), speeds)

    sizes = (10**5, 10**6, 10**7, 10**8, 10**9)
    assert [rate(n) for n in sizes] == pytest.approx([1e15, 1e15, 10**14.5, 1e14, 1e14])


def test_another_model_takes_a_share_of_the_products_and_its_memory(tmp_path):
    speeds = measured.read(written(tmp_path / "gpu.jsonl")).speeds
    half = run_of(10**6, model="gru")
    assert cost.gpu_hours(half, speeds) == pytest.approx(1e18 / (0.4 * 7e14) / 3600)
    # tf32 was not timed
    single = run_of(10**6, model="gru", precision="tf32")
    assert cost.gpu_hours(single, speeds) == pytest.approx(1e18 / (0.4 * 5e13) / 3600)
    moved = cost.Cost(steps=10**6, state_bytes=10**9, layers=1, model="gru")
    assert cost.gpu_hours(moved, speeds) == pytest.approx(1e6 * 2e9 / 2.6e12 / 3600)


def test_the_cores_of_a_file_decode_as_fast_as_they_did(tmp_path):
    read = {"stage": "reading", "images_a_second": 250.0}
    speeds = measured.read(written(tmp_path / "gpu.jsonl", [*LINES, read])).speeds
    files = cost.Cost(flops=1, images=10**6, steps=1, model="vit")
    assert cost.gpu_hours(files, speeds) == pytest.approx(1e6 / 250 / cost.CORES / 3600)
    without = measured.read(written(tmp_path / "gpu.jsonl")).speeds
    assert without.image_seconds == pytest.approx(cost.IMAGE_SECONDS)


def test_no_layer_takes_less_than_the_fastest_that_was_timed(tmp_path):
    speeds = measured.read(written(tmp_path / "gpu.jsonl")).speeds
    small = cost.Cost(flops=1, steps=1000, layers=4, model="mlp", precision="float32")
    assert cost.gpu_hours(small, speeds) == pytest.approx(1000 * 4 * 1e-4 / 3600)


def test_the_table_says_what_is_measured_and_what_assumed(tmp_path, capsys):
    file = written(tmp_path / "gpu.jsonl")
    words = ["cost", "embedding_lr/fig3", "--scale", "paper"]
    assert main(words) == 0
    assumed = float(capsys.readouterr().out.split()[-1].replace(",", ""))
    assert main([*words, "--measured", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == f"hours: one {NAME}, measured (gpu.jsonl); of the runs to do"
    assert lines[2] == "measured: training steps of decoder bfloat16; at least 0.1 ms a layer"
    assert not any(line.startswith("assumed: ") for line in lines)
    # the widest, where most operations are, take 1e14 a second where 40 % of 989e12 are assumed
    (total,) = [line.split()[-1] for line in lines if line.startswith("total")]
    assert 2 < float(total.replace(",", "")) / assumed < 4

    assert main(["cost", "upscaling/fig4", "--scale", "paper", "--measured", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "measured: training steps of none of these models; " in lines[2]
    assert lines[3].startswith("assumed: 40 % of the measured speed of products")
    assert lines[3].endswith("2.6e+03 GB/s, for mlp float32")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([{"loss": 1}], "has no format of a stage machine to read"),
        ([LINES[0] | {"format": "another"}, *LINES[1:]], "has no format of a stage machine"),
        ([LINES[0] | {"name": "<b>"}, *LINES[1:]], "has no name of a stage machine"),
        (LINES[:3], "has no steps of a stage steps to read"),
        ([*LINES[:3], {"stage": "steps", "error": "Late"}], "its stage steps failed"),
        (with_steps(), "has a step that lacks something"),
        (with_steps({"model": "mlp"}), "has a step that lacks something"),
        (with_steps(step("mlp", "float32", 10, 0.0)), "or a speed of 0"),
        (with_steps(step("mlp", "float64", 10, 1.0)), "has a step that lacks something"),
        (with_steps(step("mlp", "float32", None, 1.0)), "has a step that lacks something"),
        ([*LINES, {"stage": "reading", "images_a_second": 0}], "no images_a_second of a stage"),
        ([*LINES[:2], LINES[2] | {"flops": {"tf32": 1.0}}, LINES[3]], "no products in float32"),
    ],
)
def test_a_wrong_or_foreign_file_is_one_line(tmp_path, capsys, lines, message):
    file = written(tmp_path / "gpu.jsonl", lines)
    assert main(["cost", "fig3", "--scale", "paper", "--measured", str(file)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {file}: ") and message in line
    assert line.endswith("; make it on the device: bash benchmarks/gpu.sh")


def test_what_is_no_file_of_lines_is_one_line_too(tmp_path, capsys):
    (tmp_path / "table.csv").write_text("width,loss\n1,2\n")
    (tmp_path / "empty").write_text("")
    places = {
        "table.csv": "is not valid JSON",
        "empty": "has no format",
        "missing": "cannot be read (No such file or directory)",
        ".": "cannot be read (Is a directory)",
    }
    for name, message in places.items():
        call = ["cost", "fig3", "--scale", "paper", "--measured", str(tmp_path / name)]
        assert main(call) == 1
        (line,) = capsys.readouterr().err.splitlines()
        assert message in line, line


@pytest.mark.slow
def test_every_stage_passes_on_a_cpu_and_its_file_prices_figures(tmp_path, capsys):
    """What a GPU is to show, at toy size: that the stages do what they say."""
    file = tmp_path / "cpu.jsonl"
    call = ["bash", str(ROOT / "benchmarks" / "gpu.sh"), "--cpu", "--out", str(file)]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found = {line["stage"]: line for line in map(json.loads, file.read_text().splitlines())}
    assert [name for name, line in found.items() if "left_out" in line] == ["waits"]
    assert found["tests"]["passed"] > 5 and found["tests"]["failed"] == 0
    assert found["figure"]["verify"].startswith("upscaling/fig7: ")
    models = {(step["model"], step["precision"]) for step in found["steps"]["steps"]}
    assert {("mlp", "float32"), ("gpt2", "float32"), ("resnet", "tf32")} <= models
    assert found["steps"]["without"] == {}
    assert main(["cost", "upscaling", "--scale", "smoke", "--measured", str(file)]) == 0
    said = capsys.readouterr().out
    assert "measured: training steps of gpt2 float32, mlp float32, resnet tf32; " in said
    assert "assumed: " not in said


def test_an_unknown_stage_is_named(tmp_path):
    call = ["bash", str(ROOT / "benchmarks" / "gpu.sh"), "--cpu", "speed"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "speed: no such stage, choose from machine" in done.stderr
    assert not (tmp_path / "gpu.jsonl").exists()
