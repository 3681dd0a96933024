"""What the records of each kind are asked for: typed settings, checked when a file is read.

A setting that is unknown, missing or of the wrong type is an error that names the file and the key.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PositiveInt,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)
from sentlab import methods
from sentlab.encoder.maps import Flow, Whitening
from sentlab.evaluation.mining import Setup
from sentlab.text import views
from sentlab.training import TrainConfig

from experiments import controls

MAPS = {"Whitening": Whitening, "Flow": Flow}  # fitted to vectors; nothing is trained
VIEWS = (
    "synonym_replacement", "random_deletion", "random_swap", "random_duplication", "random_crop", "srl_guided",
)  # fmt: skip
_TRAIN_CONFIG = TypeAdapter(TrainConfig)
CONTROLS = {"StartEnd": controls.StartEnd, "WholePassage": controls.WholePassage}
TRAINED = frozenset([*methods.__all__, *CONTROLS])
FROM_DATA = {"Universal": {"tasks", "paraphrases"}}  # arguments that the setting `data` gives
PASSES_ON = {"SupervisedPaSeR": "PaSeR"}  # whose keyword arguments go to another method


class Typed(BaseModel):
    """Checked values: no unknown keys, no conversion of types, no changes."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def problems(error: ValidationError, *, within: int = 0) -> str:
    """Describe what is wrong, as `key.key: what; key: what`, without the first `within` keys."""
    told = {"missing": "is missing", "extra_forbidden": "is unknown"}
    tags = {"one corpus", "tasks", "str", "list[str]"}  # pydantic names the branch of a union, too

    def line(found: Mapping[str, Any]) -> str:
        key = ".".join(str(part) for part in found["loc"][within:] if part not in tags)
        what = told.get(found["type"], found["msg"].removeprefix("Value error, "))
        return f"{key}: {what}" if key else what

    return "; ".join(line(found) for found in error.errors(include_url=False))


def method_class(name: str) -> type:
    """Return the class that a record's method names.

    Raises:
        ValueError: there is no such method.
    """
    if name in MAPS:
        return MAPS[name]
    if name not in TRAINED:
        raise ValueError(f"there is no method {name!r}; choose one of {', '.join(sorted({*TRAINED, *MAPS}))}")
    kind: type = CONTROLS.get(name) or getattr(methods, name)
    return kind


def method_arguments(name: str) -> list[str]:
    """List what may be in the `arguments` of a method."""
    parameters = inspect.signature(method_class(name)).parameters.values()
    own = [parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    passed = method_arguments(PASSES_ON[name]) if name in PASSES_ON else []
    return [argument for argument in [*own, *passed] if argument not in {"encoder", *FROM_DATA.get(name, ())}]


def _share(rate: Any) -> bool:
    return isinstance(rate, int | float) and 0 < rate <= 1


def view_and_rate(view: str | Mapping[str, Any]) -> tuple[str, float | None]:
    """Return the name of a view in a record, and its rate; None is the view's own.

    Raises:
        ValueError: it is no name, and not {"name": ..., "rate": ...}.
    """
    if isinstance(view, str):
        return view, None
    if not isinstance(view, Mapping) or view.keys() != {"name", "rate"} or not _share(view["rate"]):
        raise ValueError(f'a view is a name, or {{"name": ..., "rate": ...}} with a rate in (0, 1], got {view!r}')
    return view["name"], view["rate"]


def _checked_train(values: dict[str, Any]) -> dict[str, Any]:
    known = [field.name for field in fields(TrainConfig)]
    if unknown := [name for name in values if name not in known]:
        raise ValueError(f"{', '.join(unknown)} unknown; a TrainConfig has {', '.join(known)}")
    try:
        _TRAIN_CONFIG.validate_json(json.dumps(values), strict=True)
    except ValidationError as error:
        raise ValueError(problems(error)) from error
    return values


Train = Annotated[dict[str, Any], AfterValidator(_checked_train)]  # some arguments of TrainConfig, which builds


class EncoderSettings(Typed):
    """What `Encoder.from_pretrained` takes. The source `runs/NAME/encoder` is what the record NAME has trained."""

    source: str
    pooling: str
    max_length: PositiveInt
    device: str | None = None


class MethodSettings(Typed):
    """A class of `sentlab.methods` or `controls`, or `Whitening` or `Flow`, and its arguments besides the encoder.

    Args:
        arguments: PaSeR's `phrases` is a list of kinds of chunks (null: RAKE); a `view` is a list of names in
            `sentlab.text.views`, or of {"name": ..., "rate": ...}.
    """

    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check(self) -> MethodSettings:
        method_class(self.name)  # that there is one
        given, takes = self.arguments, method_arguments(self.name)
        if unknown := [name for name in given if name not in takes]:
            raise ValueError(f"{self.name} takes no {', '.join(unknown)}, only {', '.join(takes)}")
        if isinstance(given.get("view"), str):
            raise ValueError(f"view is a list of names of views, such as [{given['view']!r}]")
        for view in given.get("view") or ():
            name, rate = view_and_rate(view)
            if name not in VIEWS:
                raise ValueError(f"sentlab.text.views has no view {name!r}")
            if rate is not None and "rate" not in inspect.signature(getattr(views, name)).parameters:
                raise ValueError(f"the view {name} takes no rate")
        return self


class CorpusSettings(Typed):
    """Rows to train on."""

    corpus: str
    split: str = "train"

    def __str__(self) -> str:
        return self.corpus if self.split == "train" else f"{self.corpus}/{self.split}"


def _data_tag(value: Any) -> str:
    """Whether `data` is one corpus or several tasks."""
    one = isinstance(value, CorpusSettings) or (isinstance(value, dict) and "corpus" in value)
    return "one corpus" if one else "tasks"


Data = Annotated[
    Annotated[CorpusSettings, Tag("one corpus")] | Annotated[dict[str, CorpusSettings], Tag("tasks")],
    Discriminator(_data_tag),
]


class RunSettings(Typed):
    """One run: an encoder is evaluated, and where there is a method trained and evaluated again.

    Args:
        encoder: source, pooling, max_length, device.
        method: name and arguments; null: only evaluate the encoder.
        words: for views and chunks: `nltk` (WordNet, NLTK's tagger, roles by rules) or `toy` (the toy world's).

        data: corpus and split to train on; for Universal task -> corpus and split.

        dropout: probability of every dropout while training, in the encoder and in the method's own layers; null: as
            their configurations say.
        train: arguments of `TrainConfig`; null for a map that is fitted.

        frozen_first: a training before that one, in which only the method's own layers learn and the encoder is
            frozen: the arguments of `TrainConfig` that differ from `train`; null: none. Random heads harm an encoder.

        dev: corpus whose `dev` split chooses the step to keep (Spearman x 100), or several, whose scores are averaged.
        watch: steps between two measurements of alignment and uniformity on the dev corpus; null: none.

        setups: set-ups of `sentlab.evaluation.mining` for phrases in contexts; the first one is used on dev.
        test: corpora whose `test` split is evaluated, before and after training.

        heads: those of them for which a head is trained as well (`evaluate_relatedness`).
        poolings: sentence vectors to evaluate besides the encoder's own.
        keep: a sweep keeps the encoders that it trains, for the records that read them.

        reconstruct: corpora for whose sentences PaSeR's decoder is asked for the masked phrases.
        examples: of the papers, to try: `nearest_questions` (PaSeR, Table 6), `phrase_cosines` (Universal, Table 1).
        threads: CPU threads. The same number gives the same weights, bit for bit.
    """

    encoder: EncoderSettings
    method: MethodSettings | None = None
    words: Literal["nltk", "toy"] = "nltk"
    data: Data | None = None
    dropout: Annotated[float, Field(ge=0, lt=1)] | None = None
    train: Train | None = None
    frozen_first: Train | None = None
    dev: str | Annotated[list[str], Field(min_length=2)]
    watch: PositiveInt | None = None
    setups: list[Setup] = Field(default=["spans", "full"], min_length=1)
    test: list[str]
    heads: list[str] = Field(default_factory=list)
    poolings: list[str] = Field(default_factory=list)
    keep: bool = False
    reconstruct: list[str] = Field(default_factory=list)
    examples: list[Literal["nearest_questions", "phrase_cosines"]] = Field(default_factory=list)
    threads: PositiveInt | None = None

    @model_validator(mode="after")
    def _check(self) -> RunSettings:
        if self.method is None:
            return self
        if self.data is None:
            raise ValueError(f"data is missing: {self.method.name} learns from a corpus")
        if (self.train is None) != (self.method.name in MAPS):
            what = "is fitted, so train must be null" if self.train is not None else "is trained, so train is needed"
            raise ValueError(f"{self.method.name} {what}")
        if self.frozen_first is not None and self.train is None:
            raise ValueError(f"frozen_first is for methods that train, and {self.method.name} is fitted")
        if isinstance(self.data, dict) != (self.method.name == "Universal"):
            raise ValueError("data must be task -> corpus for Universal, and one corpus for every other method")
        if self.reconstruct and self.method.name != "PaSeR":
            raise ValueError(f"reconstruct needs PaSeR's decoder, and the method is {self.method.name}")
        return self

    @property
    def run_name(self) -> str:
        """The name of its record in a sweep or search: the same for the same settings, and for no others."""
        content = json.dumps(self.model_dump(mode="json", exclude_unset=True), sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:12]
        return f"{self.method.name if self.method else 'none'}-{digest}"

    @property
    def devs(self) -> list[str]:
        """The corpora of `dev`."""
        return [self.dev] if isinstance(self.dev, str) else self.dev

    @property
    def corpora(self) -> list[CorpusSettings]:
        """The corpora of `data`."""
        if self.data is None:
            return []
        return list(self.data.values()) if isinstance(self.data, dict) else [self.data]

    @property
    def seed(self) -> int:
        """What the method's own parameters are drawn with, and the order of the rows."""
        return int((self.train or {}).get("seed", 0))
