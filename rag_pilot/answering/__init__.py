"""From a question and passages to an answer with citations, or a decline."""
