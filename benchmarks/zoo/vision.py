"""Models of timm and torchvision, made small."""

from typing import Any

from torch import nn

from benchmarks.zoo.inputs import BOTH, HEADS, IMAGES, ONE_WAY, SMALL, Make, Row, sizes


def timm(kind: str, **settings: Any) -> Make:
    """A vision transformer of timm's, or of its kin."""

    def make(k: int, grow: str) -> nn.Module:
        from importlib import import_module

        module, _, name = kind.rpartition(".")
        width, heads, _ = sizes(k, grow)
        given = {"img_size": 32, "patch_size": 8, "embed_dim": width, "num_heads": heads}
        given |= {"depth": 2, "num_classes": 5} | settings
        given = {key: value for key, value in given.items() if value is not None}
        return getattr(import_module(f"timm.models.{module}"), name)(**given)

    return make


def _timm_swin(kind: str) -> Make:
    def make(k: int, grow: str) -> nn.Module:
        return timm(
            kind,
            patch_size=4,
            window_size=4,
            depths=(2, 2),
            depth=None,
            num_heads=tuple(n * (k if grow == HEADS else 1) for n in (4, 8)),
        )(k, grow)

    return make


def _timm_conv(kind: str, **settings: Any) -> Make:
    """A convolutional network of timm's by its registered name's class."""

    def make(k: int, grow: str) -> nn.Module:
        from importlib import import_module

        module, _, name = kind.rpartition(".")
        given = settings | {"dims": tuple(n * k for n in settings["dims"])}
        return getattr(import_module(f"timm.models.{module}"), name)(num_classes=5, **given)

    return make


def _efficientnet(k: int, grow: str) -> nn.Module:
    from functools import partial

    from timm.models._efficientnet_builder import decode_arch_def
    from timm.models.efficientnet import EfficientNet

    def rounded(channels, **_):
        return channels * k

    blocks = decode_arch_def([["ds_r1_k3_s1_e1_c8_se0.25"], ["ir_r1_k3_s2_e4_c16_se0.25"]])
    return EfficientNet(
        blocks, num_classes=5, stem_size=8, num_features=32, round_chs_fn=partial(rounded)
    )


def _maxvit(k: int, grow: str) -> nn.Module:
    from timm.models.maxxvit import MaxxVit, MaxxVitCfg, MaxxVitTransformerCfg

    attention = MaxxVitTransformerCfg(
        dim_head=8 * (1 if grow == HEADS else k), window_size=(4, 4), grid_size=(4, 4)
    )
    return MaxxVit(
        MaxxVitCfg(
            embed_dim=(16 * k, 32 * k),
            depths=(1, 1),
            block_type=("M", "M"),
            stem_width=(8 * k, 16 * k),
            transformer_cfg=attention,
            head_hidden_size=32 * k,
        ),
        img_size=32,
        num_classes=5,
    )


def _nfnet(k: int, grow: str) -> nn.Module:
    from timm.models.nfnet import NfCfg, NormFreeNet

    two: Any = (1, 1)
    channels: Any = (16 * k, 32 * k)
    return NormFreeNet(
        NfCfg(
            depths=two,
            channels=channels,
            stem_type="3x3",
            stem_chs=16 * k,
            group_size=8,
            bottle_ratio=0.5,
            num_features=64 * k,
            act_layer="gelu",
            attn_layer="se",
            attn_kwargs={"rd_ratio": 0.5},
        ),
        num_classes=5,
    )


def _timm_resnet(k: int, grow: str) -> nn.Module:
    from timm.models.resnet import BasicBlock, ResNet

    block: Any = BasicBlock
    return ResNet(
        block,
        (1, 1, 1, 1),
        num_classes=5,
        stem_width=8 * k,
        channels=tuple(n * k for n in (8, 8, 16, 16)),
    )


TIMM: dict[str, Row] = {
    "timm vit": (timm("vision_transformer.VisionTransformer"), SMALL, BOTH),
    "timm vit, QK-norm, scale": (
        timm("vision_transformer.VisionTransformer", qk_norm=True, init_values=0.1),
        SMALL,
        BOTH,
    ),
    "timm vit, MAP": (
        timm("vision_transformer.VisionTransformer", global_pool="map", class_token=False),
        SMALL,
        BOTH,
    ),
    "timm eva": (
        timm("eva.Eva", use_rot_pos_emb=True, swiglu_mlp=True, scale_mlp=True),
        SMALL,
        BOTH,
    ),
    "timm convnext": (
        _timm_conv("convnext.ConvNeXt", depths=(1, 1, 1, 1), dims=(16, 32, 32, 32)),
        SMALL,
        ONE_WAY,
    ),
    "timm resnet": (_timm_resnet, IMAGES, ONE_WAY),
    "timm efficientnet": (_efficientnet, SMALL, ONE_WAY),
    "timm swin": (_timm_swin("swin_transformer.SwinTransformer"), SMALL, BOTH),
    "timm swinv2": (_timm_swin("swin_transformer_v2.SwinTransformerV2"), SMALL, BOTH),
    "timm mixer": (
        timm("mlp_mixer.MlpMixer", num_blocks=2, depth=None, num_heads=None),
        SMALL,
        ONE_WAY,
    ),
    "timm cait": (timm("cait.Cait"), SMALL, BOTH),
    "timm xcit": (timm("xcit.Xcit", depth=2, cls_attn_layers=1), SMALL, BOTH),
    "timm maxvit": (_maxvit, SMALL, BOTH),
    "timm nfnet": (_nfnet, SMALL, ONE_WAY),
}


def _gmlp(k: int, grow: str) -> nn.Module:
    from timm.layers import GatedMlp
    from timm.models import mlp_mixer

    return mlp_mixer.MlpMixer(
        img_size=32,
        patch_size=8,
        num_classes=5,
        num_blocks=2,
        embed_dim=32 * k,
        mlp_ratio=4,
        block_layer=mlp_mixer.SpatialGatingBlock,
        mlp_layer=GatedMlp,
    )


def tv(name: str, **settings: Any) -> Make:
    """A network of torchvision's whose width is a setting."""

    def make(k: int, grow: str) -> nn.Module:
        import torchvision.models as models

        given = {key: value(k) if callable(value) else value for key, value in settings.items()}
        return getattr(models, name)(num_classes=5, **given)

    return make


def _tv_resnet(bottleneck: bool) -> Make:
    def make(k: int, grow: str) -> nn.Module:
        from torchvision.models.resnet import BasicBlock, Bottleneck, ResNet

        class Wide(ResNet):
            def _make_layer(self, block, planes, *arguments, **options):
                if planes == 64:
                    self.inplanes = 8 * k
                    self.conv1 = nn.Conv2d(3, 8 * k, 7, 2, 3, bias=False)
                    self.bn1 = nn.BatchNorm2d(8 * k)
                return super()._make_layer(block, planes * k // 8, *arguments, **options)

        block = Bottleneck if bottleneck else BasicBlock
        model = Wide(block, [1, 1, 1, 1])
        model.fc = nn.Linear(64 * k * block.expansion, 5)
        return model

    return make


def _tv_vit(k: int, grow: str) -> nn.Module:
    from torchvision.models import VisionTransformer

    width, heads, _ = sizes(k, grow)
    return VisionTransformer(32, 8, 2, heads, width, 2 * width, num_classes=5)


def _tv_swin(version: int) -> Make:
    def make(k: int, grow: str) -> nn.Module:
        from torchvision.models import SwinTransformer
        from torchvision.models.swin_transformer import PatchMergingV2, SwinTransformerBlockV2

        heads = [n * (k if grow == HEADS else 1) for n in (4, 8)]
        more: dict = {}
        if version == 2:
            more = {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2}
        return SwinTransformer([4, 4], 32 * k, [2, 2], heads, [4, 4], num_classes=5, **more)

    return make


def _tv_convnext(k: int, grow: str) -> nn.Module:
    from torchvision.models.convnext import CNBlockConfig, ConvNeXt

    return ConvNeXt(
        [CNBlockConfig(16 * k, 32 * k, 1), CNBlockConfig(32 * k, None, 1)], num_classes=5
    )


def _tv_regnet(k: int, grow: str) -> nn.Module:
    from torchvision.models.regnet import BlockParams, RegNet

    return RegNet(
        BlockParams([1, 1], [16 * k, 32 * k], [8, 8], [1.0, 1.0], [2, 2], 0.25),
        num_classes=5,
        stem_width=8 * k,
    )


def _tv_vgg(k: int, grow: str) -> nn.Module:
    from torchvision.models.vgg import VGG

    def block(a: int, b: int) -> list[nn.Module]:
        return [nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(True), nn.MaxPool2d(2)]

    model = VGG(nn.Sequential(*block(3, 8 * k), *block(8 * k, 16 * k)), num_classes=5)
    model.avgpool = nn.AdaptiveAvgPool2d(2)
    model.classifier = nn.Sequential(nn.Linear(64 * k, 32 * k), nn.ReLU(True), nn.Linear(32 * k, 5))
    return model


TORCHVISION: dict[str, Row] = {
    "timm gmlp": (_gmlp, SMALL, ONE_WAY),
    "tv resnet": (_tv_resnet(False), IMAGES, ONE_WAY),
    "tv resnet, bottleneck": (_tv_resnet(True), IMAGES, ONE_WAY),
    "tv mobilenet-v2": (
        tv(
            "MobileNetV2",
            width_mult=lambda k: 0.5 * k,
            round_nearest=1,
            inverted_residual_setting=[[1, 16, 1, 1], [4, 24, 1, 2]],
        ),
        IMAGES,
        ONE_WAY,
    ),
    "tv mnasnet": (tv("MNASNet", alpha=lambda k: 1.0 * k), IMAGES, ONE_WAY),
    "tv densenet": (
        tv(
            "DenseNet",
            growth_rate=lambda k: 8 * k,
            block_config=(2, 2),
            num_init_features=lambda k: 16 * k,
        ),
        IMAGES,
        ONE_WAY,
    ),
    "tv vgg": (_tv_vgg, SMALL, ONE_WAY),
    "tv vit": (_tv_vit, SMALL, BOTH),
    "tv swin": (_tv_swin(1), SMALL, BOTH),
    "tv swinv2": (_tv_swin(2), SMALL, BOTH),
    "tv convnext": (_tv_convnext, SMALL, ONE_WAY),
    "tv regnet": (_tv_regnet, IMAGES, ONE_WAY),
}
