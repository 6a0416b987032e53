"""The expert's labels and form, the judges, and how far they agree."""
