"""Browsers for tests of pages, headless and without a network.

Chromium is driven by the DevTools protocol, Firefox by WebDriver BiDi, and a test need not know by which.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from urllib.request import urlopen

import pytest

LOCAL = ("file:", "data:", "blob:", "about:", "http://127.0.0.1:")


class Browser(ABC):
    """One page, with a mouse and keys, and the `problems` that its console or its network tells of."""

    def __init__(self, address: str) -> None:
        import websocket

        self.socket = websocket.create_connection(address, timeout=60, suppress_origin=True)
        self.number = 0
        self.problems: list[str] = []

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": arguments}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.note(answer.get("method", ""), answer.get("params", {}))

    @abstractmethod
    def note(self, event: str, about: dict[str, Any]) -> None:
        """Keep what a reader would see as an error in the console, or as a request that left the machine."""

    @abstractmethod
    def open(
        self, page: Path | str, *, until: str = "true", width: int = 1000, height: int = 1600, still: bool = True
    ) -> None:
        """Show a file or an address, and wait until it is whole and something is true; `still`: with reduced motion."""

    @abstractmethod
    def get(self, expression: str) -> Any:
        """The value of a line of JavaScript."""

    @abstractmethod
    def hover(self, x: float, y: float) -> None:
        """Move the mouse."""

    @abstractmethod
    def click(self, x: float, y: float) -> None:
        """Press and release the mouse."""

    @abstractmethod
    def press(self, key: str) -> None:
        """Press and release a key, such as "Enter" or "ArrowLeft"."""

    @abstractmethod
    def write(self, text: str) -> None:
        """Type into what has the focus, in place of what is selected."""

    def left(self, address: str) -> None:
        """Keep an address that is not on this machine."""
        if not address.startswith(LOCAL):
            self.problems.append(address)

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


class Chromium(Browser):
    def __init__(self, address: str) -> None:
        super().__init__(address)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def note(self, event: str, about: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.problems.append(str(about["exceptionDetails"]))
        elif event == "Runtime.consoleAPICalled" and about["type"] in ("error", "assert"):
            self.problems.append(str(about["args"]))
        elif event == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.problems.append(str(about["entry"]))
        elif event == "Network.requestWillBeSent":
            self.left(about["request"]["url"])

    def open(
        self, page: Path | str, *, until: str = "true", width: int = 1000, height: int = 1600, still: bool = True
    ) -> None:
        motion = {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"}
        self.call("Emulation.setEmulatedMedia", features=[motion])
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Page.navigate", url=as_address(page))
        self.wait(f"document.readyState === 'complete' && {until}")

    def get(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def hover(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)

    def click(self, x: float, y: float) -> None:
        self.hover(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def press(self, key: str) -> None:
        typed = {"Enter": {"text": "\r"}, " ": {"text": " "}}.get(key, {})
        code = {"End": 35, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}.get(key, 0)
        about = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown", **about, **typed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def write(self, text: str) -> None:
        self.call("Input.insertText", text=text)


class Firefox(Browser):
    KEYS: ClassVar = {"Enter": "\ue006", "Tab": "\ue004", "Escape": "\ue00c", " ": " "} | {
        f"Arrow{way}": key for way, key in zip(("Left", "Up", "Right", "Down"), "\ue012\ue013\ue014\ue015", strict=True)
    }

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def note(self, event: str, about: dict[str, Any]) -> None:
        if event == "log.entryAdded" and about["level"] == "error":
            self.problems.append(str(about))
        elif event == "network.beforeRequestSent":
            self.left(about["request"]["url"])

    def open(
        self, page: Path | str, *, until: str = "true", width: int = 1000, height: int = 1600, still: bool = True
    ) -> None:
        assert still, "Firefox is started with reduced motion"
        viewport = {"width": width, "height": height}
        self.call("browsingContext.setViewport", context=self.context, viewport=viewport)
        self.call("browsingContext.navigate", context=self.context, url=as_address(page), wait="complete")
        self.wait(until)

    def get(self, expression: str) -> Any:
        answer = self.call(
            "script.evaluate",
            expression=f"JSON.stringify((0, eval)({json.dumps(expression)}))",
            target={"context": self.context},
            awaitPromise=False,
        )
        assert answer["type"] == "success", answer
        return json.loads(answer["result"].get("value", "null"))

    def act(self, kind: str, *actions: dict[str, Any]) -> None:
        source = {"type": kind, "id": kind, "actions": list(actions)}
        self.call("input.performActions", context=self.context, actions=[source])

    def hover(self, x: float, y: float) -> None:
        self.act("pointer", {"type": "pointerMove", "x": round(x), "y": round(y)})

    def click(self, x: float, y: float) -> None:
        self.hover(x, y)
        self.act("pointer", {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})

    def press(self, key: str) -> None:
        self.write(self.KEYS[key])

    def write(self, text: str) -> None:
        self.act("key", *({"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")))


def as_address(page: Path | str) -> str:
    return page.as_uri() if isinstance(page, Path) else page


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """The browser while open; skips the test where there is none.

    Args:
        profile: an empty folder.
    """
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if not program:
        pytest.skip("no chromium and no google-chrome to show the page in")
    pytest.importorskip("websocket", reason="websocket-client, with which to drive the browser, is not installed")
    quiet = "--no-first-run --disable-background-networking --disable-component-update --disable-sync --disable-quic"
    options = (
        f"--headless --no-sandbox --disable-gpu {quiet} --remote-debugging-port=0 --remote-allow-origins=*".split()
    )
    nowhere = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    running = subprocess.Popen(
        [program, *options, nowhere, f"--user-data-dir={profile}", "about:blank"], stderr=subprocess.DEVNULL
    )
    try:
        yield Chromium(page_of(profile))
    finally:
        running.terminate()
        running.wait(30)


def page_of(profile: Path) -> str:
    """The address of the browser's one page, once it listens."""
    said, end = profile / "DevToolsActivePort", time.monotonic() + 60
    while time.monotonic() < end:
        if said.exists() and len(lines := said.read_text().splitlines()) == 2:
            with urlopen(f"http://127.0.0.1:{lines[0]}/json/list") as answer:
                pages = [target for target in json.load(answer) if target["type"] == "page"]
            if pages:
                return pages[0]["webSocketDebuggerUrl"]
        time.sleep(0.1)
    raise TimeoutError(f"{said} names no page after a minute")


OFFLINE = {  # of Firefox, which asks its makers for news at every start, and finds a proxy that does not answer
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "app.update.disabledForTesting": True,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "ui.prefersReducedMotion": 1,
}


@contextmanager
def firefox(profile: Path) -> Iterator[Browser]:
    """The browser while open; skips the test where there is none.

    Args:
        profile: an empty folder.
    """
    program = next(filter(None, map(shutil.which, ("firefox", "firefox-esr"))), None)
    if not program:
        pytest.skip("no firefox to show the page in")
    pytest.importorskip("websocket", reason="websocket-client, with which to drive the browser, is not installed")
    settings = [f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in OFFLINE.items()]
    (profile / "user.js").write_text("".join(settings))
    options = ["--headless", "--no-remote", "--remote-debugging-port=0", "--profile", str(profile), "about:blank"]
    said = profile / "said.txt"
    with said.open("w") as log:
        running = subprocess.Popen([program, *options], stdout=log, stderr=log)
    try:
        end = time.monotonic() + 60
        while not (found := re.search(r"BiDi listening on (ws://\S+)", said.read_text())):
            assert time.monotonic() < end, f"firefox does not listen after a minute: {said.read_text()}"
            time.sleep(0.1)
        yield Firefox(f"{found[1]}/session")
    finally:
        running.terminate()
        running.wait(30)
