"""An encoder as the package `mteb` (2.0 or newer) wants a model, so that all tasks of its benchmarks run on it.

`pip install mteb` brings it. What it calculates equals ours: Spearman of `evaluate_sts`, MAP and MRR@10 of
`evaluate_retrieval` and `evaluate_reranking`, but for ties, which count against the encoder here.

A benchmark, with results in a folder that a second run takes up:

    import mteb
    from sentlab.evaluation.mteb import MTEBModel

    model = MTEBModel(encoder, "my-name/my-encoder")
    cache = mteb.ResultCache("results")
    results = mteb.evaluate(model, mteb.get_benchmark("MTEB(eng, v2)"), cache=cache)
    print(results.to_dataframe())

The leaderboard shows models that anyone can load:

1. Upload the encoder: `encoder.push_to_hub("my-name/my-encoder")`. A `Flow` and the pooling "pseudo" do not load in
   sentence-transformers, so an encoder for the leaderboard has neither.
2. Open a pull request to mteb that adds a `ModelMeta` to mteb/models/model_implementations. Its loader is
   `sentence_transformers_loader`, and its revision is the commit on the hub.
3. Run what others will load: `mteb run -m my-name/my-encoder -b "MTEB(eng, v2)" --output-folder results`.
4. Send the results: `mteb submit-results -m my-name/my-encoder --output-folder results --create-pr`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from sentlab.encoder import Encoder

if TYPE_CHECKING:
    from mteb.models.model_meta import ModelMeta


class MTEBModel:
    """An encoder as a model for `mteb.evaluate`: what `mteb.models.EncoderProtocol` asks for.

    Args:
        encoder: is not changed.
        name: organisation and name, with a slash in between, by which mteb keeps results.

    Raises:
        ValueError: a name without a slash.
        ModuleNotFoundError: mteb is not installed.

    Example:
        >>> results = mteb.evaluate(MTEBModel(encoder, "me/mine"), mteb.get_tasks(tasks=["STSBenchmark", "SICK-R"]))
    """

    def __init__(self, encoder: Encoder, name: str = "sentlab/encoder") -> None:
        from mteb.models.model_meta import ModelMeta, ScoringFunction

        if name.count("/") != 1:
            raise ValueError(f"name must be an organisation and a name, such as 'me/mine'; it is {name!r}")
        self.encoder = encoder
        self.mteb_model_meta: ModelMeta = ModelMeta.create_empty(
            {
                "name": name,
                "revision": encoder.fingerprint(),  # mteb keeps results by it, so another encoder never finds them
                "n_parameters": sum(parameter.numel() for parameter in encoder.backbone.parameters()),
                "max_tokens": encoder.max_length,
                "embed_dim": encoder.dim,
                "framework": ["PyTorch"],
                "similarity_fn_name": ScoringFunction.COSINE,
                "use_instructions": any(encoder.prompts.values()),
                "open_weights": True,
            }
        )

    def encode(self, inputs: Any, *, task_metadata: Any, prompt_type: Any = None, **keywords: Any) -> np.ndarray:
        """Encode the texts in mteb's batches, behind the prompt that mteb names for a task, to vectors (n, D).

        A prompt's name can be a task's, its type's, either with `-query` or `-document` behind it, or `query` or
        `document` alone; mteb prefers the first of these. Without one it is what `encode_query` or `encode_document`
        take, or the default prompt where mteb does not say which.
        """
        from mteb.models.abs_encoder import get_prompt_name

        del keywords["hf_split"], keywords["hf_subset"]
        texts = [text for batch in inputs for text in batch["text"]]
        side = {"query": self.encoder.encode_query, "document": self.encoder.encode_document}
        encode = self.encoder.encode if prompt_type is None else side[prompt_type.value]
        return encode(texts, prompt_name=get_prompt_name(self.encoder.prompts, task_metadata, prompt_type), **keywords)

    def similarity(self, a: Any, b: Any) -> Tensor:
        """Compute cosines, (n, D), (m, D) -> (n, m)."""
        return self.encoder.similarity(a, b)

    def similarity_pairwise(self, a: Any, b: Any) -> Tensor:
        """Compute cosines, (n, D), (n, D) -> (n,)."""
        return self.encoder.similarity_pairwise(a, b)
