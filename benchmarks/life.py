"""Models of others through the whole life that docs/library.md describes, as their users call them:
roles with their proof, a plan, `init_()`; made on the meta device, `to_empty`, `init_(generator)`;
groups, a schedule, steps, `check`; saved and loaded. Writes its columns of the table of models.

Two things need no oracle and are held: what two makes with other random numbers have in common is
the same after any `init_`, but for factors that it holds; and by a generator every tensor has the
moments, ties, padding rows and frozen values that it has by `init_()` alone. An exception that is
no UserError fails, and so does a life that ends before its end without a refusal.

    uv run python -m benchmarks.life [--cases "llama*" "swin*"] [--write docs/models.md]
"""

import math
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

import widthwise as ww
from benchmarks.architectures import CASES, HEADS, Case, _value, asked, quiet, reason, written
from benchmarks.zoo.inputs import BOTH
from widthwise.errors import UserError
from widthwise.identity import named
from widthwise.parametrization.checked import spread

STEPS, RATE, WIDER = 2, 1e-3, 2
ENDS = "yes"


class Broken(Exception):
    """What is not as it has to be."""


def held(plan: Any, name: str, values: torch.Tensor) -> torch.Tensor:
    """Values of a parameter without the factor that it holds."""
    shift = plan.roles.shifts.get(name, 0.0)
    return (values + shift) / plan.held.get(name, 1.0) - shift


def check_shared(plan: Any, makes: list[nn.Module], what: str) -> None:
    """What two makes have in common is in the model too."""
    first, second = (dict(named(each)) for each in makes)
    for name, parameter in named(plan.model):
        if not torch.equal(first[name], second[name]) or plan.roles.found[name].norms:
            continue
        if not torch.allclose(held(plan, name, parameter), first[name], rtol=1e-5, atol=1e-7):
            raise Broken(f"{what}: {name}, which every make gives alike, is another")
    own, other = (dict(each.named_buffers()) for each in makes)
    for name, buffer in plan.model.named_buffers():
        if torch.equal(own[name], other[name]) and not torch.equal(buffer, own[name]):
            raise Broken(f"{what}: the buffer {name}, which every make gives alike, is another")


def check_moments(plan: Any, drawn: nn.Module) -> None:
    """By a generator every tensor is as it is without, but for chance."""
    if [name for name, _ in named(plan.model)] != [name for name, _ in named(drawn)]:
        raise Broken("init_(generator): other weights are tied")
    for (name, a), (_, b) in zip(named(plan.model), named(drawn), strict=True):
        chance = 0.02 + 6 / math.sqrt(2 * a.numel())
        if a.requires_grad != b.requires_grad or not bool(torch.isfinite(b).all()):
            raise Broken(f"init_(generator): {name} has no values, or trains and did not")
        sizes = spread(a), spread(b)
        if (0 in sizes and max(sizes) > 0) or (
            0 not in sizes and abs(math.log(sizes[1] / sizes[0])) > chance
        ):
            raise Broken(
                f"init_(generator): {name} has a spread of {sizes[1]:.3g}, not {sizes[0]:.3g}"
            )
        means = float(a.float().mean()), float(b.float().mean())
        if abs(means[0] - means[1]) > 6 * max(sizes) * (2 / a.numel()) ** 0.5:
            raise Broken(
                f"init_(generator): {name} has a mean of {means[1]:.3g}, not {means[0]:.3g}"
            )
    for module in drawn.modules():
        rows = (module.padding_idx,) if isinstance(module, nn.Embedding) else ()
        if any(row is not None and bool(module.get_parameter("weight")[row].any()) for row in rows):
            raise Broken("init_(generator): a padding row is not 0")


def trained(plan: Any, case: Case) -> torch.optim.Optimizer:
    """An optimizer with a schedule, after steps and the plan's check at each."""
    optimizer = torch.optim.AdamW(plan.groups(RATE, 0.1), lr=RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (step + 1))
    for step in range(STEPS):
        plan.check(optimizer)
        optimizer.zero_grad()
        value = _value(plan.model(*case.inputs(step)))
        (value.real if value.is_complex() else value).float().square().mean().backward()
        ww.clip_grad_norm_(plan.model.parameters(), 1.0, plan)
        optimizer.step()
        schedule.step()
    plan.check(optimizer)
    return optimizer


def lived(case: Case, grow: str) -> Iterator[tuple[str, str]]:
    """Stages and what came of each; raises UserError where it is refused, Broken and others."""

    def make(k: int) -> nn.Module:
        return case.make(k, grow)

    def of_seed(seed: int) -> nn.Module:
        torch.manual_seed(seed)
        return make(WIDER)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        roles = ww.roles(make, 1, case.inputs(0), other=2)
    told = [str(each.message) for each in caught if str(each.message).startswith("roles: ")]
    proved = roles.proof.partition(" modules")[0].replace(" of ", "/")
    yield "proof", proved + "".join(f"; {line}" for line in told)
    makes = [of_seed(seed) for seed in (1, 2)]
    plan = ww.plan(of_seed(0), roles, "muP").init_()
    check_shared(plan, makes, "init_()")
    yield "init_()", ENDS
    try:
        with torch.device("meta"):
            empty = make(WIDER)
    except Exception as error:  # the library's own, none of ours
        yield "meta", f"not made on meta: {type(error).__name__}"
    else:
        anew = ww.plan(empty, roles, "muP")
        empty.to_empty(device="cpu")
        getattr(empty, "tie_weights", lambda: None)()
        anew.init_(torch.Generator().manual_seed(3))
        check_shared(anew, makes, "init_(generator)")
        check_moments(plan, empty)
        yield "init_(generator)", ENDS
    optimizer = trained(plan, case)
    yield "trained", ENDS
    with tempfile.TemporaryDirectory() as folder:
        roles.save(f"{folder}/roles.json")
        torch.save([plan.model.state_dict(), optimizer.state_dict()], f"{folder}/model.pt")
        again = ww.plan(of_seed(4), ww.Roles.load(f"{folder}/roles.json", make), "muP")
        weights, state = torch.load(f"{folder}/model.pt")
    again.model.load_state_dict(weights)
    loaded = torch.optim.AdamW(again.groups(RATE, 0.1), lr=RATE)
    loaded.load_state_dict(state)
    again.check(loaded)
    with torch.no_grad():
        values = [
            [t for t in torch.utils._pytree.tree_leaves(each.model.eval()(*case.inputs(9)))]
            for each in (plan, again)
        ]
    if not all(
        torch.equal(a, b)
        for a, b in zip(*values, strict=True)
        if isinstance(a, torch.Tensor) and not a.isnan().any()
    ):
        raise Broken("loaded: another function")
    yield "loaded", ENDS


def judged(case: Case, grow: str) -> tuple[str, str]:
    """(what was proved, what came of the life)."""
    torch.manual_seed(0)
    proof, notes = "", []
    try:
        for stage, found in lived(case, grow):
            if stage == "proof":
                proof = found
            elif found != ENDS:
                notes.append(found)
    except UserError as error:
        return proof, f"no: {reason(str(error))}: {error}"
    except Exception as error:
        return proof, f"fails: {type(error).__name__}: {error}"
    return proof, "; ".join(notes) or ENDS


def main(words: list[str] | None = None) -> None:
    """Print a line a variant, and counts; write the page's columns where a page is given."""
    variants, page = asked(words, __doc__)
    found: dict[str, dict[str, tuple[str, str]]] = {}
    counts: Counter[str] = Counter()
    print("| model | grows | proved | life | CPU s |\n|---|---|---|---|---|")
    with quiet():
        for name, grow in variants:
            begin = time.process_time()
            proof, life = judged(CASES[name], grow)
            found.setdefault(name, {})[grow] = proof, life
            counts[life.partition(":")[0]] += 1
            counts["warned by the proof"] += "follows the width" in proof
            seconds = time.process_time() - begin
            line = f"{proof} | {life}".replace("\n", " ")
            print(f"| {name} | {grow} | {line} | {seconds:.1f} |", flush=True)
    print(f"\n{sum(map(len, found.values()))} variants: {dict(counts)}")
    if page:
        cells = {}
        for name, by in found.items():
            lives = dict.fromkeys(": ".join(life.split(": ")[:2]) for _, life in by.values())
            proofs = [
                by.get(grow, ("", ""))[0].partition(";")[0].partition(":")[0] for grow in BOTH
            ]
            cells[name] = [*proofs, ", ".join(lives)]
        page.write_text(written(page.read_text(), cells, len(HEADS)))
    if counts["fails"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
