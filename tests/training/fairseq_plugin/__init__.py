"""A fairseq --user-dir: the paper's BART, Adam with a rate per group, batches from a file.

Just what fairseq lacks for the runs of Dinan, Yaida & Zhang (arXiv 2304.02034), II.2, to hold the
suite's own loop against it: no biases and no LayerNorm parameters (fairseq cannot leave them out,
so they stay at their initial 0 and 1), N_rescale, relative learning rates with a decay of lr * wd
for every group (eq. 1.94), the loss in all digits.
"""

import math
from dataclasses import dataclass, field

import torch
from fairseq.criterions import register_criterion
from fairseq.criterions.cross_entropy import CrossEntropyCriterion, CrossEntropyCriterionConfig
from fairseq.data import Dictionary, FairseqDataset
from fairseq.logging import metrics
from fairseq.models import register_model, register_model_architecture
from fairseq.models.bart.model import BARTModel, bart_large_architecture
from fairseq.models.transformer import TransformerConfig, TransformerDecoderBase
from fairseq.optim import register_optimizer
from fairseq.optim.adam import FairseqAdam, FairseqAdamConfig
from fairseq.tasks import LegacyFairseqTask, register_task


class RescaledDecoder(TransformerDecoderBase):
    """Logits times N_rescale."""

    rescale = 1.0

    def output_layer(self, features):
        return self.rescale * super().output_layer(features)


@register_model("paper_bart")
class PaperBART(BARTModel):
    """BART without trained biases and norms, from given weights."""

    @staticmethod
    def add_args(parser):
        BARTModel.add_args(parser)
        parser.add_argument("--output-rescale", type=float)
        parser.add_argument("--initial-weights")

    @classmethod
    def build_decoder(cls, args, tgt_dict, embed_tokens):
        config = TransformerConfig.from_namespace(args)
        decoder = RescaledDecoder(config, tgt_dict, embed_tokens)
        decoder.rescale = args.output_rescale
        return decoder

    @classmethod
    def build_model(cls, args, task):
        model = super().build_model(args, task)
        weights = torch.load(args.initial_weights)
        missing, unexpected = model.load_state_dict(weights, strict=False)
        assert not unexpected, unexpected
        for name, parameter in model.named_parameters():
            if name.endswith("bias") or "layer_norm" in name or "layernorm" in name:
                parameter.requires_grad_(False)
                assert torch.equal(parameter, torch.full_like(parameter, name.endswith("weight")))
            else:
                assert name not in missing, name
            parameter.param_group = "stem" if "embed" in name else "matrix"
        return model


@register_model_architecture("paper_bart", "paper_bart")
def paper_bart(args):
    """Pre-LN with the extra LayerNorms of II.2.B."""
    bart_large_architecture(args)
    args.encoder_normalize_before = args.decoder_normalize_before = True
    # Set, for the parser gives these a value before the architecture could.
    args.layernorm_embedding = args.share_all_embeddings = args.no_scale_embedding = True
    args.encoder_learned_pos = args.decoder_learned_pos = True
    args.activation_fn = "gelu"


@dataclass
class GroupedAdamConfig(FairseqAdamConfig):
    """Relative learning rates."""

    stem_factor: float = field(default=1.0)
    matrix_factor: float = field(default=1.0)


@register_optimizer("grouped_adam", dataclass=GroupedAdamConfig)
class GroupedAdam(FairseqAdam):
    """fairseq's Adam with a learning rate per group, every group decaying by lr * wd."""

    def __init__(self, cfg, params):
        groups = {"stem": [], "matrix": []}
        for parameter in params:
            groups[parameter.param_group].append(parameter)
        factors = {"stem": cfg.stem_factor, "matrix": cfg.matrix_factor}
        super().__init__(
            cfg,
            [
                {
                    "params": groups[name],
                    "factor": factor,
                    "weight_decay": cfg.weight_decay / factor,
                }
                for name, factor in factors.items()
            ],
        )
        self.set_lr(cfg.lr[0])

    def set_lr(self, lr):
        self.lr = lr
        for group in self.param_groups:
            group["lr"] = lr * group["factor"]

    def get_lr(self):
        return self.lr


@register_criterion("exact_cross_entropy", dataclass=CrossEntropyCriterionConfig)
class ExactCrossEntropy(CrossEntropyCriterion):
    """fairseq's, not rounded to three digits."""

    @staticmethod
    def reduce_metrics(logging_outputs):
        total = sum(log["loss"] for log in logging_outputs)
        size = sum(log["sample_size"] for log in logging_outputs)
        metrics.log_scalar("loss", total / size / math.log(2), size)


class Stored(FairseqDataset):
    """A batch an entry."""

    def __init__(self, batches):
        self.batches = batches

    def __getitem__(self, index):
        source, previous, target, total = self.batches[index]
        lengths = (source != 1).sum(1)
        inputs = {"src_tokens": source, "src_lengths": lengths, "prev_output_tokens": previous}
        return {
            "id": index,
            "net_input": inputs,
            "target": target,
            "ntokens": int(total[0]),
            "nsentences": len(target),
        }

    def __len__(self):
        return len(self.batches)

    def collater(self, samples):
        return samples[0]

    def num_tokens(self, index):
        return 1

    def size(self, index):
        return 1

    def filter_indices_by_size(self, indices, max_sizes):
        return indices, []


@register_task("stored_batches")
class StoredBatches(LegacyFairseqTask):
    """Batches of a file, in its order: {"vocab_size", "batches"}."""

    @staticmethod
    def add_args(parser):
        parser.add_argument("data")

    def __init__(self, args):
        super().__init__(args)
        self.dictionary = Dictionary()
        for i in range(torch.load(args.data)["vocab_size"] - len(self.dictionary)):
            self.dictionary.add_symbol(str(i))

    @classmethod
    def setup_task(cls, args, **kwargs):
        return cls(args)

    def load_dataset(self, split, **kwargs):
        self.datasets[split] = Stored(torch.load(self.args.data)["batches"])

    @property
    def source_dictionary(self):
        return self.dictionary

    @property
    def target_dictionary(self):
        return self.dictionary

    def max_positions(self):
        return None
