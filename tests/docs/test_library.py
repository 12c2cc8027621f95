"""What a user imports from `widthwise`."""

import re
import subprocess
import sys
from pkgutil import walk_packages

import pytest
import torch
from parameters import kept

import widthwise
from repro.lineage.checkout import ROOT


def test_no_public_name_is_taken_by_a_submodule():
    """Importing a submodule sets it as an attribute of its package, over whatever had its name."""
    modules = {
        name.removeprefix("widthwise.")
        for _, name, _ in walk_packages(widthwise.__path__, "widthwise.")
    }
    assert len(modules) > 30 and not set(widthwise.PUBLIC) & modules
    for name in widthwise.PUBLIC:
        assert callable(getattr(widthwise, name)), name
    assert set(widthwise.PUBLIC) <= set(dir(widthwise))


def test_names_are_loaded_when_they_are_asked_for():
    code = "import sys, widthwise; assert 'torch' not in sys.modules; "
    code += "from widthwise import no_such_name"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "cannot import name 'no_such_name'" in done.stderr


@pytest.mark.slow  # a process that loads torch
def test_nothing_of_the_library_loads_torch_s_compiler_before_it_is_asked_for():
    """`import` of all names took 1.6 CPU seconds, where it had taken 0.05."""
    code = "import sys, torch, widthwise\nfor name in widthwise.PUBLIC: getattr(widthwise, name)\n"
    code += "assert 'torch._dynamo' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


PAGES = {"library": 4, "coordinate-check": 1, "from-mup": 1, "transfer": 1, "widening": 1}
ELSEWHERE = {"own-settings"}  # files of the suite: tests/figures/test_embedding_rules.py


def code_of(page):
    return re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.S)


@pytest.mark.parametrize("name", kept(PAGES, but=["transfer"]))
def test_the_pages_of_the_library_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = code_of(ROOT / "docs" / f"{name}.md")
    assert len(blocks) == PAGES[name]
    torch.manual_seed(0)
    exec("\n".join(blocks), {"__name__": "page"})


def test_every_page_with_code_is_run():
    pages = {page.stem for page in ROOT.glob("docs/*.md") if code_of(page)}
    assert pages == {*PAGES} | ELSEWHERE


def test_every_public_name_is_on_a_page_and_in_the_reference():
    pages = "".join((ROOT / "docs" / f"{name}.md").read_text() for name in PAGES)
    named = r"(ww|widthwise)\.{0}\b|`{0}`"
    shown = {name for name in widthwise.PUBLIC if re.search(named.format(name), pages)}
    returned = {"CoordinateCheck", "Growths", "Plan", "Recipe", "Roles", "Transfer"}
    assert shown | returned == set(widthwise.PUBLIC)
    listed = re.findall(
        r"^\.\. auto(?:function|class):: widthwise\.(\w+)$",
        (ROOT / "docs" / "api.md").read_text(),
        re.M,
    )
    assert sorted(listed) == sorted(widthwise.PUBLIC)


def test_every_parametrization_that_ships_is_on_the_page():
    from widthwise.parametrization.named import shipped

    page = (ROOT / "docs" / "library.md").read_text()
    assert [name for name in shipped() if f"`{name}`" not in page] == []


@pytest.mark.slow  # imports timm, torchvision and transformers
def test_the_table_of_models_has_every_case_and_says_what_is_found():
    """After a new case: python -m benchmarks.architectures --write docs/models.md, and life"""
    from benchmarks import architectures, life

    page = (ROOT / "docs" / "models.md").read_text()
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    table = {row[0]: row[1:] for row in rows[1:]}
    assert [*table] == [*architectures.CASES]
    with architectures.quiet():
        for name in ("LSTM", "TransformerEncoder", "gpt2"):
            case = architectures.CASES[name]
            *proofs, lived = table[name][4:]
            for grow, proof in zip(case.grow, proofs, strict=False):
                assert life.judged(case, grow) == (proof, lived) and lived == life.ENDS
            for grow, of_mup, widened in zip(case.grow, table[name], table[name][2:], strict=False):
                for judge, said in (
                    (architectures.checked, of_mup),
                    (architectures.judge, widened),
                ):
                    verdict, words = judge(case, grow)
                    yes = {"accepted": "yes", "refused": f"no: {architectures.reason(words)}"}
                    assert said == yes.get(verdict, verdict)


def test_the_table_of_rates_adds_up_and_no_rate_is_another_than_mup_s():
    """After a new case: python -m benchmarks.rates --write docs/library.md"""
    page = (ROOT / "docs" / "library.md").read_text().partition("<!-- table -->\n")[2]
    rows = [line.strip("| ").split(" | ") for line in page.partition("<!--")[0].splitlines()]
    *families, total = ([int(cell) for cell in row[1:]] for row in rows[2:] if len(row) > 1)
    assert total == [sum(column) for column in zip(*families, strict=True)]
    assert total[3] > 1896 and total[4] == 0


@pytest.mark.slow  # imports timm, torchvision and transformers
@pytest.mark.parametrize("name", ["gpt2", "llama, kv fixed", "LSTM"])
def test_a_rate_is_mup_s(name):
    from benchmarks import architectures, rates

    with architectures.quiet():
        found = rates.compared(architectures.CASES[name], "heads")
    assert found[rates.EQUAL] > 7 and found.keys() == {rates.EQUAL}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gemma", "gemma2", "gemma3"])
def test_where_gemma_s_rate_is_not_mup_s_what_mup_changes_follows_the_width(name):
    """Its embedding is times the root of the width in the module: a step of Adam on it is too."""
    from benchmarks import architectures, rates

    case, embedding = architectures.CASES[name], "model.embed_tokens"
    theirs = rates.rates_of_mup(case, "heads")
    ours = rates.rates_of_ours(case, "heads")
    differ = [each for each in ours if ours[each][0] != pytest.approx(theirs[each])]
    assert differ == [f"{embedding}.weight"] and rates.compared(case, "heads")[rates.OWN] == 1

    def changed(factor, by_mup):
        torch.manual_seed(0)
        model = case.make(factor, "heads")
        plan = widthwise.plan(model, roles, "muP").init_()
        seen, (group, *_) = [], [g for g in plan.groups(0.01) if differ[0] in g["names"]]
        if by_mup:
            group["lr"] *= theirs[differ[0]] / ours[differ[0]][0]
        model.get_submodule(embedding).register_forward_hook(
            lambda *its: seen.append(its[2].detach())
        )
        optimizer = torch.optim.AdamW([group], lr=0.01, eps=0.0, weight_decay=0.0)
        model(*case.inputs(0)).logits.square().mean().backward()
        optimizer.step()
        model(*case.inputs(0))
        return float((seen[1] - seen[0]).square().mean().sqrt())

    roles = widthwise.roles(
        lambda k: case.make(k, "heads"), 1, case.inputs(0), other=2, prove=False
    )
    assert changed(rates.TIMES, False) == pytest.approx(changed(1, False), rel=0.05)
    assert changed(rates.TIMES, True) == pytest.approx(2 * changed(1, False), rel=0.05)
