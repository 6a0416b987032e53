"""The exceptions of the package, named for the user's situation.

Each message says what was found (file and line where there is one), what was expected and what to do next. The
command line and the notebooks print the message alone, without a traceback.
"""


class PilotError(Exception):
    """Base of everything that the package raises on purpose; a notebook shows its message and no traceback."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback."""
        return [str(self)]


class SettingsError(PilotError):
    """`pilot.toml` or another settings file cannot be used as it stands."""


class DataError(PilotError):
    """A file of questions, labels, documents or runs holds something that cannot be read."""


class AccessError(PilotError):
    """Who may open a document cannot be established, or would be widened."""


class StaleError(PilotError):
    """Something on disk was made from other inputs than the present ones."""


class ModelError(PilotError):
    """A language or embedding model cannot be used: not installed, not reachable, refused."""


class RunStoppedError(ModelError):
    """Every further question would fail alike (key, quota, address, model, context): the run ends here.

    What was finished is kept, and is not asked again when the run goes on.
    """


class HaltedError(RunStoppedError):
    """A call that was not made because another one had ended the run: its cause is that one's."""


class NotStoredError(RunStoppedError, StaleError):
    """Something would have to be asked of a model's address, where only what is stored may be used (see `calls.py`)."""
