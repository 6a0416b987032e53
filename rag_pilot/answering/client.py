"""A chat model behind an OpenAI-compatible address: a function from prompt to reply, `llm` of the contract.

A call that fails is neither a decline nor a wrong answer: see calls.py. A reasoning model's thoughts are cut off: an
answer stands after the last </think>. What was asked before is not known here: see remembered.py.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..errors import ModelError
from ..settings import ModelTable
from .answerer import Reply
from .calls import Calls, read_row
from .context import cut_at, cut_sentence, tokens_of

MISFITS = 3
"""From so many counts that fit no prompt and were no cut, a server's counts are not looked at any more."""
PADDING = " ".join(str(n) for n in range(100)) + "\n\n"


def chat_model(settings: ModelTable, table: str = "answer") -> ChatModel:
    """A function from prompt to reply; raises ModelError at once where the key is missing."""
    model = ChatModel(settings, table)
    model.connect()
    return model


class ChatModel(Calls[Reply]):
    """A function from prompt to reply; `shape` is the JSON schema that its replies are asked to have."""

    def __init__(self, settings: ModelTable, table: str = "answer", shape: Mapping[str, Any] | None = None) -> None:
        sent: dict[str, Any] = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
        if shape:
            schema = {"name": table, "strict": True, "schema": dict(shape)}
            sent["response_format"] = {"type": "json_schema", "json_schema": schema}
        super().__init__(settings, table, sent)
        self._misfits = 0  # counts that looked like a cut prompt and were none

    def __call__(self, prompt: str) -> Reply:
        """The model's reply; ModelError where there is none, RunStoppedError where none can be expected."""
        reply = self._reply_to(prompt)
        if (size := cut_at(prompt, reply.tokens_in, reply.tokens_out)) and self._misfits < MISFITS:
            longer = PADDING + prompt  # asked once more, because one count may be chance
            second = self._reply_to(longer)
            if cut_at(longer, second.tokens_in, second.tokens_out):
                raise self._stopped(cut_sentence(prompt, size))
            self._misfits += 1
        if reply.fault:
            raise ModelError(reply.fault)
        return reply

    def _reply_to(self, prompt: str) -> Reply:
        return self._asked(prompt, tokens_of(prompt) + self.settings.max_tokens)

    def _made(self, client: Any, what: Any, sent: Mapping[str, Any]) -> Reply:
        started = time.perf_counter()
        message = {"role": "user", "content": str(what)}
        response = client.chat.completions.create(model=self.settings.model, messages=[message], **sent)
        return _reply(response, time.perf_counter() - started, self.not_applied)


def _reply(response: Any, seconds: float, not_applied: tuple[str, ...]) -> Reply:
    """The reply of a response, whose every part may be missing or null."""
    row = read_row(response, "a chat completion")
    choice = (row.get("choices") or [{}])[0]
    message, usage = choice.get("message") or {}, row.get("usage") or {}
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    said = text.rpartition("</think>")[2].strip()
    reply = Reply(
        "" if "<think>" in said else said,
        model=row.get("model") or "",
        tokens_in=usage.get("prompt_tokens") or 0,
        tokens_out=usage.get("completion_tokens") or 0,
        seconds=seconds,
        finish=choice.get("finish_reason") or "",
        not_applied=not_applied,
        reused=False,
    )
    if reply.fault == "no reply" and (text.strip() or message.get("reasoning_content")):
        raise ModelError("no answer: the model thought aloud and came to no answer; raise max_tokens")
    return reply
