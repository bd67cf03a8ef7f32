"""The small network of convolutions: pictures do not mix, and methods train it with the Lipschitz term whole."""

import pytest
import torch
from torch.func import functional_call, grad

from rpo.engine import Config, make_data, train
from rpo.engine.nets import cnn
from rpo.functional.rows import check_module
from rpo.functional.slope import output_and_slope

pytestmark = pytest.mark.usefixtures("seeded")


def pictures(n=24):
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(n) % 2
    x = torch.randn(n, 3, 8, 8, generator=generator) * 0.3 + y[:, None, None, None] - 0.5
    return make_data(x, y.float(), torch.arange(n) // 2 % 2, task="binary", stratum=torch.arange(n) % 3)


def test_no_layer_mixes_pictures():
    net = cnn((3, 8, 8), 1)
    check_module(net)
    x = pictures().x
    torch.testing.assert_close(net(x)[:5], net(x[:5]))


def test_the_input_gradient_goes_through_every_layer():
    net, x = cnn((3, 8, 8), 1).double(), pictures(4).x.double()
    slope = output_and_slope(net, x)[1].detach()
    params = dict(net.named_parameters())
    for picture, found in zip(x, slope, strict=True):
        gradient = grad(lambda p: functional_call(net, params, (p[None],))[0, 0])(picture)
        assert float(found) == pytest.approx(float(gradient.square().sum().detach()), rel=1e-9)


@pytest.mark.parametrize("method", ["erm-l2", "erm-lip", "irm-lip", "rpo"])
def test_methods_train_it(method):
    data = pictures()
    config = Config(steps=30, batch_size=8, progress=False, device="cpu")
    trained = train(method, lambda: cnn((3, 8, 8), 1, (4, 8)), data, seeds=[0], config=config).check()
    output = trained.output(data.x)
    assert output.shape == (1, 24, 1)
    torch.testing.assert_close(trained.output(data.x[None], stacked=True), output)
    assert float(((output[0, :, 0] > 0) == data.y).double().mean()) > 0.9
