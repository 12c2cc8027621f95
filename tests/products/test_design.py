"""What a study runs at a scale, as `repro show <study>` prints it."""

import pytest

from repro.core.suite import load
from repro.errors import UserError
from repro.products.explain import explain
from repro.products.summary import folded

SHOWN = {
    # fields of a design; axes of stages
    ("upscaling/mlp_adamw", "reduced"): ["factor 4", "lr 2^-10, 2^-9", "runs: tune 8,"],
    ("upscaling/gpt2_transfer", "overnight"): ["seeds 2000 to 2007", "lr 2^-8, 2^-7, 2^-6.5"],
    ("embedding_lr/width_and_vocabulary", "overnight"): ["lr 2^-8, 2^-7, 2^-6.5", "runs: width_"],
    ("embedding_lr/figure3", "reduced"): ["wide.widths 256", "run.steps 140"],
    ("embedding_lr/width", "workstation"): ["one job runs along seed", "seed 120 to 122"],
    ("effective_theory/bart_parameters", "reduced"): ["model.width 64, 128, 256, 512"],
    ("upscaling/architectures", "paper"): ["(18 values)", "runs: archi"],
}


@pytest.mark.parametrize(("name", "scale"), SHOWN)
def test_a_scale_of_a_study_is_a_table_that_fits(name, scale):
    lines = [*folded(explain(load([f"scale={scale}"]), name))]
    assert max(map(len, lines)) <= 100 and len(lines) <= 45
    text = " ".join(" ".join(lines).split())
    assert text.startswith(f"{name}, {scale} scale (studies/{name}.py)")
    assert all(words in text for words in SHOWN[name, scale])


def test_a_scale_that_a_study_lacks_is_refused():
    with pytest.raises(UserError, match="has no workstation scale, choose from smoke, reduced"):
        explain(load(["scale=workstation"]), "upscaling/mlp_adamw_narrow")
