"""The pages of recipes that people run and of what was found in them: their command, and what they
say."""

import re
import subprocess
from dataclasses import replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from benchmarks import _checkouts, _public, _speed_runs, _standard, recipes
from repro.lineage.checkout import ROOT
from widthwise.errors import UserError

PAGE, FOUND = (ROOT / "docs" / name for name in ("recipes.md", "found.md"))


def slope(layer, value, quantity="effect", law=(0.0, 0.0), word="grows"):
    ends = {"low": value - 0.1, "high": value + 0.1}
    return SimpleNamespace(
        layer=layer, slope=value, quantity=quantity, law=law, verdict=word, **ends
    )


def found(*slopes):
    verdict = "wrong" if any(s.verdict in ("grows", "vanishes") for s in slopes) else "right"
    return SimpleNamespace(slopes=slopes, verdict=verdict)


def of(name, published, commit="0" * 40):
    """A recipe of which this was found, right under muP and wrong under SP."""
    arms = published, None, found(slope("a", 0.0, word="right")), found(slope("a", 0.5))
    return recipes.Found(name, commit, *arms, 1.0)


def test_what_is_furthest_from_its_law_stands_first_and_decay_last():
    right = slope("a", 0.1, word="right")
    near, far = slope("b", 0.5), slope("c", -1.0, word="vanishes")
    decay = slope("e", -2.0, "decay", word="vanishes")
    spread = slope("d", 0.5, law=(-0.5, 0.5), word="right")
    assert recipes.wrong(found(right, decay, near, far, spread)) == [far, near, decay]
    assert recipes.verdict(found(right, near, decay)) == "wrong, 2 of 3 slopes, 1 of decay"
    assert recipes.verdict(found(right)) == "right, 1 slopes" and recipes.verdict(None) == "-"


def test_what_fades_in_decay_alone_is_not_called_wrong():
    """How it should go with the width is an open question, as the page says."""
    decay = slope("e", -1.0, "decay", word="vanishes")
    said = recipes.verdict(found(slope("a", 0.1, word="right"), decay))
    assert said == "right but for decay, 1 of 2 slopes"


def test_what_stands_between_the_marks_of_a_page_is_written_anew():
    page = f"before\n{recipes.BEGIN}old{recipes.END}after"
    assert recipes.written(page, "new") == f"before\n{recipes.BEGIN}new\n{recipes.END}after"


def test_what_is_not_checked_now_stays_as_the_page_has_it():
    pages = PAGE.read_text(), FOUND.read_text()
    assert recipes.written(pages[0], recipes.table([], pages[0])) == pages[0]
    assert recipes.written(pages[1], recipes.sections([], pages[1])) == pages[1]
    right = of(
        "lingua", found(slope("readout", 0.0, word="right")), _public.RECIPES["lingua"].commit
    )
    rows, text = recipes.table([right], pages[0]), recipes.sections([right], pages[1])
    assert rows.count("\n") == recipes.table([], pages[0]).count("\n")
    assert "## lingua" in pages[1] and "## lingua" not in text and "## Megatron-LM\n" in text


def test_a_rule_that_was_read_asks_for_no_checkout():
    recipe = _public.RECIPES["Megatron-LM"]
    assert recipe.rebuilt and recipes.commit_of(recipe, Path("nowhere")) == recipe.commit
    made = recipe.build(Path("nowhere"))
    model = made.make(128)
    assert (
        model.factor == 0.5 and model.readout.weight.std() > made.make(64).readout.weight.std() / 2
    )
    groups = made.optimizer(model).param_groups
    of = {id(g["params"][0]): (g["lr"], g["weight_decay"]) for g in groups}
    gate, norm = model.layers[0].mlp[0].weight, model.norm.weight
    assert of[id(gate)] == (0.0005, 0.1) and of[id(norm)] == (0.001, 0.0)


def test_a_wrong_recipe_has_a_section_of_its_lines_to_which_its_row_leads():
    wrong = of("nanochat", found(slope("readout", 0.5)))
    text = recipes.sections([wrong])
    assert "As published: wrong, 1 of 1 slopes: readout (effect) 0.50 [0.40, 0.60]." in text
    place = f"https://github.com/karpathy/nanochat/blob/{'0' * 40}/nanochat/gpt.py#L439"
    assert f"line [439]({place}): the readout's rate falls as width^-1/2.\n  - *What a" in text
    assert "\n  - *Mend*: as 1/width" in text and text.startswith("## nanochat\n")
    assert recipes.row(wrong)[2] == "[wrong, 1 of 1 slopes](found.md#nanochat)"


def test_a_right_recipe_has_those_lines_alone_that_training_does_not_show():
    right = found(slope("readout", 0.0, word="right"))
    assert recipes.section(of("nanochat", right)) == []
    assert recipes.row(of("nanochat", right))[2] == "right, 1 slopes"
    lines = [each for each in recipes.section(of("nanoGPT-mup", right)) if each.startswith("- ")]
    assert len(lines) == 1 and "Training does not see it" in lines[0]


def test_what_a_mend_leaves_open_is_named():
    unclear = found(slope("a", 0.2, word="unclear"), slope("b", 0.0, word="right"))
    unclear.verdict = "unclear"
    mended = replace(of("nanochat", found(slope("readout", 0.5))), mended=unclear)
    text = recipes.sections([mended])
    assert "Mended by these lines: unclear, 2 slopes: a (effect) 0.20 [0.10, 0.30]." in text


def test_a_slip_of_a_thread_has_its_line_where_that_was_read():
    threads, mup, _, neox = (recipes.told(slip) for slip in _public.SLIPS)
    assert "/microsoft/mup/blob/19814971934" in mup[-1] and "optim.py#L79): with" in mup[-1]
    assert neox[-1].startswith("- The model was built with muP off") and "pull/3715" in threads[2]


def test_tensors_that_read_the_width_get_a_lower_rate_and_the_same_decay_a_step():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.5)
    reading = _standard.matrices(model, "1.")
    assert reading == [model[1].weight]
    _standard.slowed(optimizer, reading, wider=4)
    rates = {id(p): g["lr"] for g in optimizer.param_groups for p in g["params"]}
    assert rates == {id(p): 0.025 if p is model[1].weight else 0.1 for p in model.parameters()}
    assert all(g["lr"] * g["weight_decay"] == 0.05 for g in optimizer.param_groups)
    before = model[1].weight.clone()
    _standard.scaled(reading, 0.5)
    assert torch.equal(model[1].weight, before / 2)


def test_a_checkout_at_another_commit_is_refused_in_a_line(tmp_path):
    recipe = _public.RECIPES["nanochat"]
    with pytest.raises(UserError, match="is no checkout of karpathy/nanochat"):
        recipes.commit_of(recipe, tmp_path)
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "a"], check=True)
    with pytest.raises(UserError, match=f"checkout {recipe.commit}$"):
        recipes.commit_of(recipe, tmp_path)
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    at_head = replace(recipe, commit=head.stdout.strip())
    assert recipes.commit_of(at_head, tmp_path) == at_head.commit
    (tmp_path / "gpt.py").write_text("x = 1\n")
    with pytest.raises(UserError, match="gpt.py is not as published"):
        recipes.commit_of(at_head, tmp_path)


def test_a_recipe_without_its_checkout_or_unknown_is_refused():
    with pytest.raises(SystemExit, match="lingua: give its checkout"):
        recipes.main(["--only", "lingua"])
    with pytest.raises(SystemExit, match="linguo: is no recipe"):
        recipes.main(["linguo=."])


def test_parts_of_a_script_are_carried_out_and_nothing_else(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("class A:\n    x = 1\nraise SystemExit\nfor k in range(2):\n    y = A.x + k\n")
    known = _checkouts.parts(path, _checkouts.defines, {})
    assert known["A"].x == 1 and "y" not in known
    _checkouts.parts(path, lambda node: type(node).__name__ == "For", known)
    assert known["y"] == 2


def test_a_function_of_a_module_is_made_again_without_a_line(tmp_path):
    (tmp_path / "a.py").write_text("K = 3\n\ndef f(x):\n    x += K\n    x *= 2\n    return x\n")
    theirs = _checkouts.module(tmp_path / "a.py", "without_a_line")
    assert theirs.f(1) == 8 and _checkouts.without(theirs, "f", 5)(1) == 4
    assert _checkouts.without(theirs, "f", 4)(1) == 2 and theirs.f(1) == 8


def test_two_checkouts_of_one_package_are_told_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(_checkouts.sys, "path", [*_checkouts.sys.path])
    for name in ("old", "new"):
        (tmp_path / name / "theirs").mkdir(parents=True)
        (tmp_path / name / "theirs" / "__init__.py").touch()
        (tmp_path / name / "theirs" / "model.py").write_text(f"NAME = {name!r}\n")
        found = _checkouts.package(tmp_path / name, "theirs.model").NAME
        assert found == name


def test_two_optimizers_step_together():
    first, second = nn.Linear(1, 1, bias=False), nn.Linear(1, 1, bias=False)
    both = _speed_runs.Both(torch.optim.SGD(m.parameters(), lr=1.0) for m in (first, second))
    before = [m.weight.item() for m in (first, second)]
    (first.weight.sum() + 2 * second.weight.sum()).backward()
    both.step()
    after = [m.weight.item() for m in (first, second)]
    assert after == pytest.approx([before[0] - 1, before[1] - 2])
    both.zero_grad()
    assert first.weight.grad is None and second.weight.grad is None


def rows() -> dict[str, list[str]]:
    """Recipe -> its cells on the page."""
    lines = re.findall(r"^\| \*\*(.*?)\*\*<br>(.*) \|$", PAGE.read_text(), re.M)
    return {name: rest.split(" | ") for name, rest in lines}


def below(name: str) -> str:
    """What the page of what was found says of a recipe."""
    text = FOUND.read_text().partition(recipes.BEGIN)[2].partition(recipes.END)[0]
    found = re.search(rf"^## {re.escape(name)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return found[1] if found else ""


def test_the_page_has_every_recipe_at_its_commit_and_what_each_is_meant_for():
    found = rows()
    assert list(found) == list(_public.RECIPES) and len(found) >= 7
    for name, recipe in _public.RECIPES.items():
        where, meant, *_ = found[name]
        commit = recipe.commit or f"v{version('transformers')}"
        assert f"https://github.com/{recipe.repository}/tree/{commit}" in where
        assert meant == recipe.meant
        assert all(
            f"/blob/{commit}/" in link for link in re.findall(r"\(http\S*#L\d+\)", below(name))
        )


def test_every_wrong_row_leads_to_its_lines_what_a_user_sees_and_the_mend():
    published = {name: cells[2] for name, cells in rows().items()}
    beyond = [n for n, cell in published.items() if cell.startswith(("[wrong", "[right but for"))]
    assert len(beyond) > 3
    for name in beyond:
        assert published[name].endswith(f"](found.md#{recipes.anchor(name)})")
        lines = [line for line in _public.RECIPES[name].lines if line.trained and line.mend]
        assert lines, name
        for line in lines:
            assert all(f"{line.path}#L{number}" in below(name) for number in line.numbers)
            told = f"{line.does}.\n  - *What a user sees*: {line.seen}.\n  - *Mend*: {line.mend}."
            assert told in below(name)
    right = [n for n, cell in published.items() if cell.startswith(("right,", "[right,"))]
    assert right and not any("(effect)" in below(name) for name in right)


def test_every_section_has_a_row_that_leads_to_it_or_a_thread():
    text = FOUND.read_text().partition(recipes.BEGIN)[2].partition(recipes.END)[0]
    sections = [recipes.anchor(name) for name in re.findall(r"^## (.*)$", text, re.M)]
    slips = [recipes.anchor(slip.name) for slip in _public.SLIPS]
    assert sections == re.findall(r"\]\(found\.md#([\w-]+)\) \|", PAGE.read_text()) + slips


def test_all_that_is_wrong_has_a_mend_which_is_right_and_muP_is_right():
    for name, (_, _, published, mended, mup, sp, _) in rows().items():
        assert (mended == "-") == published.lstrip("[").startswith(("right,", "unclear")), name
        assert mended.startswith(("-", "right,")), name
        assert mup.startswith("right") and sp.startswith("wrong"), name


def test_lines_of_transformers_are_those_of_the_installed_one():
    words = {_public.TRAINER.path: "optimizer_grouped_parameters ="}
    words |= dict.fromkeys((_public.GPT2, _public.LLAMA), "initializer_range")
    words |= {_public.TIED: r"logits = self.lm_head\(|GPT2Attention, GPT2MLP|c_proj.weight"}
    words |= {_public.UNTIED: r"std=std\)"}
    root = Path(find_spec("transformers").origin).parent
    read = set()
    for recipe in _public.RECIPES.values():
        for line in recipe.lines if recipe.repository == "huggingface/transformers" else ():
            text = (root / line.path.removeprefix("src/transformers/")).read_text().splitlines()
            assert all(re.search(words[line.path], text[n - 1]) for n in line.numbers)
            read.add(line.path)
    assert read == set(words)


@pytest.mark.slow  # imports models of others and trains them: a dozen seconds
@pytest.mark.parametrize(
    "name", [n for n, r in _public.RECIPES.items() if r.rebuilt or not r.commit]
)
def test_what_needs_no_checkout_comes_out_as_on_the_page(name):
    widths = [_public.BASE * wider for wider in recipes.WIDER]
    *again, sp, _ = recipes.row(recipes.check(name, Path(), widths, recipes.SEEDS))
    *page, page_sp, _ = rows()[name]
    assert again[2:] == page[2:] and sp.split(",")[0] == page_sp.split(",")[0]
