"""The models that benchmarks and tests share.

small.py                as users write them, by width: an MLP, a stack, a transformer, a tied model
users.py                a file of a user's, whose text is one too
to_widen.py             what `widthwise.widen` is to make of forty modules
networks.py             of the implementations of muP that are checked
by_hand.py              muP by hand for these, and their data
hugging_face.py         Hugging Face's language models
hugging_face_vision.py  its models of pictures and sound
vision.py               timm's and torchvision's
layers.py               torch.nn's, and updates of low rank
inputs.py               inputs and sizes of the last four
"""
