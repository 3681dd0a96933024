"""Lines typed for a SentenceTransformer: the same values from an Encoder, or an error that names what to type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import sentlab
from sentlab.encoder import Encoder, inference
from sentlab.encoder.compatible import _same
from sentlab.encoder.maps import Flow, Whitening, postprocessed
from sentlab.encoder.pseudo_tokens import PseudoTokens

TEXTS = [
    "a man plays the guitar",
    "the dog runs",
    "who is the old teacher in the city?",
    "bread",
    "a boy eats an apple",
]
OTHERS = [
    "a woman reads a book",
    "a cat runs",
    "the king sees the river",
    "water and food",
    "the girl sells the red car",
]
PROMPTS = {"query": "who is ", "document": "not "}

# What a user of sentence-transformers types; `model` is theirs or ours.
SAME = """
model.encode(texts)
model.encode(np.array(texts))
model.encode(texts, batch_size=2)
model.encode(texts, show_progress_bar=False)
model.encode(texts, normalize_embeddings=True)
model.encode(texts, normalize_embeddings=False)
model.encode(texts, convert_to_tensor=True)
model.encode(texts, convert_to_numpy=False)
model.encode(texts, convert_to_numpy=True, show_progress_bar=None)
model.encode(texts, prompt="who is ")
model.encode(texts, prompt_name="document")
model.encode(texts, batch_size=3, show_progress_bar=False, normalize_embeddings=True, convert_to_tensor=True)
model.encode(texts, device="cpu", precision="float32", output_value="sentence_embedding", truncate_dim=None)
model.encode_query(texts)
model.encode_query(texts, convert_to_tensor=True, batch_size=2)
model.encode_document(texts)
model.encode_document(texts, prompt="who is ", normalize_embeddings=True)
model.similarity(model.encode(texts), model.encode(others))
model.similarity(model.encode(texts, convert_to_tensor=True), model.encode(others, convert_to_tensor=True))
model.similarity(model.encode(texts)[0], model.encode(others))
model.similarity(model.encode(texts, convert_to_numpy=False), model.encode(others))
model.similarity_pairwise(model.encode(texts), model.encode(others))
model.similarity_fn_name
model.get_sentence_embedding_dimension()
model.get_embedding_dimension()
model.max_seq_length
model.prompts
model.default_prompt_name
model.prompts["query"]
model.device.type
model.tokenizer(texts, padding=True)["input_ids"]
model.to("cpu").encode(texts)
model.eval().encode(texts)
model.requires_grad_(False).encode(texts)
util.cos_sim(model.encode(texts), model.encode(others))
util.semantic_search(model.encode(texts, convert_to_tensor=True), model.encode(others, convert_to_tensor=True), top_k=2)
util.paraphrase_mining(model, texts + others, show_progress_bar=False, batch_size=4)
util.community_detection(model.encode(texts, convert_to_tensor=True), min_community_size=1, threshold=0.99)
evaluation.EmbeddingSimilarityEvaluator(texts, others, scores)(model)
evaluation.EmbeddingSimilarityEvaluator(texts, others, scores, precision="float32", main_similarity="cosine")(model)
evaluation.BinaryClassificationEvaluator(texts, others, [1, 0, 1, 0, 1])(model)
evaluation.TripletEvaluator(texts, others, others[::-1])(model)
evaluation.InformationRetrievalEvaluator(asked, found, relevant)(model)
evaluation.RerankingEvaluator([{"query": texts[0], "positive": others[:2], "negative": others[2:]}])(model)
evaluation.TranslationEvaluator(texts, others)(model)
evaluation.MSEEvaluator(texts, others, teacher_model=model)(model)
evaluation.SequentialEvaluator([evaluation.TranslationEvaluator(texts, others)])(model)
model.save_pretrained(folder) or SentenceTransformer(folder, device="cpu").encode(texts)
model.save(folder) or SentenceTransformer(folder, device="cpu").encode_query(texts)
setattr(model, "max_seq_length", 5) or model.encode(texts)
""".strip().splitlines()

REFUSED = {
    "model.encode(texts[0])": r"put it into a list: \[text\]",
    'model.encode(texts, output_value="token_embeddings")': "call encode_tokens",
    "model.encode(texts, output_value=None)": "call encode_tokens",
    'model.encode(texts, precision="int8")': "quantize_embeddings",
    "model.encode(texts, truncate_dim=8)": r"vectors\[:, :n\]",
    "model.encode(texts, batch_size=0)": "batch_size must be a whole number of at least 1, got 0",
    'model.encode(texts, device="meta")': r"call encoder\.to\('meta'\) first",
    'model.encode(texts, prompt_name="title")': "prompt_name is 'title'; the prompts are 'query', 'document'",
    'model.encode(texts, task="query")': "encode_query",
    "model.encode(texts, chunk_size=8)": "tokens_per_batch",
    "model.encode(texts, batch_sise=8)": "unexpected keyword argument 'batch_sise'",
    "model.encode(texts, normalize=True, normalize_embeddings=True)": "normalize and sentence-transformers' name",
    'model.encode(texts, prompt="who is ", prompt_name="query")': "give one of them",
    "model.start_multi_process_pool()": "encode, which uses all cores",
    "model.fit([])": r"sentlab\.fit\(method, rows\)",
    "model.evaluate(print)": r"sentlab\.evaluate_sts\(encoder\)",
    "model.truncate_embeddings(8)": r"vectors\[:, :n\]",
    "model[0].auto_model": "backbone",
    "model.max_seq_len": "no attribute 'max_seq_len'",
    'setattr(model, "max_seq_length", 4000)': "max_length is 4000; this model takes 3 to 128 tokens",
}


@pytest.fixture(scope="module", autouse=True)
def sentence_transformers() -> Any:
    """The package; its import takes seconds, so it waits for the first test."""
    return pytest.importorskip("sentence_transformers")


@pytest.fixture
def encoder(small_encoder_folder: Path) -> Encoder:
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=32, device="cpu")
    encoder.prompts, encoder.default_prompt_name = dict(PROMPTS), "query"
    return encoder


@pytest.fixture(scope="module")
def saved(small_encoder_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compatible") / "saved"
    encoder = Encoder.from_pretrained(small_encoder_folder, pooling="mean", max_length=32, device="cpu")
    encoder.prompts, encoder.default_prompt_name = dict(PROMPTS), "query"
    encoder.save(folder)
    return folder


def value(line: str, model: Any, folder: Path) -> Any:
    """What a line gives; files go into `folder`."""
    from sentence_transformers import SentenceTransformer, util
    from sentence_transformers.sentence_transformer import evaluation

    names = {
        "SentenceTransformer": SentenceTransformer,
        "asked": {"a": TEXTS[0], "b": TEXTS[1]},
        "evaluation": evaluation,
        "folder": str(folder),
        "found": {str(i): text for i, text in enumerate(OTHERS)},
        "model": model,
        "np": np,
        "others": OTHERS,
        "relevant": {"a": {"0", "3"}, "b": {"1"}},
        "scores": [0.1, 0.5, 0.2, 0.9, 0.4],
        "texts": TEXTS,
        "util": util,
    }
    return eval(line, names)


def agree(ours: Any, theirs: Any) -> None:
    """Equal kinds, equal numbers to float32's rounding."""
    if isinstance(theirs, Mapping):
        assert ours.keys() == theirs.keys()
        agree(list(ours.values()), list(theirs.values()))
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            agree(one, other)
    elif isinstance(theirs, torch.Tensor | np.ndarray):
        assert (type(ours), ours.dtype, ours.shape) == (type(theirs), theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, abs=1e-5)
    else:
        assert ours == theirs


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("line", SAME)
def test_a_line_gives_what_it_gives_there(line: str, encoder: Encoder, saved: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(saved), device="cpu")
    agree(value(line, encoder, tmp_path / "ours"), value(line, theirs, tmp_path / "theirs"))


@pytest.mark.parametrize("line", REFUSED)
def test_a_line_without_meaning_here_names_what_has_one(line: str, encoder: Encoder, tmp_path: Path) -> None:
    with pytest.raises((TypeError, ValueError, AttributeError), match=REFUSED[line]):
        value(line, encoder, tmp_path)


def test_normalize_embeddings_false_leaves_a_models_own_normalize(encoder: Encoder) -> None:
    encoder.normalize = True
    assert np.array_equal(encoder.encode(TEXTS, normalize_embeddings=False), encoder.encode(TEXTS))
    assert not np.array_equal(encoder.encode(TEXTS, normalize=False), encoder.encode(TEXTS))


def test_batch_size_bounds_the_tokens_of_a_batch(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    budgets: list[int | None] = []
    computed = inference.computed

    def watched(*arguments: Any) -> Any:
        budgets.append(arguments[3])
        return computed(*arguments)

    monkeypatch.setattr("sentlab.encoder.encoder.computed", watched)
    encoder.encode(TEXTS, batch_size=2)
    encoder.encode(TEXTS, batch_size=10_000)
    assert budgets == [2 * encoder.max_length, inference.TOKENS_PER_BATCH["cpu"]]


def test_hasattr_knows_what_an_encoder_lacks(encoder: Encoder) -> None:
    assert hasattr(encoder, "encode_query")
    assert not hasattr(encoder, "start_multi_process_pool")


def test_their_names_for_the_texts_are_known(encoder: Encoder) -> None:
    ours = encoder.encode(["a dog"])
    for name in ("inputs", "sentences"):
        assert np.array_equal(encoder.encode(**{name: ["a dog"]}), ours)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("asked", "own", "same"), [("cuda", "cuda:0", True), ("cuda:1", "cuda:0", False), ("cpu:0", "cpu", True)]
)
def test_a_device_without_number_is_any_of_its_kind(asked: str, own: str, same: bool) -> None:
    assert _same(torch.device(asked), torch.device(own)) == same


def test_max_length_is_checked_whenever_it_is_set(encoder: Encoder) -> None:
    with pytest.raises(ValueError, match=r"max_length is 32\.5; .* a whole number"):
        encoder.max_length = 32.5  # type: ignore[assignment]
    with pytest.raises(ValueError, match=r"max_length is 32\.5; .* a whole number"):
        Encoder.from_pretrained("tiny", max_length=32.5)  # type: ignore[arg-type]
    for length in (2, 129):
        with pytest.raises(ValueError, match=f"max_length is {length}; this model takes 3 to 128 tokens"):
            encoder.max_length = length
    assert encoder.max_length == 32


def test_an_encoder_goes_to_sentence_transformers_and_back(encoder: Encoder) -> None:
    encoder.normalize = True
    theirs = encoder.to_sentence_transformer()
    np.testing.assert_allclose(theirs.encode(TEXTS), encoder.encode(TEXTS), atol=1e-5)
    again = Encoder.from_sentence_transformer(theirs)
    assert again.fingerprint() == encoder.fingerprint()
    assert (again.pooling, again.normalize, again.max_length) == ("mean", True, 32)
    assert (again.prompts, again.default_prompt_name) == (PROMPTS, "query")
    agree(again.encode_document(TEXTS), theirs.encode_document(TEXTS))


def test_a_sentence_transformer_goes_here_and_back(small_encoder_folder: Path) -> None:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Normalize, Pooling, Transformer

    reader = Transformer(str(small_encoder_folder), max_seq_length=9)
    modules = [reader, Pooling(32, "max"), Normalize()]
    theirs = SentenceTransformer(modules=modules, device="cpu", prompts=PROMPTS, similarity_fn_name="dot")
    encoder = Encoder.from_sentence_transformer(theirs)
    assert (encoder.pooling, encoder.normalize, encoder.max_length) == ("max", True, 9)
    assert encoder.backbone.config.name_or_path == str(small_encoder_folder)
    assert encoder.word_embeddings.weight.data_ptr() != reader.auto_model.get_input_embeddings().weight.data_ptr()
    again = encoder.to_sentence_transformer()
    for name in ("encode", "encode_query", "encode_document"):
        agree(getattr(encoder, name)(TEXTS), getattr(theirs, name)(TEXTS))
        agree(getattr(again, name)(TEXTS), getattr(theirs, name)(TEXTS))
    assert [type(module).__name__ for module in again] == ["Transformer", "Pooling", "Normalize"]


def test_what_a_sentence_transformer_does_that_we_do_not_is_refused(encoder: Encoder) -> None:
    from sentence_transformers.models import Dense

    def changed(change: Callable[[Any], object]) -> Any:
        theirs = encoder.to_sentence_transformer()
        change(theirs)
        return theirs

    for change, message in (
        (lambda theirs: setattr(theirs, "truncate_dim", 8), "truncates its vectors to 8 dimensions"),
        (lambda theirs: setattr(theirs, "similarity_fn_name", "dot"), "by 'dot' and sentlab by cosine"),
        (lambda theirs: theirs.append(Dense(32, 8)), "the SentenceTransformer is made of Transformer, Pooling, Dense"),
        (lambda theirs: setattr(theirs[1], "include_prompt", False), "leaves the tokens of its prompts out"),
    ):
        with pytest.raises(ValueError, match=message):
            Encoder.from_sentence_transformer(changed(change))


def test_a_whitening_goes_to_sentence_transformers_and_a_flow_does_not(encoder: Encoder) -> None:
    scenes = [f"the {a} {b} plays" for a in ("old", "young", "red", "big") for b in ("man", "dog", "cat")]
    white = postprocessed(encoder, Whitening(3), scenes)
    np.testing.assert_allclose(white.to_sentence_transformer().encode(scenes), white.encode(scenes), atol=1e-4)
    with pytest.raises(ValueError, match="nothing like a Flow of this encoder; use the encoder itself"):
        postprocessed(encoder, Flow(1, 4, epochs=1), scenes).to_sentence_transformer()
    encoder.pseudo = PseudoTokens(encoder.dim, 2)
    encoder.pooling = "pseudo"
    with pytest.raises(ValueError, match="nothing like the pooling 'pseudo'"):
        encoder.to_sentence_transformer()


@pytest.mark.parametrize("card", [False, True])
def test_push_to_hub_uploads_what_save_writes(encoder: Encoder, monkeypatch: pytest.MonkeyPatch, card: bool) -> None:
    seen: dict[str, Any] = {}

    class Hub:
        def __init__(self, token: str | None) -> None:
            seen["token"] = token

        def create_repo(self, repo_id: str, **settings: Any) -> SimpleNamespace:
            seen["repo"] = settings
            return SimpleNamespace(repo_id=f"me/{repo_id}")

        def create_branch(self, repo_id: str, *, branch: str, exist_ok: bool) -> None:
            seen["branch"] = branch

        def file_exists(self, repo_id: str, name: str, *, revision: str | None) -> bool:
            return card

        def upload_folder(self, *, folder_path: str, **settings: Any) -> SimpleNamespace:
            again = Encoder.from_pretrained(folder_path, device="cpu")
            seen["upload"] = settings
            seen["fingerprint"] = again.fingerprint()
            seen["card"] = (Path(folder_path) / "README.md").read_text(encoding="utf-8")
            return SimpleNamespace(commit_url="https://hub/commit", pr_url="https://hub/pr")

    monkeypatch.setattr("huggingface_hub.HfApi", Hub)
    assert encoder.push_to_hub("mine", token="secret", private=True, revision="v2") == "https://hub/commit"
    assert seen["fingerprint"] == encoder.fingerprint()
    assert (seen["token"], seen["branch"]) == ("secret", "v2")
    assert seen["repo"] == {"private": True, "exist_ok": False}
    assert seen["upload"]["repo_id"] == "me/mine"
    assert seen["upload"]["ignore_patterns"] == (["README.md"] if card else None)
    assert "# me/mine" in seen["card"]
    assert "Encoder.from_pretrained('me/mine')" in seen["card"]
    assert encoder.push_to_hub("mine", create_pr=True) == "https://hub/pr"
    seen.clear()
    postprocessed(encoder, Whitening(3), TEXTS * 3).push_to_hub("mine")
    assert "load_file(hf_hub_download('me/mine', 'post/model.safetensors'))" in seen["card"]


def test_the_package_says_its_version() -> None:
    parts: Sequence[str] = sentlab.__version__.split(".")
    assert len(parts) == 3
    assert all(part.isdigit() for part in parts)


def test_pairs_of_vectors_need_two_equal_sides(encoder: Encoder) -> None:
    with pytest.raises(ValueError, match="as many vectors on both sides, got 1 and 2"):
        encoder.similarity_pairwise(encoder.encode(["a"]), encoder.encode(["a", "b"]))


def test_numpys_whole_numbers_are_batch_sizes(encoder: Encoder) -> None:
    sizes: list[Any] = [2, np.int64(2)]
    ours, theirs = (encoder.encode(TEXTS, batch_size=size) for size in sizes)
    np.testing.assert_array_equal(ours, theirs)
