"""One run: an encoder is evaluated, trained and evaluated again, as the settings of its record say.

python -m experiments run book/results/NAME.json ... [--again]
accelerate launch --num_processes 4 -m experiments run ...    (on several GPUs)
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import torch
from accelerate import Accelerator
from sentlab import data, methods
from sentlab.data import Corpus, PhraseInContext, ScoredPair
from sentlab.encoder import Encoder
from sentlab.encoder.maps import postprocessed
from sentlab.evaluation import dev_score, watch_geometry
from sentlab.evaluation.metrics import cosine_similarity
from sentlab.evaluation.mining import Setup
from sentlab.evaluation.retrieval import nearest
from sentlab.evaluation.sts import encode_groups, geometry
from sentlab.files import write_json
from sentlab.methods.universal import task_rows
from sentlab.text import phrases, roles, views
from sentlab.text.phrases import Phrase
from sentlab.training import TrainConfig, fit, set_dropout, set_seed

from experiments import published, records, toy
from experiments import results as found
from experiments.notes import Notes
from experiments.probes import evaluate, evaluate_relatedness
from experiments.records import ENCODER, ITEMS, SWEEPS, RunRecord
from experiments.settings import MAPS, MethodSettings, RunSettings, method_class, view_and_rate
from experiments.static import load
from experiments.weights import weights_fingerprint

SENTENCES, BEAMS = 500, 4  # to reconstruct the phrases of: drawn from a corpus, and of the search
LAST = "last.json"  # what was measured after the last step, until the record has it
GEOMETRY = ("stsb", "toy-sts")  # the first of these among the test corpora gets its geometry measured
_raw: dict[str, found.Measured] = {}  # of encoders before training: every run of a sweep begins with the same one


def run(path: Path, *, folder: Path | None = None, again: bool = False, progress: bool = True) -> RunRecord:
    """Do one run and write its record. An interrupted training resumes from its last checkpoint.

    Of several processes each loads, measures and trains on a GPU of its own; the first one writes.

    Args:
        path: the record; its `settings` say what to do.
        folder: for checkpoints and the trained encoder. None: `runs/NAME`, or beside a sweep's run that keeps its own.
        again: train afresh, without the checkpoint of an earlier run.
        progress: show progress bars.
    """
    record = records.read_as(RunRecord, path)
    settings, notes = record.settings, Notes()
    beside = settings.keep and path.parent.name == SWEEPS  # where the record of the sweep or search looks for it
    folder = folder or (path.with_suffix("") if beside else Path("runs") / record.name)
    if settings.threads:
        torch.set_num_threads(settings.threads)
    began, processes = time.monotonic(), Accelerator()  # which chooses this process's GPU
    if again:
        drop_checkpoint(folder, processes)
    encoder: Any = load(settings.encoder.model_dump(exclude_unset=True))
    if settings.method and not isinstance(encoder, Encoder):
        raise ValueError(f"{path}: {settings.encoder.source} has no layers, so no method trains it")
    start = found.EncoderNote(source=settings.encoder.source, fingerprint=weights_fingerprint(encoder), dim=encoder.dim)
    devs = [notes.load(name, "dev") for name in settings.devs]
    tests = [notes.load(name, "test") for name in settings.test]
    poolings = list(dict.fromkeys([encoder.pooling, *settings.poolings]))
    results: dict[str, Any] = {"before": measure_once(start.fingerprint, encoder, poolings, devs, tests, settings)}
    last: found.Measured | None = None
    if settings.method:
        corpus = training_rows(settings, notes)
        if settings.method.name in MAPS:
            encoder = postprocessed(encoder, build_method(settings, corpus), corpus)
            poolings = [encoder.pooling]
        else:
            set_seed(settings.seed)
            method = build_method(settings, corpus)(encoder)
            if settings.dropout is not None:
                set_dropout(method, settings.dropout)
            if settings.frozen_first is not None:
                train_own_layers(method, corpus, settings, progress)
            watch = watch_geometry(devs[0], settings.watch) if settings.watch else None
            config = TrainConfig(**settings.train or {})
            length = config.steps_over(len(corpus))
            choose = [dev_score(dev, setup=dev_setup(dev, settings)) for dev in devs]

            def score_dev(trained: Encoder) -> float:
                if not all(own.isfinite().all() for own in trained.parameters()):
                    raise FloatingPointError("the weights are no longer finite: take a lower learning rate")
                return sum(score(trained) for score in choose) / len(choose)

            # a checkpoint belongs to them: neither is in the weights that it begins with
            first = settings.frozen_first
            score_dev.fingerprint = (  # type: ignore[attr-defined]
                f"{[(dev.fingerprint, dev_setup(dev, settings)) for dev in devs]}, frozen first: {first}"
            )

            def on_step(step: int, trained: Any) -> Mapping[str, float] | None:
                if step == length and config.keep == "dev" and settings.test:
                    own = measure(trained.encoder, poolings_of(trained.encoder, poolings), devs, tests, settings)
                    write_json(folder / LAST, own.model_dump(mode="json"))
                    trained.train()
                return watch(step, trained) if watch else None

            started = time.monotonic()
            history = fit(
                method,
                corpus,
                config,
                score_dev,
                folder=folder,
                resume=True,
                progress=progress,
                on_step=on_step,
            )
            began += time.monotonic() - started - history.seconds  # which counts what came before an interruption
            if (
                config.keep == "dev" and (folder / LAST).exists()
            ):  # also where this process was interrupted after the last step
                last = found.Measured.model_validate_json((folder / LAST).read_text(encoding="utf-8"))
            results["training"] = found.Training(
                dev=[found.DevScore(step=int(row["step"]), score=row["score"]) for row in history.dev],
                geometry=[found.SeenGeometry.model_validate(row) for row in history.seen],
                kept_step=history.kept_step,
            )
            poolings = poolings_of(encoder, poolings)
            if settings.reconstruct:
                counts = {name: count_reconstructed(method, notes.load(name, "test")) for name in settings.reconstruct}
                results["reconstruction"] = found.Reconstruction(corpora=counts, table_7=reconstruct_table_7(method))
        results["after"] = measure(encoder, poolings, devs, tests, settings)
        if last is not None and _tasks(last) == _tasks(results["after"]):  # else it is of other tests or vectors
            results["last"] = last
        if processes.is_main_process:
            shutil.rmtree(folder / ITEMS, ignore_errors=True)  # of the encoder that was there before
            encoder.save(folder / ENCODER)
    if settings.examples:
        results["examples"] = found.Examples(**{name: EXAMPLES[name](encoder) for name in settings.examples})
    record.results = found.RunResults(**results)
    seconds = time.monotonic() - began
    command, count = records.command_of(record, path), processes.num_processes
    if count > 1:
        command = command.replace("python", f"accelerate launch --num_processes {count}", 1)
    record.provenance = notes.provenance(
        command, seconds, encoder=start, processes=count, on=getattr(encoder, "device", "cpu")
    )
    processes.wait_for_everyone()  # who still looks for results would find them, and not take part
    if processes.is_main_process:
        record.save(path)
        (folder / LAST).unlink(missing_ok=True)
    processes.wait_for_everyone()  # the others read what was written
    return record


def _tasks(measured: found.Measured) -> dict[str, list[str]]:
    """The tasks of each vector."""
    return {pooling: sorted(scores) for pooling, scores in measured.scores.items()}


def poolings_of(encoder: Encoder, asked: Sequence[str]) -> list[str]:
    """List the vectors to measure of a trained encoder: its own first, and those of its pseudo tokens if it has any."""
    learned = [encoder.pooling, *(["pseudo"] if encoder.pseudo is not None else [])]
    return list(dict.fromkeys([*learned, *asked]))


def drop_checkpoint(folder: Path, processes: Accelerator) -> None:
    """Delete what an earlier run has left to resume from."""
    if processes.is_main_process:
        for file in [*folder.glob("checkpoint*"), *folder.glob(LAST)]:
            file.unlink()
    processes.wait_for_everyone()


def training_rows(settings: RunSettings, notes: Notes) -> Any:
    """Load the corpus of the setting `data`, or the rows of several tasks."""
    assert settings.data  # a method has data
    if isinstance(settings.data, dict):
        return task_rows(**{task: notes.load(own.corpus, own.split) for task, own in settings.data.items()})
    return notes.load(settings.data.corpus, settings.data.split)


def build_method(settings: RunSettings, corpus: Any) -> Any:
    """Build the method of the settings: a map to be fitted, or a class that waits for its encoder.

    Args:
        corpus: what it learns from, which says how many tasks Universal has.
    """
    chosen: MethodSettings = settings.method  # type: ignore[assignment]
    arguments, in_toy_world = dict(chosen.arguments), settings.words == "toy"
    if names := arguments.pop("view", None):
        synonyms = toy.synonyms if in_toy_world else views.wordnet_synonyms
        own: dict[str, views.View] = {
            "synonym_replacement": partial(views.synonym_replacement, synonyms=synonyms),
            "srl_guided": partial(views.srl_guided, roles=toy.roles if in_toy_world else roles.label_roles),
        }
        made_of: list[Any] = []
        for name, rate in map(view_and_rate, names):
            view: Any = own.get(name) or getattr(views, name)
            made_of.append(partial(view, rate=rate) if rate else view)
        arguments["view"] = views.compose(*made_of)
    if kinds := arguments.pop("phrases", None):
        tag = toy.tag if in_toy_world else None
        arguments["phrases"] = partial(phrases.chunk_phrases, kinds=tuple(kinds), tag=tag)
    if chosen.name == "Universal":
        arguments |= {"tasks": list(corpus.corpora), "paraphrases": corpus.corpora.get("pi", ())}
    made = method_class(chosen.name)
    return made(**arguments) if chosen.name in MAPS else partial(made, **arguments)


def train_own_layers(method: Any, corpus: Any, settings: RunSettings, progress: bool = True) -> None:
    """Do the training of the setting `frozen_first`: the method's own layers learn, the encoder stays as it is.

    Raises:
        ValueError: the method has no layers of its own.
    """
    chosen = {**(settings.train or {}), **(settings.frozen_first or {}), "keep": "last", "eval_every": None}
    method.encoder.requires_grad_(False)
    if not any(weights.requires_grad for weights in method.parameters()):
        raise ValueError(f"frozen_first: {type(method).__name__} has no layers besides the encoder that could learn")
    fit(method, corpus, TrainConfig(**chosen), progress=progress)
    method.encoder.requires_grad_(True)


def measure_once(
    fingerprint: str,
    encoder: Encoder,
    poolings: Sequence[str],
    devs: Sequence[Corpus[Any]],
    tests: Sequence[Corpus[Any]],
    settings: RunSettings,
) -> found.Measured:
    """Return what `measure` finds before training, from memory where it was asked before."""
    decide = settings.model_dump(include={"encoder", "dev", "test", "setups", "heads", "threads"})
    key = json.dumps([fingerprint, poolings, decide])
    if key not in _raw:
        _raw[key] = measure(encoder, poolings, devs, tests, settings)
    return _raw[key]


def measure(
    encoder: Encoder,
    poolings: Sequence[str],
    devs: Sequence[Corpus[Any]],
    tests: Sequence[Corpus[Any]],
    settings: RunSettings,
) -> found.Measured:
    """Measure scores and geometry of each pooling, as a record keeps them."""
    trained_with = encoder.pooling
    choose = {f"{dev.name}-dev": dev_score(dev, setup=dev_setup(dev, settings)) for dev in devs}
    pairs = {corpus.name: corpus for corpus in tests if isinstance(corpus[0], ScoredPair)}
    laid_out = next((pairs[name] for name in GEOMETRY if name in pairs), None)
    results: dict[str, dict[str, found.Number]] = {}
    layout: dict[str, found.GeometryResult] = {}
    for pooling in poolings:
        encoder.pooling = pooling
        own = {name: score(encoder) for name, score in choose.items()}
        for corpus in tests:
            in_context = isinstance(corpus[0], PhraseInContext)
            for setup in settings.setups if in_context else [None]:
                own |= evaluate(encoder, corpus, setup=setup).scores
        if set(data.STS_TASKS) <= own.keys():
            own["average"] = sum(own[task] for task in data.STS_TASKS) / len(data.STS_TASKS)
        own |= {f"{name} head": evaluate_relatedness(encoder, name).spearman for name in settings.heads}
        results[pooling] = {name: round(score, 2) for name, score in own.items()}
        if laid_out is not None:
            layout[pooling] = found.GeometryResult(corpus=laid_out.name, **asdict(geometry(encoder, laid_out)))
    encoder.pooling = trained_with
    return found.Measured(scores=results, geometry=layout)


def dev_setup(dev: Corpus[Any], settings: RunSettings) -> Setup | None:
    """Return the set-up in which phrases in contexts choose the step to keep."""
    return settings.setups[0] if isinstance(dev[0], PhraseInContext) else None


def count_reconstructed(method: methods.PaSeR, corpus: Corpus[Any]) -> found.PhraseCounts:
    """Count the phrases of sentences drawn at random that the decoder gives back word by word."""
    texts = sorted({getattr(row, fields(row)[0].name) for row in corpus})  # the first text of each row
    drawn = Random(0).sample(texts, min(SENTENCES, len(texts)))
    batches = [drawn[i : i + 50] for i in range(0, len(drawn), 50)]
    pairs = [pair for rows in batches for own in method.reconstruct(rows, beams=BEAMS) for pair in own]
    tokenizer = method.encoder.tokenizer
    asked = [tokenizer(phrase.text, add_special_tokens=False)["input_ids"] for phrase, _ in pairs]
    right = sum(tokenizer.decode(ids) == words for ids, (_, words) in zip(asked, pairs, strict=True))
    return found.PhraseCounts(sentences=len(drawn), phrases=len(pairs), exact=right, beams=BEAMS)


def reconstruct_table_7(method: methods.PaSeR) -> list[found.Reconstructed]:
    """Return what the decoder gives for the sentences of PaSeR's Table 7, masked as there."""
    rows = []
    for sentence, row in published.table("paser", 7).iterrows():
        before, after = re.split("_[_ ]*_|_", row["masked version"])  # the paper has a mask a token: "At _ _ _ dead"
        phrase = Phrase(sentence[len(before) : sentence.index(after)], len(before), sentence.index(after), 0.0)
        ((_, words),) = method.reconstruct([sentence], [[phrase]], beams=BEAMS)[0]
        rows.append(found.Reconstructed(sentence=str(sentence), masked=phrase.text, words=words))
    return rows


def nearest_questions(encoder: Encoder) -> dict[str, list[str]]:
    """Find the three nearest to each query of PaSeR's Table 6 among all the questions that the table holds."""
    table = published.table("paser", 6)
    texts = sorted({text for column in table for text in table[column]})
    near = nearest(encoder, table.index.unique(), texts)["text"]
    return {query: list(rows) for query, rows in near.groupby(level="query", sort=False)}


def phrase_cosines(encoder: Encoder) -> list[float]:
    """Compute the cosine of each pair of phrases in Universal's Table 1, in its order."""
    pairs = published.table("universal", 1)["paraphrase"]
    u, v = encode_groups(encoder, list(pairs.index), list(pairs))
    return [round(float(cosine), 4) for cosine in cosine_similarity(u, v)]


EXAMPLES: dict[str, Callable[[Encoder], Any]] = {
    "nearest_questions": nearest_questions,
    "phrase_cosines": phrase_cosines,
}
