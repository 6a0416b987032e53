"""From a question and an asker to passages: keyword, dense, fused."""
