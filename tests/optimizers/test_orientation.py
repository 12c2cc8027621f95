"""A matrix is updated as the function that it is, whichever way round it is stored."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import widthwise as ww
from widthwise.optimizers.known import shipped

X, Y = torch.randn(2, 32, 6, generator=torch.Generator().manual_seed(0)).unbind()


class Conv1D(nn.Linear):
    """transformers' layer of GPT-2: weights are (in, out)."""

    def __init__(self, inputs, outputs):
        super().__init__(inputs, outputs)
        self.weight = nn.Parameter(self.weight.detach().T.clone())

    def forward(self, x):
        return torch.addmm(self.bias, x, self.weight)


class Net(nn.Module):
    def __init__(self, width, layer):
        super().__init__()
        self.entry, self.out = nn.Linear(6, width), nn.Linear(width, 6)
        self.up, self.down = layer(width, 4 * width), layer(4 * width, width)

    def forward(self, x):
        return self.out(self.down(torch.tanh(self.up(torch.tanh(self.entry(x))))))


def trained(layer, name):
    """Losses of five steps."""
    torch.manual_seed(0)
    roles, model = ww.roles(lambda width: Net(width, layer), 16, X), Net(16, layer)
    plan = ww.plan(model, roles, ww.recipe("muP", name))
    optimizer, losses = plan.recipe.optimizer.kind(plan.groups(1e-2)), []
    for _ in range(5):
        optimizer.zero_grad()
        losses.append(F.mse_loss(model(X), Y))
        losses[-1].backward()
        optimizer.step()
    return [float(each.detach()) for each in losses]


@pytest.mark.parametrize("name", [name for name, update in shipped().items() if update.path])
def test_a_layer_whose_weights_are_stored_the_other_way_round_trains_alike(name):
    assert trained(Conv1D, name) == pytest.approx(trained(nn.Linear, name), rel=1e-4)
