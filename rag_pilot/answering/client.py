"""The only code that opens a connection to a model: `llm` over any OpenAI-compatible address.

The key comes from the environment and stands nowhere else. A call that fails raises ModelError with its cause; it is
neither a decline nor a wrong answer. Retries, pacing and caching are not known here yet.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from ..errors import ModelError
from ..settings import AnswerTable
from .answerer import Reply


def chat_model(settings: AnswerTable) -> Callable[[str], Reply]:
    """A function from prompt to reply; raises ModelError at once where the key is missing."""
    import openai

    key = os.environ.get(settings.key_variable, "")
    if not key and not settings.base_url:
        raise ModelError(
            f"no key: set the environment variable {settings.key_variable}, or answer.base_url for a server of your own"
        )
    client = openai.OpenAI(
        api_key=key or "none", base_url=settings.base_url or None, timeout=settings.timeout, max_retries=0
    )

    def call(prompt: str) -> Reply:
        started = time.perf_counter()
        try:
            response = client.chat.completions.create(
                model=settings.model,
                messages=[{"role": "user", "content": str(prompt)}],
                temperature=settings.temperature,
                max_tokens=settings.max_tokens,
            )
        except openai.OpenAIError as fault:
            raise ModelError(_cause(fault, key)) from None
        choice = response.choices[0] if response.choices else None
        text = choice.message.content if choice else None
        finish = choice.finish_reason if choice else "no reply"
        if not text or finish in ("length", "content_filter"):
            raise ModelError({"length": "truncated", "content_filter": "filtered"}.get(finish or "", "no reply"))
        usage = response.usage
        return Reply(
            text,
            model=response.model,
            tokens_in=usage.prompt_tokens if usage else 0,
            tokens_out=usage.completion_tokens if usage else 0,
            seconds=time.perf_counter() - started,
            finish=finish or "",
        )

    return call


def _cause(fault: Exception, key: str) -> str:
    """What went wrong in one line, the key cut out."""
    text = " ".join(f"{type(fault).__name__}: {fault}".split())[:300]
    return text.replace(key, "***") if key else text
