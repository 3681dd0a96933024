"""Chromium for tests of pages, headless and without a network, driven by the DevTools protocol."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

LOCAL = ("file:", "data:", "blob:", "about:", "http://127.0.0.1:")


class Browser:
    """One page, with a mouse and keys, and the `problems` that its console or its network tells of."""

    def __init__(self, address: str) -> None:
        import websocket

        self.socket = websocket.create_connection(address, timeout=60, suppress_origin=True)
        self.number = 0
        self.problems: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": arguments}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.note(answer.get("method", ""), answer.get("params", {}))

    def note(self, event: str, about: dict[str, Any]) -> None:
        """Keep what a reader would see as an error in the console, or as a request that left the machine."""
        if event == "Runtime.exceptionThrown":
            self.problems.append(str(about["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
            self.problems.append(str(about["args"]))
        elif event == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.problems.append(str(about["entry"]))
        elif event == "Network.requestWillBeSent" and not about["request"]["url"].startswith(LOCAL):
            self.problems.append(about["request"]["url"])

    def open(self, page: Path | str, *, until: str = "true", width: int = 1000, height: int = 1600) -> None:
        """Show a file or an address, and wait until it is whole and something is true."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.navigate", url=page.as_uri() if isinstance(page, Path) else page)
        self.wait(f"document.readyState === 'complete' && {until}")

    def get(self, expression: str) -> Any:
        """The value of a line of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        end = time.monotonic() + 30
        while not self.get(f"Boolean({expression})"):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.05)

    def texts(self, selector: str) -> list[str]:
        return self.get(f"[...document.querySelectorAll({json.dumps(selector)})].map(node => node.textContent)")

    def centre(self, selector: str, number: int = 0) -> tuple[float, float]:
        """The middle of an element, brought into view."""
        node = f"document.querySelectorAll({json.dumps(selector)})[{number}]"
        self.get(f"{node}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
        box = self.get(f"(b => [b.left + b.width / 2, b.top + b.height / 2])({node}.getBoundingClientRect())")
        return box[0], box[1]

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)

    def click(self, x: float, y: float) -> None:
        self.hover(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def write(self, text: str) -> None:
        """Type into what has the focus, in place of what is selected."""
        self.call("Input.insertText", text=text)


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """The browser while open, with an empty folder for its profile; skips the test where there is none."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not program:
        pytest.skip("no chromium and no google-chrome to show the page in")
    pytest.importorskip("websocket", reason="websocket-client, with which to drive the browser, is not installed")
    quiet = "--no-first-run --disable-background-networking --disable-component-update --disable-sync --disable-quic"
    options = f"--headless --no-sandbox --disable-gpu {quiet} --remote-debugging-port=0 --remote-allow-origins=*"
    nowhere = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    command = [program, *options.split(), nowhere, f"--user-data-dir={profile}", "about:blank"]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield Browser(page_of(profile))
    finally:
        running.terminate()
        running.wait(30)


def page_of(profile: Path) -> str:
    """The address of the browser's one page, once it listens."""
    ports, end = profile / "DevToolsActivePort", time.monotonic() + 60
    while time.monotonic() < end:
        if ports.exists() and len(lines := ports.read_text().splitlines()) == 2:
            with urlopen(f"http://127.0.0.1:{lines[0]}/json/list") as answer:
                pages = [target for target in json.load(answer) if target["type"] == "page"]
            if pages:
                return pages[0]["webSocketDebuggerUrl"]
        time.sleep(0.1)
    raise TimeoutError(f"{ports} names no page after a minute")
