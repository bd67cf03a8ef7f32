"""The squared norm of the input gradient, ‖∇ₓf(x_i)‖²: the Lipschitz term of Eq. 1 and Eq. 4."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.func import functional_call, vjp, vmap
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

from rpo.exceptions import InputError

Layer = tuple[Tensor, Tensor | None]


def mlp_layers(module: nn.Module) -> list[str] | None:
    """Return the names of the linear layers if `module` is a plain ReLU network, else None.

    >>> mlp_layers(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)))
    ['0', '2']
    >>> mlp_layers(nn.Sequential(nn.Linear(3, 1), nn.Tanh())) is None
    True
    """
    if not isinstance(module, nn.Sequential) or len(module) % 2 == 0:
        return None
    kinds = (nn.Linear, nn.ReLU)
    if any(type(layer) is not kinds[i % 2] for i, layer in enumerate(module)):
        return None
    return [str(i) for i in range(0, len(module), 2)]


def mlp_output_and_slope(layers: list[Layer], x: Tensor) -> tuple[Tensor, Tensor]:
    r"""Compute output and squared input gradient of a ReLU network, analytically.

        f(x)  and  Σ_c ‖∇ₓ f_c(x)‖²

    ∇ₓf_c = W₁ᵀ M₁ W₂ᵀ M₂ … w_c with M_l the 0/1 masks of the ReLUs, so one matrix product a layer goes back where
    automatic differentiation would need a second graph.

    >>> layers = [(torch.tensor([[1.0], [-1.0]]), None), (torch.tensor([[3.0, 5.0]]), None)]
    >>> mlp_output_and_slope(layers, torch.tensor([[2.0], [-2.0]]))
    (tensor([[ 6.],
            [10.]]), tensor([ 9., 25.]))
    """
    masks = []
    hidden = x
    for weight, bias in layers[:-1]:
        hidden = F.linear(hidden, weight, bias).relu()
        masks.append(hidden.detach().sign())  # 0/1, as the values after a ReLU are not negative
    last, bias = layers[-1]
    output = F.linear(hidden, last, bias)
    if not masks:  # a linear model: the gradient is the same everywhere
        return output, last.square().sum().expand(len(x))
    weights = [weight for weight, _ in layers[:-1]]
    if len(masks) == 1 and (len(last) > 1 or weights[0].shape[0] <= weights[0].shape[1]):
        return output, _squared_jacobian(weights[0], last, masks[0])
    return output, torch.stack([_squared_gradient(row, weights, masks) for row in last]).sum(0)


def _squared_jacobian(first: Tensor, last: Tensor, mask: Tensor) -> Tensor:
    """Compute the squared Jacobian of a network of one hidden layer, for all outputs in one product.

    Σ_c ‖W₁ᵀ M w_c‖² = mᵀ (W₁W₁ᵀ ∘ W₂ᵀW₂) m
    """
    return (mask @ ((first @ first.T) * (last.T @ last)) * mask).sum(1)


def _squared_gradient(row: Tensor, weights: list[Tensor], masks: list[Tensor]) -> Tensor:
    """Compute the squared input gradient of one output for each row.

    ‖W₁ᵀ M₁ … W_l ᵀ M_l row‖²
    """
    # The output row is multiplied into the weights below it, so that the first factor, a mask, needs no gradient.
    weights = [*weights[:-1], row[:, None] * weights[-1]]
    back = masks[-1]
    for weight, mask in zip(weights[:0:-1], masks[-2::-1], strict=True):
        back = (back @ weight) * mask
    first = weights[0]
    if first.shape[0] >= first.shape[1]:
        return (back @ first).square().sum(1)
    # ‖W₁ᵀg‖² = gᵀ(W₁W₁ᵀ)g through the small Gram matrix. Written with a constant copy of g, whose derivative
    # (twice Gᵀg, and ggᵀ for G) is the true one and costs one matrix product less.
    constant = back.detach()
    return (torch.lerp(constant, back, 2.0) * (constant @ (first @ first.T))).sum(1)


def function_output_and_slope(function: Callable[[Tensor], Tensor], x: Tensor) -> tuple[Tensor, Tensor]:
    r"""Compute output and squared input gradient of any function that treats its rows one by one.

        f(x)  and  Σ_c ‖∇ₓ f_c(x)‖²

    >>> f, slope = function_output_and_slope(lambda x: x.square(), torch.tensor([[3.0]]))
    >>> f, slope
    (tensor([[9.]]), tensor([36.]))
    """
    output, pull_back, *_ = vjp(function, x)
    one_logit = torch.eye(output.shape[1], dtype=output.dtype, device=output.device)
    # Rows do not mix, so the gradient of the sum over rows is the gradient of each row.
    jacobian = vmap(lambda c: pull_back(c.expand_as(output))[0])(one_logit)
    return output, jacobian.square().flatten(2).sum(2).sum(0)


class Sloped(nn.Module):
    r"""A module whose forward pass gives f(x) and Σ_c ‖∇ₓ f_c(x_i)‖² together.

    `DistributedDataParallel` reduces only gradients of what its own forward pass computed: wrap this, not the model.

    >>> Sloped(nn.Linear(2, 1))(torch.ones(3, 2))[1].shape
    torch.Size([3])
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Compute f(x) and its squared input gradient."""
        return output_and_slope(self.model, x)


def output_and_slope(module: nn.Module, x: Tensor, params: Mapping[str, Tensor] | None = None) -> tuple[Tensor, Tensor]:
    r"""Compute output, `(n, c)`, and squared input gradient, `(n,)`, of a module.

    f(x) and Σ_c ‖∇ₓ f_c(x_i)‖²: analytic for a ReLU network, else by `torch.func`.

    >>> line = nn.Linear(2, 1)
    >>> _ = nn.init.constant_(line.weight, 3.0)
    >>> output_and_slope(line, torch.ones(1, 2))[1].detach()
    tensor([18.])
    """
    inner = module.module if isinstance(module, DistributedDataParallel) else module
    if isinstance(inner, Sloped):
        result: tuple[Tensor, Tensor] = module(x)
        return result
    if inner is not module:
        raise InputError("DistributedDataParallel must hold the input gradient too: wrap as DDP(Sloped(model))")
    names = mlp_layers(module)
    params = dict(module.named_parameters()) if params is None else params
    if names is not None and x.dim() == 2:
        layers = [(params[f"{name}.weight"], params.get(f"{name}.bias")) for name in names]
        return mlp_output_and_slope(layers, x)

    def function(rows: Tensor) -> Tensor:
        output: Tensor = functional_call(module, dict(params), (rows,))
        return output if output.dim() > 1 else output[:, None]

    return function_output_and_slope(function, x)
