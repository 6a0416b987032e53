"""Does a model answer as a run needs it? One call that says in one sentence what is wrong, before 200 are paid for.

Its prompt is as long as the longest of the run and holds no word of a document; the code word at its start must come
back, which it cannot where a server cuts what does not fit.
"""

from __future__ import annotations

from ..errors import ModelError, RunStoppedError
from ..settings import ModelTable
from .client import ChatModel
from .context import cut_sentence

CODE = "amber-7319"
WORDS = ("the", "box", "is", "on", "a", "table", "and", "so", "we", "can", "see", "it", "when", "you", "are", "out")
"""Short words: about a token each, for every model."""


def check_prompt(tokens: int) -> str:
    """What a model is asked before a run: about that many tokens, the code word first."""
    filler = " ".join(WORDS[n % len(WORDS)] for n in range(tokens))
    return f"The code word is {CODE}. Remember it.\n\n{filler}\n\nReply with the code word, and with nothing else."


def check_model(settings: ModelTable, tokens: int = 3000, table: str = "answer") -> str:
    """Make one call with a prompt of about that many tokens; the model's name as it answered.

    RunStoppedError with one sentence: the key, the address, the model's name, or the context is not as it must be.
    """
    prompt = check_prompt(tokens)
    try:
        reply = ChatModel(settings, table)(prompt)
    except ModelError as fault:
        raise RunStoppedError(f"[{table}] {fault}") from None
    if CODE in reply.casefold():
        return reply.model
    if 0 < reply.tokens_in < tokens / 2:
        raise RunStoppedError(f"[{table}] {settings.model}: {cut_sentence(prompt, reply.tokens_in)}")
    raise RunStoppedError(
        f"[{table}] {settings.model}: the code word at the start of a prompt of about {tokens:,} tokens did not come "
        f"back (the reply: {str(reply)[:60]!r}); either the server's context is smaller and it cuts what stands first "
        "(start it with a larger one), or the model does not do what it is told"
    )
