"""Text in, vectors out: the encoder, its files, pooling, pseudo tokens, vector maps and inference."""

from sentlab.encoder.encoder import Encoder

__all__ = ["Encoder"]
