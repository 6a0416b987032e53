"""The commands of `rag-pilot`: what each takes (parser), and what each does."""
