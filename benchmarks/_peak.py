"""How fast a device multiplies square matrices."""

import time
from collections.abc import Callable

import torch


def matmul_peak(
    device: str = "cpu", repeats: int = 10, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Operations per second of square matrix products: the best of several sizes and `repeats`.

    float32 on a CPU, on every thread torch uses; bfloat16 on CUDA. clock: in seconds; of one thread
    beside other work, the process' own.
    """
    on_cpu = torch.device(device).type == "cpu"
    dtype, sizes = (torch.float32, (512, 1024)) if on_cpu else (torch.bfloat16, (4096, 8192))
    best = 0.0
    for n in sizes:
        a, b = (torch.randn(n, n, device=device, dtype=dtype) for _ in range(2))
        for _ in range(repeats):
            start = clock()
            a @ b
            if not on_cpu:
                torch.cuda.synchronize()
            best = max(best, 2 * n**3 / (clock() - start))
    return best
