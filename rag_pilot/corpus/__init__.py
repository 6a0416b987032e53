"""Documents, who may open them, their passages, and the questions."""
