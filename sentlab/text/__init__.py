"""What works on plain text: phrases, views, semantic roles and words."""
