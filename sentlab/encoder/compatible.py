"""What code written for sentence-transformers asks of a model: its names and keywords, in terms of ours.

All of it is in this file. `Encoder` inherits `Compatible`, and `takes_their_keywords` wraps `Encoder.encode`. A name or
a keyword that has no meaning here raises an error that names ours.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from functools import wraps
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sentlab.encoder.card import model_card
from sentlab.encoder.inference import default_tokens
from sentlab.encoder.maps import Flow

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from sentlab.encoder import Encoder

Encode = TypeVar("Encode", bound=Callable[..., np.ndarray])

# Keywords of their `encode` that have no meaning here: the values that change nothing, and what to do instead.
WITHOUT_MEANING: dict[str, tuple[tuple[Any, ...], str]] = {
    "output_value": (("sentence_embedding",), "call encode_tokens for the vectors of tokens"),
    "truncate_dim": ((None,), "cut the vectors, vectors[:, :n]"),
    "pool": ((None,), "leave it out: encode uses all cores in one process"),
    "chunk_size": ((None,), "leave it out: encode bounds its memory by tokens_per_batch"),
    "task": ((None,), "call encode_query or encode_document"),
}
# Names of their model that an Encoder lacks, and what to call instead.
INSTEAD = {
    "encode_multi_process": "encode, which uses all cores in one process",
    "evaluate": "evaluator(encoder), or sentlab.evaluate_sts(encoder)",
    "fit": "sentlab.fit(method, rows)",
    "preprocess": "tokenize",
    "set_pooling_include_prompt": "to_sentence_transformer() first",
    "start_multi_process_pool": "encode, which uses all cores in one process",
    "truncate_dim": "vectors[:, :n] of what encode returns",
    "truncate_embeddings": "vectors[:, :n] of what encode returns",
    "truncate_sentence_embeddings": "vectors[:, :n] of what encode returns",
}


def takes_their_keywords(encode: Encode) -> Encode:
    """Let `Encoder.encode` take the keywords of `SentenceTransformer.encode` as well.

    They are translated so:

    - `inputs`, `sentences`: as `texts`.
    - `batch_size`: as `tokens_per_batch` for so many texts of `max_length`, if that is less than the default.
    - `show_progress_bar`: as `progress`.
    - `normalize_embeddings`: True as `normalize`. False leaves the choice to the encoder, as it does there.
    - `convert_to_tensor=True`: a tensor on the encoder's device. `convert_to_numpy=False` alone: a list of tensors.
    - `device`: the encoder's own, or None.
    - `precision`: theirs is of the result. Of its values only "float32" is known here, where it is of the arithmetic.

    Raises:
        TypeError: a keyword of theirs beside ours for the same thing, or one that neither knows.
        ValueError: a value that has no meaning here. The message names what does.
    """

    @wraps(encode)
    def translated(self: Encoder, *texts: Any, **keywords: Any) -> Any:
        as_tensor = keywords.pop("convert_to_tensor", False)
        as_list = not keywords.pop("convert_to_numpy", True) and not as_tensor
        for name in ("inputs", "sentences"):  # of their versions, what we call `texts`
            if name in keywords and not texts:
                texts = (keywords.pop(name),)
        vectors = encode(self, *texts, **_ours(self, keywords))
        if not (as_tensor or as_list):
            return vectors
        tensor = torch.from_numpy(vectors).to(self.device)
        return list(tensor) if as_list else tensor

    return cast(Encode, translated)


class Compatible(nn.Module):
    """The names of `sentence_transformers.SentenceTransformer` that an `Encoder` answers to."""

    similarity_fn_name = "cosine"  # for their evaluators; everything here compares by cosine

    @classmethod
    def from_sentence_transformer(cls, model: SentenceTransformer) -> Encoder:
        """Make an encoder of a SentenceTransformer: a copy with its pooling, max_seq_length, prompts and Normalize.

        It goes through a temporary folder, so a model that `from_pretrained` cannot load is refused here too.

        Raises:
            ValueError: its modules or its pooling are not known here, it truncates vectors, or it compares them by
                anything but cosine.

        Example:
            >>> encoder = sentlab.Encoder.from_sentence_transformer(SentenceTransformer("all-MiniLM-L6-v2"))
        """
        if (dim := model.truncate_dim) is not None:
            raise ValueError(f"the model truncates its vectors to {dim} dimensions; set model.truncate_dim to None")
        unit = any(type(module).__name__ == "Normalize" for module in model)
        if (name := model.similarity_fn_name) != "cosine" and not (unit and name == "dot"):
            raise ValueError(
                f"the model compares vectors by {name!r} and sentlab by cosine; set model.similarity_fn_name to "
                "'cosine' if that is what you want"
            )
        with tempfile.TemporaryDirectory() as folder:
            model.save(folder, create_model_card=False)
            try:
                encoder = cast(Any, cls).from_pretrained(folder, device=model.device)
            except ValueError as error:
                raise ValueError(str(error).replace(folder, "the SentenceTransformer")) from error
        encoder.backbone.config.name_or_path = cast(Any, model[0]).auto_model.config.name_or_path
        return encoder

    def to_sentence_transformer(self) -> SentenceTransformer:
        """Make a SentenceTransformer that gives the same vectors: a copy, on the same device, without masked-LM head.

        Raises:
            ValueError: a `Flow` as `post`, or the pooling "pseudo", which sentence_transformers does not know.
        """
        from sentence_transformers import SentenceTransformer

        own = cast("Encoder", self)
        unknown = "a Flow" if isinstance(own.post, Flow) else "the pooling 'pseudo'" if own.pooling == "pseudo" else ""
        if unknown:
            raise ValueError(
                f"sentence_transformers knows nothing like {unknown} of this encoder; use the encoder itself"
            )
        with tempfile.TemporaryDirectory() as folder:
            own.save(folder)
            return SentenceTransformer(folder, device=str(own.device))

    @property
    def prompt(self) -> str:
        """What `encode` puts before each text: the prompt that `default_prompt_name` names, or nothing."""
        name = cast("Encoder", self).default_prompt_name
        return "" if name is None else self._prompt("default_prompt_name", name)

    def _prompt(self, argument: str, name: str) -> str:
        prompts = cast("Encoder", self).prompts
        if name not in prompts:
            known = ", ".join(map(repr, prompts)) or "none"
            raise ValueError(f"{argument} is {name!r}; the prompts are {known}")
        return prompts[name]

    def encode_query(self, texts: Iterable[str], **keywords: Any) -> np.ndarray:
        """Call `encode` with the prompt "query" where there is one, unless `prompt` or `prompt_name` is given."""
        return self._encode_as(("query",), texts, keywords)

    def encode_document(self, texts: Iterable[str], **keywords: Any) -> np.ndarray:
        """Call `encode` with the first of the prompts "document", "passage" and "corpus"; see `encode_query`."""
        return self._encode_as(("document", "passage", "corpus"), texts, keywords)

    def similarity(self, a: Any, b: Any) -> Tensor:
        """Compute the cosine of each of n vectors with each of m: arrays or tensors (n, D), (m, D) -> (n, m)."""
        return _unit(a) @ _unit(b).T

    def similarity_pairwise(self, a: Any, b: Any) -> Tensor:
        """Compute the cosine of each pair of vectors: arrays or tensors (n, D), (n, D) -> (n,); else a ValueError."""
        ours, theirs = _unit(a), _unit(b)
        if ours.shape != theirs.shape:
            raise ValueError(f"pairs need as many vectors on both sides, got {len(ours)} and {len(theirs)}")
        return (ours * theirs).sum(dim=-1)

    @property
    def max_seq_length(self) -> int:
        """Our `max_length`: tokens a text, special tokens included."""
        return cast("Encoder", self).max_length

    @max_seq_length.setter
    def max_seq_length(self, value: int) -> None:
        cast("Encoder", self).max_length = value

    def get_embedding_dimension(self) -> int:
        """Return our `dim`."""
        return cast("Encoder", self).dim

    get_sentence_embedding_dimension = get_embedding_dimension

    def save_pretrained(self, folder: str | Path) -> None:
        """Call our `save`."""
        cast("Encoder", self).save(folder)

    def push_to_hub(
        self,
        repo_id: str,
        *,
        token: str | None = None,
        private: bool | None = None,
        exist_ok: bool = False,
        revision: str | None = None,
        create_pr: bool = False,
        commit_message: str = "Add an encoder saved by sentlab",
    ) -> str:
        """Upload what `save` writes to a repository of the Hugging Face hub, which is made if there is none.

        A README.md that the repository has stays as it is.

        Args:
            repo_id, token, private, exist_ok, revision, create_pr, commit_message: as in `huggingface_hub.HfApi`.

        Returns:
            The address of the commit, or of the pull request.

        Raises:
            huggingface_hub.errors.HfHubHTTPError: the hub refuses; without `exist_ok` also a repository that exists.
        """
        from huggingface_hub import HfApi

        api = HfApi(token=token)
        repo_id = api.create_repo(repo_id, private=private, exist_ok=exist_ok or create_pr).repo_id
        if revision is not None and not create_pr:
            api.create_branch(repo_id, branch=revision, exist_ok=True)
        kept = ["README.md"] if api.file_exists(repo_id, "README.md", revision=revision) else None
        with tempfile.TemporaryDirectory() as folder:
            encoder = cast("Encoder", self)
            encoder.save(folder)
            (Path(folder) / "README.md").write_text(model_card(encoder, repo_id, hub=True), encoding="utf-8")
            commit = api.upload_folder(
                repo_id=repo_id,
                folder_path=folder,
                revision=revision,
                create_pr=create_pr,
                commit_message=commit_message,
                ignore_patterns=kept,
            )
        return str(commit.pr_url if create_pr else commit.commit_url)

    @property
    def model_card_data(self) -> _NoCard:
        """What their evaluators tell their scores to; nothing is kept of them."""
        return _NoCard()

    def __getattr__(self, name: str) -> Any:
        if name in INSTEAD:
            raise AttributeError(f"an Encoder has no {name}; use {INSTEAD[name]}")
        return super().__getattr__(name)

    def __getitem__(self, number: int) -> Any:
        raise TypeError("an Encoder has no modules by number; use backbone for the transformers model, or pooling")

    def _encode_as(self, names: tuple[str, ...], texts: Iterable[str], keywords: dict[str, Any]) -> np.ndarray:
        own = cast("Encoder", self)
        if keywords.get("prompt") is None and keywords.get("prompt_name") is None:
            keywords["prompt_name"] = next((name for name in names if name in own.prompts), None)
        return own.encode(texts, **keywords)


class _NoCard:
    def set_evaluation_metrics(self, *_: Any) -> None:
        """Keep nothing."""


def _same(asked: torch.device, own: torch.device) -> bool:
    """Whether a device is the encoder's; `cuda` is any of its numbers."""
    return asked.type == own.type and (None in (asked.index, own.index) or asked.index == own.index)


def _ours(encoder: Encoder, keywords: dict[str, Any]) -> dict[str, Any]:
    """Their keywords in terms of ours; ours stay."""
    found: dict[str, Any] = {}
    if "show_progress_bar" in keywords:
        found["progress"] = keywords.pop("show_progress_bar")
    if "normalize_embeddings" in keywords:
        found["normalize"] = keywords.pop("normalize_embeddings") or None
    if "batch_size" in keywords:
        if not (isinstance(size := keywords.pop("batch_size"), Integral) and int(size) > 0):
            raise ValueError(f"batch_size must be a whole number of at least 1, got {size!r}")
        found["tokens_per_batch"] = min(default_tokens(encoder.device), int(size) * encoder.max_length)
    if (device := keywords.pop("device", None)) is not None and not _same(torch.device(device), encoder.device):
        raise ValueError(
            f"device={device!r}, but the encoder is on {encoder.device}; call encoder.to({device!r}) first"
        )
    for name in WITHOUT_MEANING.keys() & keywords.keys():
        same, instead = WITHOUT_MEANING[name]
        if (value := keywords.pop(name)) not in same:
            raise ValueError(f"encode has no use for {name}={value!r}; {instead}")
    if twice := found.keys() & keywords.keys():
        raise TypeError(f"encode got {', '.join(sorted(twice))} and sentence-transformers' name for it; give one")
    return keywords | found


def _unit(vectors: Any) -> Tensor:
    """Vectors (n, D), or one (D,), as float rows (n, D) of length 1; a row of zeros stays."""
    rows = (
        torch.stack([torch.as_tensor(row) for row in vectors])
        if isinstance(vectors, list) and vectors
        else torch.as_tensor(vectors)
    )
    return F.normalize(torch.atleast_2d(rows).float(), dim=-1)
