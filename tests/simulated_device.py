"""A device that is not the CPU, for machines without one: values are the CPU's, kept apart from it.

An operator on tensors of both raises, as it would on a GPU: single numbers may meet, but not in the
step of a fused optimizer. What a GPU would have to be waited for is counted, by the line of the
suite that asks for it (WAITS): reading a value, and copies from or to the CPU that are not told
`non_blocking`. As a script it prints JSON: `golden`, {task: records} of every task's golden run on
this device; `waits`, {case: {line: waits in STEPS steps}}; `upscaled`, {device: losses} of a run
from a widened base; `pieces LIST`, {code: waits, or its error} of a JSON list of code. In a
process of its own: the registration lasts. Autocast and the kernels of a real GPU are not
simulated.
"""

import json
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import backend_registration
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils._pytree import tree_iter, tree_map

from repro.cost import Layout

NAME = "simulated"
aten = torch.ops.aten
# Forward-mode derivatives of tensors that wrap others crash torch.
NOT_SIMULATED = {"decoder_sign_step"}
MIXING = {  # a GPU's tensors may meet the CPU's in a copy, and in an index
    aten._to_copy.default,
    aten.copy_.default,
    aten.index.Tensor,
    aten.index_put_.default,
    aten._index_put_impl_.default,
}
# These give a number, or a shape that hangs on values: the CPU has to know them.
READING = {
    aten._local_scalar_dense.default,
    aten.is_nonzero.default,
    aten.equal.default,
    aten.nonzero.default,
    aten.masked_select.default,
    aten._unique2.default,
    aten.repeat_interleave.Tensor,
}
INDEXING = {aten.index.Tensor, aten.index_put_.default, aten._index_put_impl_.default}
SUITE = str(Path(__file__).resolve().parent.parent)
WAITS: Counter[str] = Counter()  # a line of the suite, and the operator -> how often it waited


class DeviceTensor(torch.Tensor):
    """A tensor of the device, around the CPU's tensor `inner`."""

    @staticmethod
    def __new__(cls, inner: torch.Tensor):
        wrapper = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=torch.device(NAME, 0),
        )
        wrapper.inner = inner
        return wrapper

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return carry_out(func, args, kwargs or {})


def is_simulated(device) -> bool:
    """Whether a factory's `device` argument names this device."""
    return device is not None and torch.device(device).type == NAME


def crosses(func, args, kwargs) -> bool:
    """Whether a copy goes from one device to the other, and is waited for."""
    if func is aten._to_copy.default:
        target = kwargs.get("device")
        other = target is not None and is_simulated(target) != isinstance(args[0], DeviceTensor)
        return other and not kwargs.get("non_blocking")
    if func is aten.copy_.default:
        into, source, *non_blocking = args
        tensors = isinstance(into, DeviceTensor) != isinstance(source, DeviceTensor)
        return tensors and not any((*non_blocking, kwargs.get("non_blocking")))
    return False


def waits(func, args, kwargs) -> bool:
    """Whether a GPU has to finish what is queued before this operator can go on."""
    if func in INDEXING:
        index = [i for i in tree_iter(args[1]) if isinstance(i, torch.Tensor)]
        return any(i.dtype == torch.bool or not isinstance(i, DeviceTensor) for i in index)
    return func in READING or crosses(func, args, kwargs)


def line() -> str:
    """The innermost line of the suite, or of this folder, that is being carried out."""
    frames = [f for f in traceback.extract_stack() if f.filename.startswith(SUITE)]
    frames = [f for f in frames if f.filename != __file__ and ".venv" not in f.filename]
    if not frames:
        return "torch"
    return f"{Path(frames[-1].filename).relative_to(SUITE)}: {frames[-1].line}"


def carry_out(func, args, kwargs):
    """An operator on the tensors within; raises RuntimeError where two devices meet."""
    tensors = [a for a in tree_iter((args, kwargs)) if isinstance(a, torch.Tensor)]
    here = any(isinstance(a, DeviceTensor) for a in tensors)
    fused = func.__name__.startswith("_fused_")
    elsewhere = any(fused or a.dim() for a in tensors if not isinstance(a, DeviceTensor))
    if here and elsewhere and func not in MIXING:
        raise RuntimeError(f"{func}: tensors of {NAME} and of the CPU")
    if waits(func, args, kwargs):
        WAITS[f"{line()} ({func})"] += 1
    inner_args, inner_kwargs = tree_map(
        lambda a: a.inner if isinstance(a, DeviceTensor) else a, (args, kwargs)
    )
    target = kwargs.get("device")
    if target is not None:
        inner_kwargs |= {"device": torch.device("cpu"), "pin_memory": False}
        here = is_simulated(target)
    elif func is aten.copy_.default:
        here = isinstance(args[0], DeviceTensor)
    result = func(*inner_args, **inner_kwargs)
    if not here:
        return result
    result = tree_map(lambda a: DeviceTensor(a) if isinstance(a, torch.Tensor) else a, result)
    return return_and_correct_aliasing(func, args, kwargs, result)


class Sequences(TorchFunctionMode):
    """Python sequences become tensors before they reach C++, which cannot move them here."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if func in (torch.tensor, torch.as_tensor) and is_simulated(kwargs.get("device")):
            device = kwargs.pop("device")
            return func(*args, **kwargs, device="cpu").to(device)
        if func is torch.Tensor.new_tensor:
            return torch.tensor(args[1], dtype=args[0].dtype).to(args[0].device)
        if func in (torch.Tensor.__getitem__, torch.Tensor.__setitem__):
            tensor, index, *value = args
            index = tree_map(
                lambda i: torch.tensor(i).to(tensor.device) if isinstance(i, list) else i,
                index,
                is_leaf=lambda i: isinstance(i, list),
            )
            args = (tensor, index, *value)
        return func(*args, **kwargs)


class Generator(torch.Generator):
    """The CPU's generator, said to be of `device`."""

    def __new__(cls, device="cpu"):
        generator = super().__new__(cls, "cpu")
        generator.said = torch.device(device)
        return generator

    def __init__(self, device="cpu"):
        pass

    @property
    def device(self) -> torch.device:
        """Where its numbers are said to be drawn."""
        return self.said


class Module(backend_registration._DummyBackendModule):
    """What torch asks of a device's module beyond a dummy's."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """Number formats of autocast."""
        return [torch.bfloat16, torch.float16]

    def get_rng_state(self, device: torch.device) -> torch.Tensor:
        """Of its own generator, which nothing draws from."""
        return torch.Generator().get_state()

    def set_rng_state(self, state: torch.Tensor, device: torch.device) -> None:
        """Nothing, as nothing is drawn."""


def register() -> list[torch.library.Library]:
    """Make the device known to torch, as long as what is returned is kept."""
    backend_registration._setup_privateuseone_for_python_backend(NAME, backend_module=Module())
    torch.Generator = Generator
    every, autocast, factories = (torch.library.Library(n, "IMPL") for n in ("_", "_", "aten"))
    every.fallback(lambda func, *args, **kwargs: carry_out(func, args, kwargs), "PrivateUse1")
    autocast.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
    for name in ("arange", "arange.start", "arange.start_step", "eye", "eye.m"):
        # torch's own resize an empty tensor, which a wrapper does not notice
        make = getattr(torch, name.split(".")[0])
        factories.impl(
            name,
            lambda *args, dtype=None, make=make, **_: DeviceTensor(
                make(*args, dtype=dtype, device="cpu")
            ),
            "PrivateUse1",
        )
    return [every, autocast, factories]


def golden_records() -> dict:
    """{task: records} of every golden run."""
    from golden import SPECS, records

    from repro.training import ranks

    found = {}
    for task in SPECS.keys() - NOT_SIMULATED:
        with tempfile.TemporaryDirectory() as folder, ranks.laid_out(ON_GPU):
            try:
                found[task] = records(task, Path(folder), NAME)
            except RuntimeError as error:
                raise RuntimeError(f"task {task}") from error
    return found


ON_GPU = Layout(augment=True)  # images are changed on the device, as on a GPU
STEPS = 3  # the difference between a longer and a shorter run of each case
TRAINED = (
    *("language_model", "pretraining", "warm_start", "transfer"),
    *("image_classification", "span_denoising"),
)


def cases() -> dict[str, tuple[str, Mapping]]:
    """Name -> (task, changes to its golden spec): every task that trains, and what takes a way of
    its own."""
    from golden import SPECS

    muon = {"name": "muon", "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1, "momentum": 0.9}
    muon |= {"adjust_lr_fn": "unit_rms", "clip": None}
    sgd = {"name": "sgd", "momentum": 0.9, "nesterov": False, "weight_decay": 0.1, "clip": None}
    found: dict[str, tuple[str, Mapping]] = {task: (task, {}) for task in TRAINED}
    found |= {f"{task}, float16": (task, {"precision": "float16"}) for task in TRAINED}
    model = {"name": "resnet", "width": 0.0625, "classes": 3, "base_width": 0.0625}
    data = {"dataset": "golden", "batch_size": 16, "augment": True, "resolution": 8}
    found["images"] = ("warm_start", {"model": model, "data": data})
    randomly = {"crop": [0.3, 1.0], "randaugment": "rand-m9-mstd0.5-inc1"}
    changed = SPECS["image_classification"]["data"] | randomly
    found["augmented"] = ("image_classification", {"data": changed})
    found["muon"] = ("transfer", {"optimizer": SPECS["transfer"]["optimizer"] | muon})
    found["sgd"] = ("transfer", {"optimizer": sgd})
    return found


def waits_of_steps() -> dict[str, dict[str, int]]:
    """{case: {line: how often STEPS steps waited there}}."""
    from importlib import import_module
    from types import SimpleNamespace

    from golden import SPECS, inputs_of, pictures

    from repro import backend
    from repro.data.needs import Arrays
    from repro.tasks import TASKS
    from repro.training import loop, ranks

    loop.time = SimpleNamespace(monotonic=lambda: 0.0)  # no progress, which reads a loss a second
    backend.CHUNK[NAME] = 64  # so that losses go by chunks, as those of a large vocabulary do
    found = {}
    for name, (task, changes) in cases().items():
        spec = SPECS[task] | changes
        counts = []
        for steps in (2, 2 + STEPS):
            with tempfile.TemporaryDirectory() as folder, ranks.laid_out(ON_GPU):
                path = Path(folder)
                place = backend.select(NAME, 1)
                module = import_module(TASKS[task].module)
                images = "resolution" in spec["data"]
                inputs = {Arrays("golden"): pictures(path)} if images else inputs_of(task, path)
                loaded = module.load_data(spec, inputs, place)
                run = TASKS[task].build(spec, loaded, place)
                run = replace(run, steps=steps, evaluations=1, held_out=(), evaluate=None)
                WAITS.clear()
                loop.train(run, progress=lambda step, loss: None, checkpoint=path / "state")
                counts.append(Counter(WAITS))
        found[name] = dict(counts[1] - counts[0])
    return found


def upscaled_losses() -> dict[str, list[float]]:
    """{device: losses} of a run that goes on from a base, widened with its AdamW's state."""
    from golden import SPECS, inputs_of

    from repro.files import sha256_file
    from repro.tasks import TASKS

    task, spec, found = TASKS["warm_start"], SPECS["warm_start"], {}
    for device in ("cpu", NAME):
        with tempfile.TemporaryDirectory() as folder:
            file, inputs = Path(folder) / "base", inputs_of("warm_start", Path(folder))
            context = {"inputs": inputs, "device": device, "progress": lambda step, loss: None}
            task.run(spec, **context, checkpoint=Path(folder) / "state", final=file)
            base = {"file": str(file), "sha256": sha256_file(file), "spec": spec}
            noise = {"noise": "gaussian", "convention": "paper", "level": 0.0}
            start = {"checkpoint": base, "width": spec["model"]["width"], **noise}
            wide = spec | {"start": start, "model": spec["model"] | {"width": 24}}
            records = task.run(wide, **context, checkpoint=Path(folder) / "state of it")
            found[device] = [record["train_loss"] for record in records]
    return found


def told_of_pieces() -> dict[str, int | str]:
    """{code: how often a GPU would be waited for by it, or its error}; x: two of its ones."""
    found: dict[str, int | str] = {}
    for code in json.loads(sys.argv[2]):
        names = {"torch": torch, "x": torch.ones(2, device=NAME)}
        WAITS.clear()
        try:
            exec(code, names)
            found[code] = WAITS.total()
        except Exception as error:
            found[code] = f"{type(error).__name__}: {error}"
    return found


PRINTED = {"golden": golden_records, "waits": waits_of_steps, "upscaled": upscaled_losses}
PRINTED["pieces"] = told_of_pieces


def main() -> None:
    """Print what is asked for."""
    from repro import backend

    kept = register()
    select = backend.select

    def on_either(name: str, threads: int) -> torch.device:
        select("cpu", threads)
        return torch.device(name)

    backend.select = on_either
    backend.autocast = lambda *_: nullcontext()
    with Sequences():
        print(json.dumps(PRINTED[sys.argv[1]]()))
    del kept


if __name__ == "__main__":
    main()
