"""What works on plain text: phrases, views, semantic roles, words and BM25."""
