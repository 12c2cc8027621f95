"""Which instructions CPUs compute with: in the job, in its provenance, in what is reused."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from figure_files import draw, from_record
from parameters import kept
from refusals import refused

from repro.core import catalog
from repro.core.suite import load
from repro.lineage import arithmetic
from repro.lineage.checkout import ROOT
from repro.products.explain import explain

pytestmark = pytest.mark.long

# Whose CPUs the kernels are for that MKL takes here: where there is a C compiler, Intel's.
KERNELS = "Intel" if shutil.which("cc") else arithmetic.maker()
MKL = {"Intel": "AVX2,STRICT", "AMD": "AUTO,STRICT"}  # CNR, as MKL prints it of every product
only_avx2 = pytest.mark.skipif(arithmetic.choose("avx2")[1] != "", reason="this CPU has no AVX2")


def python(*arguments, folder, **environment):
    """What a fresh interpreter prints, called from a shell with these variables."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PATH": path} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def made_with(path):
    """The arithmetics that a cell's runs name."""
    return {run["provenance"]["arithmetic"] for run in json.loads(path.read_text())["runs"]}


@only_avx2
@pytest.mark.slow
def test_every_library_of_a_job_takes_avx2_whatever_the_shell_says(tmp_path):
    """torch and numpy by what provenance refuses; MKL and oneDNN by what they print of a ResNet."""
    suite = load(["scale=smoke"])
    (cell,) = suite.cells("upscaling/resnet/tune")
    config = ["--config", *suite.config.arguments()]
    shell = {
        "ATEN_CPU_CAPABILITY": "default",
        "MKL_CBWR": "COMPATIBLE",
        "ONEDNN_MAX_CPU_ISA": "SSE41",
        "MKL_VERBOSE": "1",
        "ONEDNN_VERBOSE": "1",
    }
    python("-m", "repro", "fetch", "cifar100", *config, folder=tmp_path)
    job = ["-m", "repro", "train", cell.study, cell.name, *config]
    said = python(*job, folder=tmp_path, **shell)
    assert made_with(tmp_path / suite.paths.cell(cell)) == {f"avx2 ({KERNELS})"}
    assert set(re.findall(r"CNR:([\w,]+)", said)) == {MKL[KERNELS]}
    assert re.findall(r"cpu,isa:(.*)", said) == ["Intel AVX2"]


@only_avx2
@pytest.mark.slow
def test_another_arithmetic_makes_a_job_of_the_workflow_again(tmp_path):
    suite = load(["scale=smoke"])
    cell = suite.cells("upscaling/deep_linear_zero_noise")[0]
    path = suite.paths.cell(cell)
    workflow = ["--snakefile", ROOT / "Snakefile", "--cores", "1"]
    workflow += ["--workflow-profile", ROOT / "profiles" / "default"]
    call = ["-m", "snakemake", *map(str, workflow), str(path), "--config", "scale=smoke"]
    python(*call, folder=tmp_path)
    assert made_with(tmp_path / path) == {f"avx2 ({KERNELS})"}
    python(*call, "arithmetic=portable", folder=tmp_path)
    assert made_with(tmp_path / path) == {"portable"}
    (log,) = tmp_path.glob("logs/train/**/*.log")
    assert "was finished with arithmetic avx2 (" in log.read_text()


@only_avx2
@pytest.mark.parametrize("name", kept(arithmetic.SETTINGS, first=2))
def test_an_arithmetic_is_known_by_what_torch_and_numpy_took(tmp_path, name):
    code = f"""
from repro.lineage import arithmetic
assert "taking native" not in arithmetic.apply({name!r})
print(arithmetic.in_force("cpu"))
import numpy, torch
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
print(torch.backends.cpu.get_cpu_capability())
print(*(name for name in __cpu_dispatch__ if __cpu_features__[name]))
"""
    said = python("-c", code, folder=tmp_path).splitlines()
    if name == "native":
        assert said[0] == f"native ({arithmetic.cpu_model()}, {said[1].lower()})"
    else:
        taken = ["DEFAULT", ""] if name == "portable" else ["AVX2", "X86_V3"]
        full = name if name == "portable" else f"{name} ({KERNELS})"
        assert said == [full, *taken]


PRODUCTS = """
import hashlib
from repro.lineage import arithmetic
print(arithmetic.apply("avx2"))
import torch
generator, digest = torch.Generator().manual_seed(0), hashlib.sha256()
for rows, inner, columns in ((33, 128, 512), (257, 300, 129), (8, 2048, 512), (1000, 17, 1)):
    left = torch.randn(rows, inner, generator=generator)
    product = left @ torch.randn(inner, columns, generator=generator)
    digest.update(product.numpy().tobytes() + product.exp().numpy().tobytes())
print(arithmetic.in_force("cpu"))
print(digest.hexdigest())
"""


@only_avx2
def test_products_are_the_same_on_every_maker_s_cpu_with_a_compiler(tmp_path):
    """The digest was taken on an AMD CPU with a compiler; without one it gives another."""
    *_, name, digest = python("-c", PRODUCTS, folder=tmp_path).splitlines()
    assert name == f"avx2 ({KERNELS})"
    same = digest == "61ddbd11d7e8ae285f254c742bb18d4d313d7d3432e042dea8afa8c410aea5bc"
    assert same == (KERNELS == "Intel")


COMPILERS = {
    "there is no C compiler (cc)": None,
    "the C compiler failed: broken": "echo broken >&2; exit 1",
    "a library cannot be made": "exit 0",
}


@only_avx2
@pytest.mark.parametrize("why", kept(COMPILERS, first=1))
def test_without_a_compiler_an_amd_cpu_s_runs_bear_its_name(tmp_path, why):
    compiler = COMPILERS[why]
    """Of a maker that MKL does not know for Intel; on an Intel CPU nothing is asked for."""
    if compiler:
        (tmp_path / "cc").write_text(f"#!/bin/sh\n{compiler}\n")
        (tmp_path / "cc").chmod(0o755)
    code = f"""
import os
os.environ["PATH"] = {str(tmp_path)!r} + (":/bin" if {bool(compiler)} else "")
from repro.lineage import arithmetic
real, arithmetic.maker = arithmetic.maker(), lambda: "AMD"
print(arithmetic.apply("avx2"))
print(arithmetic.in_force("cpu"), real)
"""
    notice, name = python("-c", code, folder=tmp_path).splitlines()
    assert notice.startswith("arithmetic=avx2: last digits will differ") and why in notice
    assert name in ("avx2 (Intel) Intel", "avx2 (AMD) AMD")


def test_a_process_that_has_loaded_torch_takes_no_other(tmp_path):
    code = """
import torch
from repro.lineage import arithmetic
from repro.errors import UserError
try:
    arithmetic.apply("portable")
except UserError as error:
    print(error)
"""
    said = python("-c", code, folder=tmp_path)
    assert "arithmetic=portable: torch was imported under another arithmetic" in said


def test_a_name_is_given_to_no_other_environment(monkeypatch):
    monkeypatch.setenv("MKL_CBWR", "SSE4_2")
    with refused(r"MKL_CBWR=SSE4_2.*is none of the arithmetics avx2"):
        arithmetic.in_force("cpu")
    assert arithmetic.in_force("cuda") == "cuda"


@pytest.mark.parametrize(
    ("machine", "cpu", "why"),
    [
        ("aarch64", {"CPU part": "0xd40"}, r"this CPU is no x86-64 \(aarch64\)"),
        ("x86_64", {"flags": "sse4_2 avx"}, "this CPU has no AVX2"),
    ],
)
def test_where_there_is_no_avx2_the_suite_says_so_and_is_native(
    monkeypatch, capsys, machine, cpu, why
):
    from repro.__main__ import main

    for variable in arithmetic.SETTINGS["avx2"]:
        monkeypatch.delenv(variable, raising=False)  # as a shell has it
    monkeypatch.setattr(arithmetic.platform, "machine", lambda: machine)
    monkeypatch.setattr(arithmetic, "_cpuinfo", lambda: cpu)
    assert main(["train", "upscaling/resnet/tune", "none"]) == 1
    first, _ = capsys.readouterr().err.splitlines()
    assert re.fullmatch(f"arithmetic=avx2: {why}; taking native, .*", first)
    assert not set(os.environ) & set(arithmetic.SETTINGS["avx2"])


def test_the_makers_are_told_apart(monkeypatch):
    for said, name in (("GenuineIntel", "Intel"), ("AuthenticAMD", "AMD"), ("Centaur", "Centaur")):
        monkeypatch.setattr(arithmetic, "_cpuinfo", lambda said=said: {"vendor_id": said})
        assert arithmetic.maker() == name
    monkeypatch.setattr(arithmetic, "_cpuinfo", lambda: {})
    monkeypatch.setattr(arithmetic.platform, "processor", lambda: "Intel64 Family 6, GenuineIntel")
    assert arithmetic.maker() == "Intel"


def test_a_cpu_is_named_on_linux_on_arm_and_elsewhere(monkeypatch):
    monkeypatch.setattr(arithmetic.platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(arithmetic, "_cpuinfo", lambda: {})
    assert arithmetic.cpu_model() == "aarch64"
    arm = {"CPU implementer": "0x41", "CPU part": "0xd40"}
    monkeypatch.setattr(arithmetic, "_cpuinfo", lambda: arm)
    assert arithmetic.cpu_model() == "aarch64 0x41 0xd40"
    monkeypatch.setattr(arithmetic, "_cpuinfo", lambda: {"model name": "AMD EPYC 7763"})
    assert arithmetic.cpu_model() == "AMD EPYC 7763"


def test_an_older_run_on_a_gpu_was_cuda_s_and_on_a_cpu_nobody_knows():
    assert arithmetic.of({"device": "nvidia-h100"}) == "cuda"
    assert arithmetic.of({"device": "cpu"}) == "unknown"
    assert arithmetic.of({"device": "cpu", "arithmetic": "portable"}) == "portable"


def test_explain_says_with_which_arithmetic_and_on_which_cpu(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    suite = load(["scale=smoke"])

    def explained(figure, claim):
        ours = {"arithmetic": "avx2", "host_cpu": "AMD EPYC 7763"}
        from_record(suite, figure, lambda made: made["made"][0].update(ours))
        draw(suite, figure)
        return explain(suite, claim)

    said = explained("upscaling/fig9", "fig9.optimal-noise")
    assert "on cpu (AMD EPYC 7763), arithmetic avx2" in said


def test_only_the_resnet_s_figures_depend_on_the_cpu():
    suite = load([])
    found = {name for name in catalog.figure_names() if suite.cpu_dependent(name)}
    assert found == {f"upscaling/{name}" for name in ("fig2", "fig8", "fig9", "resnet_target")}
