"""Lines of the package by the public name of what they are in: where they are, the block around them, as a listing.

Names are looked up in the files, so a link says where code stands in its own file, not where it is re-exported.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
NOTE_HEADINGS = ("Differs from the paper", "Differs from the released code", "What the paper leaves open")
# for browsers that do not open a closed block by themselves when a link leads into it
OPEN = """<script>
(() => {
  const open = () => {
    const target = document.getElementById(location.hash.slice(1));
    const block = target && target.closest("details");
    if (block && !block.open) { block.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();
})();
</script>"""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Line:
    """A line of the package and the block that is shown around it.

    Args:
        file: below `sentlab/`.
        number: of the line, from 1.
        start, end: first and last line of the block.
    """

    file: str
    number: int
    start: int
    end: int

    @property
    def anchor(self) -> str:
        """The id of the line in a `listing`."""
        return f"{_anchors(self.file)}-{self.number}"


def find(name: str, holds: str = "") -> Line:
    """Find one line of the package.

    Args:
        name: dotted name of a module, or of a function, class, method, constant or class attribute that a module
            defines: `sentlab.methods.paser.PaSeR.loss`. No part of it may start with an underscore.
        holds: text that the line must hold, and no other line of what is named. Empty: the line of the name itself.

    Returns:
        The line. Its block is the function around it (a method without its class), else the class, else the paragraph.

    Raises:
        LookupError: nothing of that name is defined there, it is private, or not exactly one line holds the text.

    Example:
        >>> find("sentlab.methods.paser.PaSeR.loss").file
        'methods/paser.py'
    """
    file, parts = _file(name)
    source, tree = _parsed(file)
    first, last, number = 1, len(source), 1
    inside: ast.AST = tree
    for part in parts:
        inside = _defined(inside, part, name, file)
        number = inside.lineno
        first, last = _extent(inside)
    if holds:
        found = [n for n in range(first, last + 1) if holds in source[n - 1]]
        if len(found) != 1:
            raise LookupError(f"{len(found)} lines of {name} (sentlab/{file}) hold {holds!r}: it must be one")
        (number,) = found
    return Line(file, number, *_block(tree, source, number))


def source(name: str, holds: str = "") -> str:
    """Return the code around a line: its function, class or paragraph, so that a page can show what no name reaches.

    Args and Raises: as in `find`.

    Example:
        >>> source("sentlab.methods.paser.decoding_signal").startswith("def decoding_signal(")
        True
    """
    line = find(name, holds)
    return textwrap.dedent("\n".join(_parsed(line.file)[0][line.start - 1 : line.end]))


def differences(module: str) -> str:
    """Return what a module's docstring says on how it differs from paper and code, each note wrapped."""
    docstring = ast.get_docstring(_parsed(_file(module)[0])[1]) or ""
    _, heading, rest = docstring.partition(NOTE_HEADINGS[0])
    lines = (heading + rest).replace("\n    ", " ").splitlines()
    return "\n".join(textwrap.fill(line, 76, subsequent_indent="    ") for line in lines)


def notes(module: str) -> list[tuple[str, str]]:
    """Return the notes in a module's docstring on how it differs from paper and code.

    Args:
        module: dotted name.

    Returns:
        (heading, note) in order; each heading is one of `NOTE_HEADINGS`.
    """
    file, _ = _file(module)
    return notes_of(ast.get_docstring(_parsed(file)[1]) or "")


def notes_of(docstring: str) -> list[tuple[str, str]]:
    """Return the same notes of a docstring without indentation."""
    found: list[tuple[str, str]] = []
    heading, of_heading = "", 0  # notes so far
    for line in docstring.splitlines():
        item = re.match(r" {0,2}- (.*)", line)
        if line.startswith(NOTE_HEADINGS):
            heading, _, note = line.partition(":")
            of_heading = len(found)
            if note:
                found.append((heading, note.strip()))
        elif not line.strip():
            heading = heading if of_heading == len(found) else ""  # the list may begin after a blank line
        elif heading and (item or of_heading == len(found)):
            found.append((heading, item[1] if item else line.strip()))
        elif heading:
            found[-1] = heading, f"{found[-1][1]} {line.strip()}"
    return found


def listing(lines: Iterable[Line]) -> str:
    """Return HTML with the blocks of these lines, folded by file, the lines marked and with an anchor each."""
    by_file: dict[str, list[Line]] = {}
    for line in sorted(set(lines), key=lambda line: (line.file, line.start, -line.end)):
        by_file.setdefault(line.file, []).append(line)
    folded = (
        f"<details><summary><code>sentlab/{file}</code></summary>{_blocks(file, own)}</details>"
        for file, own in by_file.items()
    )
    return "".join(folded) + OPEN


def _blocks(file: str, lines: list[Line]) -> str:
    from pygments import highlight  # comes with Jupyter: only the book needs it
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import PythonLexer

    merged: list[tuple[int, int, set[int]]] = []  # start, end, the lines to mark
    for line in lines:
        if merged and line.start <= merged[-1][1]:
            start, end, marks = merged[-1]
            merged[-1] = start, max(end, line.end), marks | {line.number}
        else:
            merged.append((line.start, line.end, {line.number}))
    source, shown = _parsed(file)[0], ""
    for start, end, marks in merged:
        look = HtmlFormatter(
            linenos="inline",
            linenostart=start,
            lineanchors=_anchors(file),
            hl_lines=[number - start + 1 for number in marks],
        )
        lexer = PythonLexer(stripnl=False, stripall=False)
        shown += highlight("\n".join(source[start - 1 : end]), lexer, look)
    return shown


def _anchors(file: str) -> str:
    return re.sub("[/.]", "-", file)


def _file(name: str) -> tuple[str, list[str]]:
    """The file of a dotted name, below `sentlab/`, and the parts of the name that are defined in it."""
    root, *parts = name.split(".")
    if root != PACKAGE.name or any(part.startswith("_") for part in parts):
        raise LookupError(f"{name!r} must be a public name that starts with sentlab.")
    for known in range(len(parts), -1, -1):
        place = PACKAGE.joinpath(*parts[:known])
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path.relative_to(PACKAGE).as_posix(), parts[known:]
    raise LookupError(f"{name!r} is in no file of {PACKAGE}")


@cache
def _parsed(file: str) -> tuple[list[str], ast.Module]:
    source = (PACKAGE / file).read_text(encoding="utf-8")
    return source.splitlines(), ast.parse(source)


def _defined(inside: ast.AST, part: str, name: str, file: str) -> ast.stmt:
    """The statement that defines a part of a name."""
    for node in getattr(inside, "body", []):
        if isinstance(node, Function | ast.ClassDef):
            names = [node.name]
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [found.id for target in targets for found in ast.walk(target) if isinstance(found, ast.Name)]
        else:
            continue
        if part in names:
            return node
    raise LookupError(f"{name}: sentlab/{file} does not define {part!r}; name the module that defines it")


def _extent(node: ast.stmt) -> tuple[int, int]:
    """First and last line, decorators included."""
    decorators = getattr(node, "decorator_list", [])
    return min([node.lineno, *(found.lineno for found in decorators)]), node.end_lineno or node.lineno


def _block(tree: ast.Module, source: list[str], number: int) -> tuple[int, int]:
    """What is shown around a line: the function, else the class, else the paragraph."""
    shown: ast.AST = tree
    for _ in ("class or function", "method"):
        around = [node for node in getattr(shown, "body", []) if isinstance(node, Function | ast.ClassDef)]
        around = [node for node in around if _extent(node)[0] <= number <= _extent(node)[1]]
        if not around or isinstance(shown, Function):
            break
        (shown,) = around
    if isinstance(shown, ast.stmt):
        return _extent(shown)
    start = end = number
    while start > 1 and source[start - 2].strip():
        start -= 1
    while end < len(source) and source[end].strip():
        end += 1
    return start, end
