"""Post-processing baselines, maps of finished sentence vectors behind a fixed encoder: BERT-whitening and BERT-flow.

Su, Cao, Liu and Ou (2021), "Whitening Sentence Representations for Better Semantics and Faster Retrieval": shift and
turn the vectors so that they have mean 0 and covariance I.
Li, Zhou, He, Wang, Yang and Li (2020), "On the Sentence Embeddings from Pre-trained Language Models": learn an
invertible map, a small Glow (Kingma and Dhariwal 2018), under which the vectors look like draws from N(0, I).

Both learn from vectors of unlabelled sentences alone; `postprocessed` fits them to an encoder.

Differs from the paper:
  - Whitening divides the covariance by N - 1, Su et al. by N. This scales all vectors alike.
  - Whitening to more directions than the vectors vary in is an error, not a division by next to nothing.

Differs from the released code:
  - BERT-whitening's scales the whitened vectors to length 1. Here they keep their length, which cosine ignores.
  - BERT-flow's Glow has three levels of three steps, and half of the dimensions leave it between two levels. Here all
    dimensions go through nine steps. It reverses their order at each step. Here the orders are random.
  - BERT-flow's is trained for one pass on vectors made anew with dropout. It has weight decay, and its coupling
    networks normalise too. Here the vectors are fixed, there are five passes, no decay, and plain networks.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from sentlab.encoder.inference import own_world, progress_bar

if TYPE_CHECKING:
    from sentlab.encoder import Encoder

Vectors = np.ndarray | Tensor
ROUNDING = 1e-5  # a deviation below this share of the vectors' length drowns in the rounding of float32


class Whitening(nn.Module):
    """An affine map to mean 0 and covariance I: y = (x - mu) W with W = U diag(s)^-1/2, its first `dim` columns.

    U and s are the singular vectors and values of the covariance, the largest first. `dim` is K, the directions that
    are kept, at least 1; None: all, K = D.

    Source: Su et al. (2021), Algorithm 1.

    Example:
        >>> vectors = torch.randn(500, 3) * torch.tensor([1.0, 2.0, 5.0])
        >>> white = Whitening().fit(vectors)(vectors)
        >>> torch.allclose(white.T.cov(), torch.eye(3), atol=0.01)
        True
    """

    def __init__(self, dim: int | None = None):
        super().__init__()
        self.settings = {"dim": None if dim is None else int(dim)}

    def allocate(self, in_dim: int) -> Whitening:
        """Make room for what `fit` finds or a file holds."""
        self.in_dim, self.out_dim = in_dim, self.settings["dim"] or in_dim
        self.linear = nn.utils.skip_init(nn.Linear, self.in_dim, self.out_dim)
        return self.requires_grad_(False)

    @own_world()
    def fit(self, vectors: Vectors) -> Whitening:
        """Find mu and W of vectors (N, D) in float64; a ValueError if they do not vary in `dim` directions."""
        given = torch.as_tensor(vectors).detach()
        x = given.cpu().double()
        count, in_dim = x.shape
        kept = self.settings["dim"] or in_dim
        mean = x.mean(dim=0)
        covariance = (x - mean).T @ (x - mean) / max(1, count - 1)  # (D, D)
        directions, variances, _ = torch.linalg.svd(covariance)
        varying = int((variances > ROUNDING**2 * x.square().sum(dim=1).mean()).sum())
        if varying < kept:
            raise ValueError(f"vectors {tuple(x.shape)} vary in {varying} directions: take dim={varying} or less")
        weight = directions[:, :kept] / variances[:kept].sqrt()  # (D, K)
        self.allocate(in_dim).load_state_dict({"linear.weight": weight.T, "linear.bias": -mean @ weight})
        return self.to(given.device)

    def forward(self, vectors: Tensor) -> Tensor:
        """Whiten vectors, (..., D) -> (..., K), in the map's own precision."""
        return self.linear(torch.as_tensor(vectors).to(self.linear.weight.dtype))


class FlowStep(nn.Module):
    """One step: shift and scale each dimension (actnorm), reorder them, add to one half a function of the other."""

    permutation: Tensor

    def __init__(self, dim: int, width: int):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(dim))
        self.log_scale = nn.Parameter(torch.zeros(dim))
        self.register_buffer("permutation", torch.randperm(dim))
        first, last = nn.Linear(dim - dim // 2, width), nn.Linear(width, dim // 2)
        self.network = nn.Sequential(first, nn.ReLU(), nn.Linear(width, width), nn.ReLU(), last)
        nn.init.zeros_(last.weight)  # a new step adds nothing
        nn.init.zeros_(last.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the step, (..., D) -> (..., D)."""
        x = ((x + self.shift) * self.log_scale.exp())[..., self.permutation]
        kept, moved = x.tensor_split(2, dim=-1)  # kept is the larger half where D is odd
        return torch.cat([kept, moved + self.network(kept)], dim=-1)


class Flow(nn.Module):
    """An invertible map, trained by maximum likelihood to carry the vectors to a standard normal distribution.

    Args:
        steps: one after the other. Each has an actnorm, a fixed random order and an additive coupling.
        width: hidden units of a coupling network.
        epochs: passes over the vectors, in mini-batches of `batch_size`. The last ones that fill none are left out.
        learning_rate: Adam's, the same throughout.
        seed: of the orders, the first weights and the mini-batches. Global random state does not change.

    Source: Li et al. (2020); additive coupling and the sizes as in their released settings.
    """

    def __init__(
        self, steps: int = 9, width: int = 32, *, epochs: int = 5, batch_size: int = 64, learning_rate: float = 1e-3,
        seed: int = 0,
    ):  # fmt: skip
        super().__init__()
        self.settings: dict[str, Any] = {"steps": steps, "width": width, "epochs": epochs}
        self.settings |= {"batch_size": batch_size, "learning_rate": learning_rate, "seed": seed}

    def allocate(self, in_dim: int) -> Flow:
        """Make the steps, with the weights that training starts from."""
        self.in_dim = self.out_dim = in_dim
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(self.settings["seed"])
            steps = [FlowStep(in_dim, self.settings["width"]) for _ in range(self.settings["steps"])]
        self.steps = nn.Sequential(*steps)
        return self.requires_grad_(False)

    @own_world()
    def fit(self, vectors: Vectors, *, progress: bool = True) -> Flow:
        """Train from the start on vectors (N, D), D at least 2, on their device; `progress` shows a bar."""
        x = torch.as_tensor(vectors).detach().float()
        first: Any = self.allocate(x.shape[1]).to(x.device).steps[0]
        first.shift.copy_(-x.mean(dim=0))  # Glow's start from the data; the later steps find it done
        first.log_scale.copy_(-x.std(dim=0).log())
        optimizer = torch.optim.Adam(self.requires_grad_(True).parameters(), lr=self.settings["learning_rate"])
        generator = torch.Generator().manual_seed(self.settings["seed"])
        size = min(self.settings["batch_size"], len(x))
        with torch.enable_grad(), progress_bar(self.settings["epochs"], progress, desc="Flow") as bar:
            for _ in range(self.settings["epochs"]):
                order = torch.randperm(len(x), generator=generator).to(x.device)
                for rows in order[: len(x) // size * size].split(size):  # another epoch takes those that are left
                    likelihood = self.log_prob(x[rows]).mean()
                    if not likelihood.isfinite():  # as where a dimension is the same in all vectors
                        raise FloatingPointError(f"the log-likelihood is {likelihood:g}; try a smaller learning_rate")
                    optimizer.zero_grad()
                    (-likelihood).backward()
                    nn.utils.clip_grad_norm_(self.parameters(), 1.0)
                    optimizer.step()
                bar.update()
        return self.requires_grad_(False)

    def forward(self, vectors: Tensor) -> Tensor:
        """Map x to z: (..., D) -> (..., D), in the map's own precision."""
        return self.steps(torch.as_tensor(vectors).to(next(self.parameters()).dtype))

    def log_prob(self, vectors: Tensor) -> Tensor:
        """Compute the log-likelihood in nats, (..., D) -> (...): that of z under N(0, I), and `log |det dz/dx|`."""
        density = -0.5 * (self(vectors).square() + math.log(2 * math.pi)).sum(dim=-1)
        scales: Any = [step.log_scale for step in self.steps]  # a coupling changes no volume
        return density + torch.stack(scales).sum()


def postprocessed(encoder: Encoder, kind: Whitening | Flow, sentences: Sequence[str]) -> Encoder:
    """Return an encoder whose pooled vectors go through a whitening or a flow fitted to unlabelled sentences.

    Args:
        encoder: is not changed; its `post` is left out. The result shares its model: fit again after training that.
        kind: `Whitening(...)` or `Flow(...)`; a copy of it is fitted.
        sentences: N texts. A text that occurs twice counts twice.

    Example:
        >>> white = postprocessed(sentlab.Encoder.from_pretrained(pooling="mean"), Whitening(32), sentences)
        >>> white.dim
        32
    """
    result = copy.copy(encoder)  # shares the parts, and gets another `post`
    result._modules, result.prompts = dict(encoder._modules), dict(encoder.prompts)
    result.post = None
    vectors = torch.from_numpy(result.encode(sentences, normalize=False, precision="float32"))  # (N, D)
    result.post = copy.deepcopy(kind).fit(vectors.to(encoder.device))
    return result
