"""Work on several ranks: processes forked from one that has loaded torch, joined by gloo."""

import multiprocessing
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["ranks", "repro.tasks.warm_start", "torch.distributed.fsdp"])


def carry_out(ranks: int, work, *arguments, folder: Path):
    """What `work(*arguments)` returns on rank 0 of so many; an error of any rank ends all."""
    store = folder / f"store{len(list(folder.glob('store*')))}"
    results = CONTEXT.SimpleQueue()
    processes = [
        CONTEXT.Process(target=_rank, args=(rank, ranks, store, results, work, arguments))
        for rank in range(ranks)
    ]
    for process in processes:
        process.start()
    found = []
    try:
        while len(found) < ranks and not any(error for _, error, _ in found):
            found.append(results.get())
    finally:
        for process in processes:
            process.join(0.0 if any(error for _, error, _ in found) else 5.0)
            process.kill()
    for _, error, _ in found:
        assert not error, error
    return next(value for rank, _, value in found if rank == 0)


def _rank(rank, ranks, store, results, work, arguments):
    import torch

    from repro.training.ranks import process_group

    torch.set_num_threads(1)
    try:
        place = {"rank": rank, "world_size": ranks}
        with process_group("cpu", init_method=f"file://{store}", **place):
            value = work(*arguments)
            results.put((rank, None, value if rank == 0 else None))
    except BaseException as error:
        results.put((rank, f"{type(error).__name__}: {error}", None))
        raise
