"""What changes a sentence: phrases, views and semantic roles."""
