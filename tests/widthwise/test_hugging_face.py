"""Hugging Face's Llama and Trainer: batches of keywords, training, saving, loading, resuming."""

import pytest
import torch
from refusals import refused

import widthwise as ww
from benchmarks.zoo.hugging_face import llama

pytestmark = pytest.mark.slow  # imports transformers

BASE, WIDTH = 32, 64
STEPS, SAVED = 6, 3


make = llama  # two heads, whose dimension grows: their logits get a factor


def rows():
    """24 examples, mappings of keywords, as a data set of Trainer holds them."""
    tokens = torch.randint(0, 32, (24, 8), generator=torch.Generator().manual_seed(0))
    return [{"input_ids": row, "labels": row} for row in tokens]


def batch(seed=0):
    tokens = torch.stack([row["input_ids"] for row in rows()[:4]])
    return {"input_ids": tokens, "labels": tokens}


def planned(seed):
    torch.manual_seed(seed)
    model = make(WIDTH)
    roles = ww.roles(make, BASE, {"input_ids": batch()["input_ids"]})
    plan = ww.plan(model, roles, "muP").init_()
    return model, plan


def trainer(folder, model, plan, steps=STEPS):
    from transformers import Trainer, TrainingArguments

    optimizer = torch.optim.AdamW(plan.groups(lr=0.01, weight_decay=0.1), lr=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    arguments = TrainingArguments(
        str(folder),
        max_steps=steps,
        save_steps=SAVED,
        per_device_train_batch_size=4,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        logging_strategy="no",
    )
    return Trainer(model, arguments, train_dataset=rows(), optimizers=(optimizer, schedule))


def test_a_llama_is_trained_saved_loaded_and_resumed_through_trainer(tmp_path):
    model, plan = planned(0)
    assert len(plan.factors) == 2  # attention's
    whole = trainer(tmp_path, model, plan)
    whole.train()
    plan.check(whole.optimizer)

    other, its_plan = planned(1)  # other values, which the checkpoint replaces
    resumed = trainer(tmp_path, other, its_plan)
    resumed.train(resume_from_checkpoint=str(tmp_path / f"checkpoint-{SAVED}"))
    its_plan.check(resumed.optimizer)
    for (name, mine), theirs in zip(model.named_parameters(), other.parameters(), strict=True):
        assert torch.equal(mine, theirs), name


def test_what_trainer_saved_is_the_same_function_with_a_plan_and_without(tmp_path):
    from safetensors.torch import load_file

    model, plan = planned(0)
    trainer(tmp_path, model, plan, SAVED).train()
    state = load_file(tmp_path / f"checkpoint-{SAVED}" / "model.safetensors")
    again, bare = planned(1)[0], make(WIDTH)
    again.load_state_dict(state), bare.load_state_dict(state)
    model.eval(), again.eval(), bare.eval()
    keywords = {"input_ids": batch()["input_ids"]}
    with torch.no_grad():
        for other in (again, bare):
            assert torch.equal(model(**keywords).logits, other(**keywords).logits)


def test_batches_of_keywords_are_checked_transferred_and_clipped():
    def keyed(seed):
        return [batch(seed)] * 6

    check = ww.coordinate_check(make, "muP", keyed, [32, 64], lr=0.004, seeds=2)
    assert any(each.quantity == "output change" for each in check.slopes)
    found = ww.transfer(make, ["muP"], keyed, [32, 64], tune={"lr": [0.003, 0.01, 0.03]}, seeds=2)
    assert found.widths == [32, 64]
    with refused("the model returns none on a batch of keywords"):
        ww.coordinate_check(make, "muP", [{"input_ids": batch()["input_ids"]}], [32, 64])


def test_a_bucket_of_transformers_is_a_mapping_too():
    """BatchEncoding, which tokenizers return, is no dict."""
    from transformers import BatchEncoding

    tokens = BatchEncoding({"input_ids": batch()["input_ids"]})
    assert dict(ww.roles(make, BASE, tokens)) == dict(ww.roles(make, BASE, tokens["input_ids"]))


def norms_of(plan):
    """(a callback, the norms by the plan of the gradients that steps are made with)."""
    from transformers import TrainerCallback

    found = []

    class Callback(TrainerCallback):
        def on_optimizer_step(self, args, state, control, **held):
            parameters = plan.model.named_parameters()
            found.append(float(ww.clip_grad_norm_(parameters, 1e9, plan)))

    return Callback(), found


def clipped(folder, plan, model, callbacks, **more):
    from transformers import Trainer, TrainingArguments

    optimizer = torch.optim.AdamW(plan.groups(lr=0.01, weight_decay=0.1), lr=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
    arguments = TrainingArguments(
        str(folder),
        save_steps=SAVED,
        per_device_train_batch_size=4,
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
        logging_strategy="no",
        **{"max_steps": STEPS, "max_grad_norm": 0.0, **more},
    )
    return Trainer(
        model,
        arguments,
        train_dataset=rows(),
        optimizers=(optimizer, schedule),
        callbacks=callbacks,
    )


def test_trainer_clips_by_the_plan_and_checks_it(tmp_path):
    from widthwise.hugging_face import PlanCallback

    model, plan = planned(0)
    callback, (norms, found) = PlanCallback(plan, 0.05), norms_of(plan)
    clipped(tmp_path, plan, model, [callback, norms]).train()
    assert float(callback.norm) > 0.05
    assert found == pytest.approx([0.05] * STEPS, rel=1e-4)
    # Resumed, the plan is checked with what was loaded.
    checkpoint = tmp_path / f"checkpoint-{SAVED}"
    model, plan = planned(1)
    clipped(tmp_path, plan, model, [PlanCallback(plan, 0.05)]).train(str(checkpoint))
    state = torch.load(checkpoint / "optimizer.pt")
    for group in state["param_groups"]:
        group["lr"] = 0.001
    torch.save(state, checkpoint / "optimizer.pt")
    model, plan = planned(1)
    with refused("a schedule or a checkpoint has set it"):
        clipped(tmp_path, plan, model, [PlanCallback(plan)]).train(str(checkpoint))


def test_trainer_s_own_clipping_is_refused(tmp_path):
    from widthwise.hugging_face import PlanCallback

    model, plan = planned(0)
    with refused("max_grad_norm=1.0 clips by the plain norm"):
        clipped(tmp_path, plan, model, [PlanCallback(plan)], max_grad_norm=1.0).train()


def test_gradients_that_float16_training_scaled_are_clipped_as_they_are():
    """What a Trainer of float16 gives its callbacks, an optimizer of accelerate's with a scaler of
    losses, also where it was unscaled before; on a CPU, in float32."""
    from accelerate import Accelerator
    from accelerate.optimizer import AcceleratedOptimizer

    from widthwise.hugging_face import PlanCallback

    Accelerator(cpu=True)  # whose state the optimizer asks for
    norms = []
    for scale in (None, 1024.0, 1024.0):
        model, plan = planned(0)
        optimizer = torch.optim.AdamW(plan.groups(lr=0.01), lr=0.01)
        scaler = None if scale is None else torch.amp.GradScaler("cpu", init_scale=scale)
        wrapped = AcceleratedOptimizer(optimizer, scaler=scaler)
        loss = model(**batch()).loss
        (loss if scaler is None else scaler.scale(loss)).backward()
        if len(norms) == 2:
            scaler.unscale_(optimizer)
        callback = PlanCallback(plan, 0.01)
        callback.on_pre_optimizer_step(None, None, None, optimizer=wrapped)
        norms.append(float(callback.norm))
        left = ww.clip_grad_norm_(model.named_parameters(), 1e9, plan)
        assert float(left) == pytest.approx(0.01, rel=1e-3)
    assert norms[0] > 0.1 and norms == pytest.approx([norms[0]] * 3, rel=1e-4)
