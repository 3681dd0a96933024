"""One run: an encoder is evaluated, trained and evaluated again, as the settings of its record say."""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

import torch
from accelerate import Accelerator
from pydantic import Field, PositiveInt, model_validator
from sentlab import data, methods
from sentlab.data import Corpus, PhraseInContext, ScoredPair
from sentlab.encoder import Encoder
from sentlab.encoder.maps import Flow, Whitening, postprocessed
from sentlab.encoder.storage import BUNDLED
from sentlab.evaluation import dev_score, watch_geometry
from sentlab.evaluation.mining import Setup
from sentlab.evaluation.retrieval import nearest
from sentlab.evaluation.sts import geometry
from sentlab.files import write_json
from sentlab.methods.universal import task_rows
from sentlab.text import phrases, roles, views
from sentlab.text.phrases import Phrase
from sentlab.training import History, TrainConfig, fit, set_dropout, set_seed, train_heads_first
from sentlab.training.checkpoint import FILE as CHECKPOINT
from tqdm import tqdm

from experiments import controls, published, records
from experiments.peers import BagOfWords, StaticEncoder, load
from experiments.probes import evaluate, evaluate_relatedness
from experiments.records import ENCODER, RUNS, Notes, Number, Provenance, Record, Typed

MAPS: dict[str, type] = {"Whitening": Whitening, "Flow": Flow}  # fitted to vectors; nothing is trained
METHODS: dict[str, type] = {name: getattr(methods, name) for name in methods.__all__} | MAPS
METHODS |= {"StartEnd": controls.StartEnd, "WholePassage": controls.WholePassage}
SENTENCES, BEAMS = 500, 5  # to reconstruct the phrases of: drawn from a corpus, and of the search
LAST = "last.json"  # in a run's folder: what was measured after the last step, until it is recorded
WORKING = (CHECKPOINT, LAST)  # what else is there until a run is recorded
METHOD = "method"  # in a run's folder: PaSeR with its decoder, of a run that reconstructs phrases
GEOMETRY = ("stsb", "toy-sts")  # the first of these among the test corpora gets its geometry measured


class EncoderSettings(Typed):
    """What `Encoder.from_pretrained` takes. The source `runs/NAME/encoder` is what the run NAME has trained."""

    source: str
    pooling: str
    max_length: PositiveInt
    device: str | None = None


class MethodSettings(Typed):
    """One of `METHODS`, and its arguments besides the encoder."""

    name: str
    # PaSeR's `phrases`: kinds of chunks (null: RAKE); a `view`: `sentlab.text.views`, or {"name": ..., "rate": ...}
    arguments: dict[str, Any] = Field(default_factory=dict)


class CorpusSettings(Typed):
    """Rows to train on."""

    corpus: str
    split: str = "train"
    each: PositiveInt | None = None  # rows drawn at random of each relation, of PhrasePair rows; null: all


class RunSettings(Typed):
    """One run: an encoder is evaluated, and where there is a method trained and evaluated again."""

    encoder: EncoderSettings  # source, pooling, max_length, device
    method: MethodSettings | None = None  # name and arguments; null: only evaluate the encoder
    # corpus and split to train on; for Universal task -> corpus and split
    data: CorpusSettings | dict[str, CorpusSettings] | None = None
    # probability of every dropout while training; null: as the configurations of encoder and method say
    dropout: Annotated[float, Field(ge=0, lt=1)] | None = None
    train: dict[str, Any] | None = None  # arguments of `TrainConfig`; null for a map that is fitted
    # a training before that one, in which only the method's own layers learn and the encoder is frozen: the arguments
    # of `TrainConfig` that differ from `train`; null: none. Random heads harm an encoder.
    frozen_first: dict[str, Any] | None = None
    # corpus whose `dev` split chooses the step to keep (Spearman x 100), or several, whose scores are averaged
    dev: str | Annotated[list[str], Field(min_length=2)]
    watch: PositiveInt | None = None  # steps between measurements of alignment and uniformity on dev; null: none
    # set-ups of `sentlab.evaluation.mining` for phrases in contexts; the first one is used on dev
    setups: list[Setup] = Field(default=["spans", "full"], min_length=1)
    test: list[str]  # corpora whose `test` split is evaluated, before and after training
    heads: list[str] = Field(default_factory=list)  # those for which `evaluate_relatedness` trains a head as well
    poolings: list[str] = Field(default_factory=list)  # sentence vectors to evaluate besides the encoder's own
    keep: bool = False  # a sweep keeps the encoders that it trains, for the records that read them
    reconstruct: list[str] = Field(default_factory=list)  # corpora whose masked phrases PaSeR's decoder generates
    examples: list[Literal["table_6"]] = Field(default_factory=list)  # of PaSeR: Quora's nearest questions to two
    threads: PositiveInt | None = None  # CPU threads. The same number gives the same weights, bit for bit.

    @model_validator(mode="after")
    def _check(self) -> RunSettings:
        for arguments in (self.train, self.frozen_first):
            TrainConfig(**arguments or {})  # which knows its arguments
        if self.method is not None:
            if self.method.name not in METHODS:
                raise ValueError(f"there is no method {self.method.name!r}; choose one of {', '.join(sorted(METHODS))}")
            if self.data is None or (self.train is None) != (self.method.name in MAPS):
                raise ValueError(f"{self.method.name} needs data, and `train` unless it is a map that is fitted")
        return self

    @property
    def fingerprint(self) -> str:
        """The same 12 hexadecimal digits for the same settings, and for no others."""
        content = json.dumps(self.model_dump(mode="json", exclude_unset=True), sort_keys=True)
        return hashlib.sha256(content.encode()).hexdigest()[:12]

    @property
    def devs(self) -> list[str]:
        return [self.dev] if isinstance(self.dev, str) else self.dev

    @property
    def corpora(self) -> list[CorpusSettings]:
        return list(self.data.values()) if isinstance(self.data, dict) else [self.data] if self.data else []

    @property
    def seed(self) -> int:
        """What the method's own parameters are drawn with, and the order of the rows."""
        return int((self.train or {}).get("seed", 0))


class Measured(Typed):
    """What an encoder scored, for each pooling. The pooling that is trained comes first."""

    scores: dict[str, dict[str, Number]]  # pooling -> task -> score x 100
    # pooling -> `corpus`, and `sentlab.evaluation.sts.Geometry` of its test pairs, with packed `counts`
    geometry: dict[str, dict[str, Any]] = Field(default_factory=dict)

    @property
    def own(self) -> dict[str, Number]:
        """The scores of the encoder's own pooling."""
        return next(iter(self.scores.values()))


class RunResults(Typed):
    """What a run found: before training, after it, and where a dev score chose the step also after the last step."""

    before: Measured
    after: Measured | None = None
    last: Measured | None = None
    # `dev`: rows of `step` and `score`; `geometry`: of `step`, `alignment` and `uniformity`; `kept_step`
    training: dict[str, Any] | None = None
    # what PaSeR's decoder makes of masked phrases: `corpora`, corpus -> counts; `table_7` of the paper
    reconstruction: dict[str, Any] | None = None
    examples: dict[str, Any] | None = None  # of `settings.examples`

    @property
    def final(self) -> Measured:
        """After training, or of an encoder that was only evaluated."""
        return self.after or self.before

    @property
    def kept_step(self) -> int | None:
        return self.training.get("kept_step") if self.training else None


class RunRecord(Record):
    """One run, in a file of its own or in that of a sweep or search."""

    kind: Literal["run"] = "run"
    settings: RunSettings
    results: RunResults | None = None
    home: str = Field(default="", exclude=True)  # the sweep or search whose file it is in; "": it has its own
    sweep: str = Field(default="", exclude=True)  # the one that it was read with, which may name runs of others

    @property
    def command(self) -> str:
        return records.get(self.home, self.folder).command if self.home else super().command

    @property
    def encoder(self) -> dict[str, Any]:
        """What `load` takes for its encoder: the one that it has trained, or else the one that it has evaluated."""
        if self.settings.method is None:
            return self.settings.encoder.model_dump(exclude_unset=True)
        return {"source": str(RUNS / self.name / ENCODER)}

    @property
    def items(self) -> tuple[Path, str]:
        """The .npz file for what its encoder gives the items of tests, and how the names there begin."""
        begin = self.name.removeprefix(f"{self.home}/") + "/" if self.home else ""
        return self.folder / f"{self.home or self.name}.npz", begin

    def check_weights(self) -> None:
        """Refuse a run that began with other weights of its encoder than there are now, or has yet to train."""
        if self.settings.method is None and self.provenance is None:
            return  # an encoder that is not trained is there without results
        start = self.source.encoder
        if start and (now := fingerprint_now(start["source"])) and now != start["fingerprint"]:
            raise ValueError(f"{self.name} began with other weights of {start['source']}: {self.command} --again")


def weights_fingerprint(encoder: Encoder | StaticEncoder | BagOfWords) -> str:
    """Return the first 16 hexadecimal digits of the SHA-256 of all that makes an encoder's vectors."""
    parts: Any = [encoder.backbone, encoder.post, encoder.pseudo] if isinstance(encoder, Encoder) else [encoder]
    digest = hashlib.sha256()
    for name, value in sorted(item for part in parts if part is not None for item in part.state_dict().items()):
        digest.update(name.encode() + torch.as_tensor(value).detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


@cache
def _fingerprint_of_bundled(name: str) -> str:
    return weights_fingerprint(Encoder.from_pretrained(name))


def fingerprint_now(source: str) -> str | None:
    """Return the `weights_fingerprint` of a bundled encoder or of a folder; None for others, and if it is gone."""
    if source in BUNDLED:
        return _fingerprint_of_bundled(source)
    return weights_fingerprint(load({"source": source})) if Path(source).is_dir() else None


def run(record: RunRecord, *, again: bool = False) -> RunRecord:
    """Do one run and write its record, which has a file of its own."""
    with records.alone(record):
        if not again and record.path.exists() and (now := records.get(record.name, record.folder)).done:
            return now  # another process has run it
        record.results, record.provenance = perform(record.settings, RUNS / record.name, record.command, again=again)
        if records.is_first():
            records.write_items(record.items[0], {}, drop="")  # of the encoder that was there before
            record.save()
            for file in WORKING:
                (RUNS / record.name / file).unlink(missing_ok=True)
    return record


_raw: dict[str, Measured] = {}  # of encoders before training: every run of a sweep begins with the same one


def perform(
    settings: RunSettings, folder: Path, command: str, *, again: bool = False, progress: bool = True
) -> tuple[RunResults, Provenance]:
    """Do what the settings say, and return what was found. An interrupted training resumes from its last checkpoint.

    Of several processes each loads, measures and trains on a GPU of its own.

    `folder`: for checkpoints and encoder. `again`: without the checkpoint of an earlier run. `command`: as provenance.
    """
    notes, processes = Notes(settings.threads), Accelerator()  # which chooses this process's GPU
    if again and processes.is_main_process:
        for file in [*folder.glob("checkpoint*"), *folder.glob(LAST)]:
            file.unlink()
    processes.wait_for_everyone()
    encoder: Any = load(settings.encoder.model_dump(exclude_unset=True))
    fingerprint, dim = weights_fingerprint(encoder), encoder.dim
    devs = [notes.load(name, "dev") for name in settings.devs]
    tests = [notes.load(name, "test") for name in settings.test]
    measured = partial(measure, devs=devs, tests=tests, settings=settings)
    poolings = list(dict.fromkeys([encoder.pooling, *settings.poolings]))
    decide = settings.model_dump(include={"encoder", "dev", "test", "setups", "heads", "threads"})
    key = json.dumps([fingerprint, poolings, decide])
    if key not in _raw:
        _raw[key] = measured(encoder, poolings)
    results: dict[str, Any] = {"before": _raw[key]}
    if settings.method:
        corpus = training_rows(settings, notes)
        build = build_method(settings, corpus)
        if settings.method.name in MAPS:
            encoder = postprocessed(encoder, build, corpus)
            results["after"] = measured(encoder, [encoder.pooling])
        else:

            def measure_trained() -> Measured:  # its own vector first, and that of its pseudo tokens if it has any
                learned = [encoder.pooling, *(["pseudo"] if encoder.pseudo is not None else [])]
                return measured(encoder, list(dict.fromkeys([*learned, *poolings])))

            set_seed(settings.seed)
            method = build(encoder)
            history, seconds = train(method, corpus, settings, folder, devs, measure_trained, progress)
            notes.began += seconds - history.seconds  # which counts what came before an interruption
            results["training"] = {"dev": history.dev, "geometry": history.seen, "kept_step": history.kept_step}
            if settings.reconstruct:
                counts = {name: count_reconstructed(method, notes.load(name, "test")) for name in settings.reconstruct}
                results["reconstruction"] = {"corpora": counts, "table_7": reconstruct_table_7(method)}
            results["after"] = measure_trained()
            if history.settings["keep"] == "dev" and (folder / LAST).exists():
                results["last"] = Measured.model_validate_json((folder / LAST).read_text(encoding="utf-8"))
        if processes.is_main_process:
            encoder.save(folder / ENCODER)
            if settings.reconstruct:
                method.save(folder / METHOD)
    if settings.examples:
        queries = published.table("paser", 6).index.unique().tolist()
        found = nearest(encoder, queries, [row.duplicate or row.question for row in notes.load("quora", "test")])
        results["examples"] = {"table_6": found.reset_index().to_dict("records")}
    if (count := processes.num_processes) > 1:
        command = command.replace("python", f"accelerate launch --num_processes {count}", 1)
    device = getattr(encoder, "device", "cpu")
    start = {"source": settings.encoder.source, "fingerprint": fingerprint, "dim": dim}
    provenance = notes.provenance(command, encoder=start, processes=count, on=device)
    processes.wait_for_everyone()
    return RunResults(**results), provenance


def train(
    method: Any, corpus: Any, settings: RunSettings, folder: Path, devs: Any, measure_trained: Any, progress: bool
) -> tuple[History, float]:
    """Train a method as the settings say, or resume; return the history, and the seconds that `fit` took here.

    Where dev chooses the step to keep, what `measure_trained` gives after the last step goes into the file `LAST`.
    """
    if settings.dropout is not None:
        set_dropout(method, settings.dropout)
    watch = watch_geometry(devs[0], settings.watch) if settings.watch else None
    start = [{"step": 0, **(watch(0, method) or {})}] if watch else []
    config = TrainConfig(**settings.train or {})
    length = config.steps_over(len(corpus))

    def on_step(step: int, trained: Any) -> Mapping[str, float] | None:
        if step == length and config.keep == "dev" and settings.test:
            write_json(folder / LAST, measure_trained().model_dump(mode="json"))
            trained.train()
        return watch(step, trained) if watch else None

    began, score = time.monotonic(), mean_dev_score(devs, settings)
    options: Any = {"folder": folder, "resume": True, "progress": progress, "on_step": on_step}
    if settings.frozen_first is None:
        history = fit(method, corpus, config, score, **options)
    else:
        heads = TrainConfig(**(settings.train or {}) | settings.frozen_first)
        first, history = train_heads_first(method, corpus, config, score, heads=heads, **options)
        began += first.seconds
    history.seen[:0] = start
    return history, time.monotonic() - began


def mean_dev_score(devs: Sequence[Corpus[Any]], settings: RunSettings) -> Callable[[Encoder], float]:
    """Return what chooses the step to keep: the mean score on the dev corpora."""
    choose = [dev_score(dev, setup=dev_setup(dev, settings)) for dev in devs]

    def score_dev(trained: Encoder) -> float:
        if not all(weights.isfinite().all() for weights in trained.parameters()):
            raise FloatingPointError("the weights are no longer finite: take a lower learning rate")
        return sum(score(trained) for score in choose) / len(choose)

    # a checkpoint belongs to them: neither is in the weights that it begins with
    known = [(dev.fingerprint, dev_setup(dev, settings)) for dev in devs]
    score_dev.fingerprint = f"{known}, frozen first: {settings.frozen_first}"  # type: ignore[attr-defined]
    return score_dev


def dev_setup(dev: Corpus[Any], settings: RunSettings) -> Setup | None:
    """Return the set-up in which phrases in contexts choose the step to keep."""
    return settings.setups[0] if isinstance(dev[0], PhraseInContext) else None


def training_rows(settings: RunSettings, notes: Notes) -> Any:
    """Load the corpus of the setting `data`, or the rows of several tasks."""
    assert settings.data  # a method has data
    if isinstance(settings.data, dict):
        sets = {task: drawn(notes.load(of.corpus, of.split), of.each) for task, of in settings.data.items()}
        return task_rows(**sets)
    return notes.load(settings.data.corpus, settings.data.split)


def drawn(pairs: Corpus[Any], each: int | None) -> Corpus[Any]:
    """Draw so many pairs of each relation at random, or all that there are (Universal, section 3.1)."""
    of: dict[str, list[Any]] = {}
    for pair in pairs if each else ():
        of.setdefault(pair.relation, []).append(pair)
    rows = tuple(pair for some in of.values() for pair in Random(0).sample(some, min(each or 0, len(some))))
    return replace(pairs, rows=rows) if each else pairs


def build_method(settings: RunSettings, corpus: Any) -> Any:
    """Build the method of the settings: a map to be fitted to the corpus, or a class that waits for its encoder."""
    name = settings.method.name
    arguments = arguments_of(settings) | ({"tasks": corpus} if name == "Universal" else {})
    return METHODS[name](**arguments) if name in MAPS else partial(METHODS[name], **arguments)


def arguments_of(settings: RunSettings) -> dict[str, Any]:
    """Return the arguments of the settings' method, with functions for the names of views and of kinds of phrases."""
    arguments = dict(settings.method.arguments) if settings.method else {}
    if names := arguments.pop("view", None):
        steps: list[Any] = []
        for each in names:
            of_view = {"name": each} if isinstance(each, str) else dict(each)
            of_view |= {"roles": roles.label_roles} if of_view["name"] == "srl_guided" else {}
            steps.append(partial(getattr(views, of_view.pop("name")), **of_view))
        arguments["view"] = views.compose(*steps)
    if kinds := arguments.pop("phrases", None):
        arguments["phrases"] = partial(phrases.chunk_phrases, kinds=tuple(kinds))
    return arguments


def measure(encoder: Encoder, poolings: Sequence[str], devs: Any, tests: Any, settings: RunSettings) -> Measured:
    """Measure scores on corpora, and geometry, of each pooling, as a record keeps them."""
    trained_with = encoder.pooling
    choose = {f"{dev.name}-dev": dev_score(dev, setup=dev_setup(dev, settings)) for dev in devs}
    pairs = {corpus.name: corpus for corpus in tests if isinstance(corpus[0], ScoredPair)}
    laid_out = next((pairs[name] for name in GEOMETRY if name in pairs), None)
    results: dict[str, dict[str, Number]] = {}
    layout: dict[str, dict[str, Any]] = {}
    for pooling in poolings:
        encoder.pooling = pooling
        scores = {name: score(encoder) for name, score in choose.items()}
        for corpus in tests:
            in_context = isinstance(corpus[0], PhraseInContext)
            for setup in settings.setups if in_context else [None]:
                scores |= evaluate(encoder, corpus, setup=setup).scores
        if set(data.STS_TASKS) <= scores.keys():
            scores["average"] = sum(scores[task] for task in data.STS_TASKS) / len(data.STS_TASKS)
        scores |= {f"{name} head": evaluate_relatedness(encoder, name) for name in settings.heads}
        results[pooling] = {name: round(value, 2) for name, value in scores.items()}
        if laid_out is not None:
            layout[pooling] = {"corpus": laid_out.name, **asdict(geometry(encoder, laid_out))}
            layout[pooling]["counts"] = packed(layout[pooling]["counts"])
    encoder.pooling = trained_with
    return Measured(scores=results, geometry=layout)


def packed(counts: list[list[int]]) -> list[str]:
    """Leave most zeros out: the length of a row, and for each row the place of the first other count and the counts."""
    rows = [str(len(counts[0]))]
    for row in counts:
        places = [place for place, count in enumerate(row) if count] or [0]
        rows.append(f"{places[0]}: {' '.join(map(str, row[places[0] : places[-1] + 1]))}")
    return rows


def count_reconstructed(method: methods.PaSeR, corpus: Corpus[Any]) -> dict[str, int]:
    """Count phrases of sentences drawn at random that the decoder gives back.

    `exact` are those word by word, `among_beams` those that one of the hypotheses has word by word, and `partial` those
    that share a word with the most likely hypothesis. RAKE's phrases hold no stopwords.
    """
    texts = sorted({getattr(row, fields(row)[0].name) for row in corpus})  # the first text of each row
    drawn = Random(0).sample(texts, min(SENTENCES, len(texts)))
    counts = {"sentences": len(drawn), "phrases": 0, "exact": 0, "among_beams": 0, "partial": 0, "beams": BEAMS}
    tokenizer = method.encoder.tokenizer
    for i in tqdm(range(0, len(drawn), 50), desc=f"reconstruct {corpus.name}", leave=False):
        for phrase, answers in chain.from_iterable(method.candidates(drawn[i : i + 50], beams=BEAMS)):
            wanted = tokenizer.decode(tokenizer(phrase.text, add_special_tokens=False)["input_ids"])
            counts["phrases"] += 1
            counts["exact"] += answers[0] == wanted
            counts["among_beams"] += wanted in answers
            counts["partial"] += bool(set(answers[0].split()) & set(wanted.split()))
    return counts


def reconstruct_table_7(method: methods.PaSeR) -> list[dict[str, str]]:
    """Return what the decoder gives for the sentences of PaSeR's Table 7, masked as there."""
    rows = []
    for sentence, row in published.table("paser", 7).iterrows():
        before, after = re.split("_[_ ]*_|_", row["masked version"])  # the paper has a mask a token: "At _ _ _ dead"
        phrase = Phrase(sentence[len(before) : sentence.index(after)], len(before), sentence.index(after), 0.0)
        ((_, words),) = method.reconstruct([sentence], [[phrase]], beams=BEAMS)[0]
        rows.append({"sentence": str(sentence), "masked": phrase.text, "words": words})
    return rows
