"""torch's compiler is not loaded by a step of training, and is by what needs it."""

import subprocess
import sys

import pytest
from parameters import kept

pytestmark = pytest.mark.long

STEPS = """
import sys
import torch
from repro.training import late_compiler

late = sys.argv[1] == "late"
if late:
    late_compiler.load_late()
    late_compiler.load_late()  # again: nothing

def parameters(make):
    torch.manual_seed(0)
    model = torch.nn.Linear(5, 3)
    optimizer = make(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.ones(2, 5)).square().sum().backward()
        optimizer.step()
    optimizer.load_state_dict(optimizer.state_dict())
    return model.weight.tolist()

print([parameters(make) for make in (torch.optim.AdamW, torch.optim.Adam, torch.optim.SGD)])
print("torch._dynamo.convert_frame" in sys.modules)
doubled = torch.compile(lambda x: 2 * x, backend="eager")
print(doubled(torch.ones(1)).item(), "torch._dynamo.convert_frame" in sys.modules)
print(torch.func.vmap(torch.func.grad(lambda x: x.square().sum()))(torch.ones(1, 2)).tolist())
from torch._dynamo import config
print(type(torch._dynamo).__name__, config is torch._dynamo.config)
"""


@pytest.fixture(scope="module")
def said():
    """How the compiler is loaded -> the lines that STEPS prints, in a process of its own."""
    started = {
        word: subprocess.Popen([sys.executable, "-c", STEPS, word], stdout=-1, text=True)
        for word in ("late", "at once")
    }
    return {word: process.communicate()[0].splitlines() for word, process in started.items()}


def test_steps_are_the_same_to_the_last_bit(said):
    assert said["late"][0] == said["at once"][0] and "[[[" in said["late"][0]


def test_the_compiler_is_loaded_where_something_compiles_and_not_before(said):
    assert (said["late"][1], said["at once"][1]) == ("False", "True")
    after = ["2.0 True", "[[2.0, 2.0]]", "module True"]
    assert said["late"][2:] == said["at once"][2:] == after


def says(script):
    """The last line that a script prints, in a process of its own where the compiler is late."""
    call = [sys.executable, "-c", START + script]
    return subprocess.run(call, stdout=-1, text=True).stdout.splitlines()[-1]


START = """
import inspect, sys
import torch
from repro.training import late_compiler
late_compiler.load_late()
"""
ASKING = """
for module in [*sys.modules.values()]:
    hasattr(module, "__file__"), hasattr(module, "__warningregistry__")
inspect.getmodule(inspect.currentframe())
import torch.distributed.tensor
print("torch._dynamo.convert_frame" in sys.modules)
"""
PART = """
import torch._dynamo.{0} as part
import torch._dynamo.eval_frame as other
print(part is getattr(other, "{0}"), part.__spec__.origin == part.__file__, end=" ")
print([type(each).__name__ for each in sys.meta_path].count("_Part"))
"""


def test_what_asks_something_of_every_module_loads_no_compiler_amid_an_import():
    assert says(ASKING) == "False"


@pytest.mark.parametrize("part", kept(["config", "trace_rules"], first=1))
def test_a_part_that_is_imported_first_is_the_compiler_s_own(part):
    assert says(PART.format(part)) == "True True 0"
