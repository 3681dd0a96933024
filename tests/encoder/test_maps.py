"""Whitening against its definition, the flow against autograd and closed forms, and both behind an encoder."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from sentlab.encoder import Encoder
from sentlab.encoder.maps import Flow, Whitening, postprocessed


def skewed(count: int, dim: int, seed: int = 0) -> np.ndarray:
    """Vectors in a cone: correlated, of very different spreads, far from 0, and not normal."""
    random = np.random.default_rng(seed)
    mixed = random.standard_normal((count, dim)) * np.geomspace(3.0, 0.05, dim)
    mixed[:, -1] += 0.2 * mixed[:, 0] ** 2
    return (mixed @ np.linalg.qr(random.standard_normal((dim, dim)))[0] + 4.0).astype(np.float32)


def trained(dim: int, **settings: int | float) -> tuple[Flow, torch.Tensor]:
    x = torch.from_numpy(skewed(400, dim))
    return Flow(**{"steps": 3, "width": 8, "epochs": 3, **settings}).fit(x, progress=False), x


# whitening


@pytest.mark.parametrize("dim", [None, 12, 5, 1])
def test_whitened_vectors_have_mean_0_and_covariance_1(dim: int | None) -> None:
    x = skewed(500, 12)
    whitening = Whitening(dim).fit(x)
    y = whitening(torch.from_numpy(x)).double().numpy()
    assert y.shape == (500, dim or 12)
    assert (whitening.in_dim, whitening.out_dim) == (12, dim or 12)
    np.testing.assert_allclose(np.cov(y.T), np.eye(dim or 12).squeeze(), atol=1e-4)
    np.testing.assert_allclose(y.mean(0), 0, atol=1e-4)


def test_whitening_keeps_the_leading_directions_in_order() -> None:
    """The oracle is numpy's decomposition of the data, not of the covariance; a direction's sign is free."""
    x = skewed(300, 8).astype(np.float64)
    centred = x - x.mean(0)
    _, lengths, directions = np.linalg.svd(centred, full_matrices=False)
    expected = (centred @ directions.T / lengths * math.sqrt(299))[:, :3]
    y = Whitening(3).fit(x)(torch.from_numpy(x).float()).numpy()
    np.testing.assert_allclose(np.abs(y), np.abs(expected), atol=1e-4)


def test_whitening_of_too_few_vectors_names_the_dim_that_works() -> None:
    few = skewed(8, 12)
    with pytest.raises(ValueError, match="dim=7 or less"):
        Whitening().fit(few)
    assert Whitening(7).fit(few).out_dim == 7


# the flow


@pytest.mark.parametrize("dim", [6, 7, 2])
def test_log_prob_has_the_determinant_of_the_jacobian(dim: int) -> None:
    flow, x = trained(dim)
    flow.double()
    for row in x[:4].double():
        jacobian = torch.autograd.functional.jacobian(flow, row)
        sign, expected = torch.linalg.slogdet(jacobian)
        assert sign != 0
        density = torch.distributions.Normal(0.0, 1.0).log_prob(flow(row)).sum()
        torch.testing.assert_close(flow.log_prob(row) - density, expected)
    assert flow.log_prob(x[:5].view(5, 1, dim).double()).shape == (5, 1)


def test_before_training_the_flow_is_a_normal_distribution_a_dimension() -> None:
    flow, x = trained(6, epochs=1, learning_rate=1e-12)
    expected = torch.distributions.Normal(x.mean(0), x.std(0)).log_prob(x).sum(-1)
    torch.testing.assert_close(flow.log_prob(x), expected, atol=1e-4, rtol=1e-4)


def test_training_raises_the_likelihood_of_new_vectors_too() -> None:
    x = torch.from_numpy(skewed(1200, 6))
    train, new = x[:800], x[800:]
    likelihoods = [
        float(Flow(4, 16, epochs=epochs).fit(train, progress=False).log_prob(new).mean()) for epochs in (1, 5, 20)
    ]
    assert likelihoods[0] + 0.5 < likelihoods[1] < likelihoods[2] - 0.5


def test_the_seed_decides_and_global_random_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    (first, x), (again, _), (other, _) = (trained(6, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(torch.get_rng_state(), before)
    assert torch.equal(first(x), again(x))
    assert not torch.allclose(first(x), other(x), atol=1e-2)
    assert not any(parameter.requires_grad for parameter in first.parameters())


# both


def test_what_cannot_be_fitted_is_an_error() -> None:
    x = skewed(50, 4)
    x[:, 2] = 0.1
    for kind in (Whitening(), Flow()):
        with pytest.raises((ValueError, FloatingPointError)):
            kind.fit(x)


WORDS = "man woman dog cat king guitar song book house river city boat food apple water".split()
SENTENCES = [f"the {a} sees a {b}" for a in WORDS for b in WORDS]


@pytest.fixture(scope="module")
def encoder(small_encoder_folder: Path) -> Encoder:
    return Encoder.from_pretrained(small_encoder_folder, pooling="first_last", device="cpu")


def test_an_encoder_with_whitening_behind_it(encoder: Encoder) -> None:
    kind, plain = Whitening(10), encoder.encode(SENTENCES)
    white = postprocessed(encoder, kind, SENTENCES)
    y = white.encode(SENTENCES)
    assert (y.shape, y.dtype, white.dim, encoder.dim) == ((225, 10), np.float32, 10, 32)
    np.testing.assert_allclose(np.cov(y.T), np.eye(10), atol=1e-4)
    assert np.array_equal(encoder.encode(SENTENCES), plain)
    assert not hasattr(kind, "linear")
    assert white.model is encoder.model
    assert np.array_equal(postprocessed(white, kind, SENTENCES).encode(SENTENCES), y)  # not whitened twice
    with torch.no_grad():
        one = white(**white.tokenize(SENTENCES[:1])).numpy()
    np.testing.assert_allclose(one, y[:1], atol=1e-4)
    np.testing.assert_allclose(
        white.encode(SENTENCES[:3], normalize=True), y[:3] / np.linalg.norm(y[:3], axis=1, keepdims=True), atol=1e-5
    )
    assert white.encode([]).shape == (0, 10)
    assert white.encode_tokens(["the dog"])[0][0].shape == (2, 32)


def test_an_encoder_with_a_flow_behind_it(encoder: Encoder) -> None:
    plain = encoder.encode(SENTENCES)
    flow = postprocessed(encoder, Flow(4, 8, epochs=2), SENTENCES)
    np.testing.assert_allclose(flow.encode(SENTENCES), flow.post(torch.from_numpy(plain)).numpy(), atol=1e-4)
    assert flow.dim == 32


def test_a_post_is_computed_in_float32_under_autocast(encoder: Encoder) -> None:
    white = postprocessed(encoder, Whitening(10), SENTENCES)
    batch = white.tokenize(SENTENCES[:8])
    states = encoder.hidden_states(**batch)
    white.hidden_states = lambda *_: states  # type: ignore[method-assign]
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        inside = white(**batch)
    with torch.no_grad():
        assert torch.equal(inside, white(**batch))


def test_a_map_belongs_to_the_pooling_that_it_was_fitted_to(encoder: Encoder) -> None:
    white = postprocessed(encoder, Whitening(4), SENTENCES)
    with pytest.raises(ValueError, match="fitted to"):
        white.pooling = "mean"
    white.pooling = "first_last"
    white.post = None
    white.pooling = "mean"
    assert postprocessed(white, Whitening(4), SENTENCES).pooling == "mean"
