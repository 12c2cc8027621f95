"""A device that is not the CPU, for machines without one: values are the CPU's, kept apart from it.

An operator on tensors of both raises, as it would on a GPU. As a script it carries out every
task's golden run on this device and prints {task: records} as JSON. In a process of its own: the
registration lasts. Autocast and the fused kernels of a real GPU are not simulated.
"""

import json
import tempfile
from pathlib import Path

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import backend_registration
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils._pytree import tree_iter, tree_map

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


def carry_out(func, args, kwargs):
    """An operator on the tensors within; raises RuntimeError where two devices meet."""
    tensors = [a for a in tree_iter((args, kwargs)) if isinstance(a, torch.Tensor)]
    here = any(isinstance(a, DeviceTensor) for a in tensors)
    elsewhere = any(a.dim() for a in tensors if not isinstance(a, DeviceTensor))
    if here and elsewhere and func not in MIXING:
        raise RuntimeError(f"{func}: tensors of {NAME} and of the CPU")
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


def main() -> None:
    """Print {task: records} of every golden run."""
    from golden import SPECS, records

    from repro.training import device

    kept = register()
    select = device.select

    def on_either(name: str, threads: int) -> torch.device:
        select("cpu", threads)
        return torch.device(name)

    device.select = on_either
    found = {}
    for task in SPECS.keys() - NOT_SIMULATED:
        with tempfile.TemporaryDirectory() as folder, Sequences():
            try:
                found[task] = records(task, Path(folder), NAME)
            except RuntimeError as error:
                raise RuntimeError(f"task {task}") from error
    print(json.dumps(found))
    del kept


if __name__ == "__main__":
    main()
