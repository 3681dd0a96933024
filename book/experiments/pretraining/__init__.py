"""How the bundled encoders were made."""
