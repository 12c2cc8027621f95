"""A pair of modules is made and looked at once, whatever is to be done with it."""

from functools import partial

import pytest
import torch
from refusals import refused

import widthwise
from benchmarks.zoo.small import Transformer
from widthwise.tracing import passes as passes_of
from widthwise.tracing.passes import passes
from widthwise.tracing.roles import roles_of
from widthwise.upscaling.untying import tied_readouts, untie

tied = partial(Transformer, tied=True)
TOKENS = torch.tensor([[1, 2, 3, 4], [6, 5, 0, 1]])


def test_a_module_is_untied_scaled_and_widened_by_one_look_at_it(monkeypatch):
    """It was made, copied and traced three times."""
    torch.manual_seed(0)
    model, made, traced = tied(8), [], []
    once = passes_of.trace
    monkeypatch.setattr(passes_of, "trace", lambda *of: (traced.append(of), once(*of))[1])

    def make(factor):
        made.append(factor)
        return tied(8 * factor)

    wide, _, growth = widthwise.widen(model, None, 2, make, TOKENS, untie=True, scale_logits=True)
    assert growth.untied == ("readout.weight",)
    assert growth["attention.qkv.weight"].held == pytest.approx(0.5**0.25)
    torch.testing.assert_close(wide(TOKENS), model(TOKENS))
    assert len(traced) == 2 and made == [2, 2], "first without memory, to see that it fits"


def test_what_was_seen_of_a_tied_module_says_what_its_untied_form_is():
    narrow, wide = (tied(width) for width in (8, 16))
    seen = passes(narrow, wide, TOKENS, (8, 16), {})
    readouts = tied_readouts(roles_of(seen), narrow)
    assert readouts == {"readout.weight": "embedding.weight"}
    told = roles_of(seen.untied(readouts))
    own = roles_of(passes(untie(narrow, readouts), untie(wide, readouts), TOKENS, (8, 16), {}))
    assert told.found == own.found and set(told.warnings) == set(own.warnings)
    assert told.inside == own.inside and told.attention == own.attention
    assert told["readout.weight"].kind == "output" and not told.found["embedding.weight"].tied


@pytest.mark.parametrize("option", ["untie", "scale_logits"])
def test_what_is_seen_alone_is_asked_for_by_inputs(option):

    with refused(f"widen: {option} needs inputs, which show"):
        widthwise.widen(tied(8), None, 2, lambda k: tied(8 * k), unchecked=True, **{option: True})
