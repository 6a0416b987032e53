"""Did a server read the whole prompt? Some cut what is longer than their context, beginning first, and say nothing.

Pure functions on texts and token counts. That the counts of a server can be wrong themselves (some leave out what they
had kept) is why nobody is accused by one count alone: see client.py.
"""

from __future__ import annotations

SIZES = tuple(2**n for n in range(11, 21))
"""Contexts that servers are started with: 2,048 to a million."""
TELLING = 500  # words; on a shorter prompt no server is too small


def tokens_of(text: str) -> int:
    """About how many tokens a text has: four letters each."""
    return len(text) // 4 + 1


def cut_at(prompt: str, tokens_in: int, tokens_out: int) -> int:
    """The context size at which a prompt seems to have been cut; 0 where it does not, or where nobody says.

    Hardly any word is less than a token: a count under three quarters of the words is a part of the prompt. One of
    exactly a context's size, by itself or with the reply, may be chance.
    """
    words = len(prompt.split())
    if not tokens_in or words < TELLING:
        return 0
    for count in (tokens_in, tokens_in + tokens_out):
        if count in SIZES:
            return count
    return tokens_in if tokens_in < 0.75 * words else 0


def cut_sentence(prompt: str, size: int) -> str:
    """What was found and what to do, in a sentence."""
    return (
        f"the server reads {size:,} tokens of a prompt of about {tokens_of(prompt):,}: its context is too small, and "
        "what stands first in a prompt never reaches the model; start it with a larger one (Ollama: "
        "OLLAMA_CONTEXT_LENGTH, llama.cpp: -c, vLLM: --max-model-len), or lower retrieval.k or passages.max_tokens"
    )
