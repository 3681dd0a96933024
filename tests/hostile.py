"""Texts that do harm where a page takes them for markup or for a script: each would set `ran`."""

from __future__ import annotations

import random

RUN = "globalThis.ran=1"
HOSTILE = [
    f"<script>{RUN}</script>",
    f"</script><script>{RUN}</script>",
    f"<!--<script>{RUN}//-->",
    f"<img src=x onerror={RUN}>",
    f'"><svg onload={RUN}>',
    f"' onmouseover='{RUN}' autofocus onfocus='{RUN}",
    f"</textarea></title></style></option></select><img src=x onerror={RUN}>",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'></iframe>",
    f"<a href='javascript:{RUN}'>click</a>",
    f"[click](javascript:{RUN}) ![x](x) **bold** _low_ ~~gone~~ `code` | cell \\",
    "<style>body{display:none}</style>",
    f"&lt;img src=x onerror={RUN}&gt; &amp;amp; &#60;b&#62; &nbsp &copy",
    f"\\u003cscript\\u003e{RUN}\\u003c/script\\u003e",
    f"`${{{RUN}}}` ${{{RUN}}} {{{{{RUN}}}}}",
    f"'; {RUN}; // \"; {RUN}; //",
    f"a\u2028{RUN}\u2029b\u0085c",
    "\u202egnirts eht sehsinif \u2066this\u2069 \u200fmark\u202c end",
    "]]> <![CDATA[ <?php ?> <!DOCTYPE x>",
    "𝔘𝔫𝔦 é ＜script＞ \ufeff\u200b \ud7ff",
]


def fuzzed(count: int, seed: int = 0) -> list[str]:
    """Texts of pieces of all these, and of characters that end a string, an attribute or an element."""
    rng = random.Random(seed)
    pieces = [*"<>&\"'`/=!-;#\\ \u2028\u202e", "</", "-->", "script", "&#x3c;", "<b", "</b>", "onerror=", RUN, *HOSTILE]
    return ["".join(rng.choice(pieces) for _ in range(rng.randint(1, 9))) for _ in range(count)]
