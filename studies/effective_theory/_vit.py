"""ViT-B/16 of Dinan, Yaida & Zhang (arXiv 2304.02034), II.1."""

MODEL = {
    "name": "vit",
    "width": 768,
    "depth": 12,
    "heads": 12,
    "expansion": 4,
    "patch": 16,
    "resolution": 224,
    "classes": 1_000,
    "base_width": 1,
}
