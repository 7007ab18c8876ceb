"""Claude's memory in memento, for the official SDK.

The tools are memory tools of the SDK that execute each call on a memento server, or in
a ``memento tool`` process::

    memory = MementoMemoryTool(Server("https://memory.example.com", key, store="user 42"))
    memory = MementoMemoryTool(Process(["memento", "tool"]))

``AsyncMementoMemoryTool`` is the same for ``AsyncAnthropic``, on asyncio.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, Protocol, Sequence

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

ATTEMPTS = 4
"""How often a request is made before its failure is reported."""


class Transport(Protocol):
    """Executes a call of the memory tool and returns the tool_result block; safe for threads."""

    def run(self, command: object) -> dict[str, Any]: ...
    def close(self) -> None: ...


def _refused(why: str) -> ToolError:
    return ToolError(f"Error: The memory is unavailable: {why}")


def _lost(why: str) -> ToolError:
    return _refused(f"{why}. It is unknown whether the command was executed: view the path before you repeat it.")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None  # the key is for this server only


class Server:
    """A store on a memento server.

    store is the store's name, or its ID (``memstore_…``); a name is created if it does not
    exist. session is the session ID that the history records as the author of changes, by
    default the key. timeout is for one request, in seconds.
    """

    def __init__(
        self, url: str, key: str, *, store: str = "default", session: str | None = None, timeout: float = 60
    ) -> None:
        self._base = url.rstrip("/") + "/v1/memory_stores/"
        self._key, self._store, self._timeout = key.strip(), store, timeout
        self._id = store if store.startswith("memstore_") else None
        self._query = "" if session is None else "?" + urllib.parse.urlencode({"session_id": session})
        self._opener = urllib.request.build_opener(_NoRedirects)

    def run(self, command: object) -> dict[str, Any]:
        if self._id is None:
            self._id = self._post("by-name", {"name": self._store})["id"]
        return self._post(urllib.parse.quote(self._id, safe="") + "/tool" + self._query, command)

    def close(self) -> None:
        pass

    def _post(self, path: str, body: object) -> dict[str, Any]:
        # The server executes a repeated request once, by its Idempotency-Key.
        headers = {"Content-Type": "application/json", "X-Api-Key": self._key, "Idempotency-Key": str(uuid.uuid4())}
        request = urllib.request.Request(self._base + path, json.dumps(body).encode(), headers)
        for attempt in range(1, ATTEMPTS + 1):
            wait = 0.25 * 2**attempt * random.uniform(0.75, 1)
            try:
                with self._opener.open(request, timeout=self._timeout) as response:
                    return json.load(response)
            except urllib.error.HTTPError as e:
                failure = _refused(_error_message(e) or f"the server answered with status {e.code}")
                repeatable = e.code in (408, 429) or e.code >= 500
                if e.headers.get("x-should-retry", str(repeatable).lower()) != "true":
                    raise failure from None
                if e.headers.get("retry-after", "").isdigit():
                    wait = min(int(e.headers["retry-after"]), 30)
            except TimeoutError:
                failure = _lost("the server did not answer in time")
            except (OSError, ValueError, http.client.HTTPException):  # no connection, or not a whole answer
                failure = _lost("the server cannot be reached")
            if attempt < ATTEMPTS:
                time.sleep(wait)
        raise failure


def _error_message(e: urllib.error.HTTPError) -> str | None:
    try:
        return json.load(e)["error"]["message"]
    except (OSError, ValueError, KeyError, TypeError):
        return None  # not of memento: of a proxy, say


class Process:
    """A process that executes calls, one JSON object a line; the first call starts it.

    command is the program and its arguments, such as ``["memento", "--store", "user 42", "tool"]``.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._lock = threading.Lock()
        self._child: subprocess.Popen[str] | None = None

    def run(self, command: object) -> dict[str, Any]:
        line = json.dumps(command)
        with self._lock:
            try:
                if self._child is None:
                    pipe = subprocess.PIPE
                    self._child = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, encoding="utf-8")
                self._child.stdin.write(line + "\n")
                self._child.stdin.flush()
                result = json.loads(self._child.stdout.readline())
                result["content"]
                return result
            except BaseException as e:
                # Without its result, or interrupted, it would answer the next call with this one's.
                self._end(kill=True)
                if isinstance(e, FileNotFoundError):
                    raise _refused(f"{self._command[0]} cannot be run: {e.strerror}") from e
                if isinstance(e, (OSError, ValueError, KeyError, TypeError)):
                    raise _lost(f"{self._command[0]} has ended, or does not answer as \"memento tool\" does") from e
                raise

    def close(self) -> None:
        with self._lock:
            self._end()

    def _end(self, kill: bool = False) -> None:
        child, self._child = self._child, None
        if child is not None:
            if kill:
                child.kill()
            child.communicate()


def _content(result: dict[str, Any]) -> str:
    if result.get("is_error"):
        raise ToolError(result["content"])
    return result["content"]


class MementoMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for ``Anthropic``. cache_control is that of the base class."""

    def __init__(self, transport: Transport, **options: Any) -> None:
        super().__init__(**options)
        self._transport = transport

    def call(self, input: object) -> str:
        return _content(self._transport.run(input))  # as the model wrote it

    def execute(self, command: Any) -> str:
        return self.call(command.to_dict())

    view = create = str_replace = insert = delete = rename = execute

    def clear_all_memory(self) -> str:
        while paths := self._top():
            for path in paths:
                self.call({"command": "delete", "path": path})
        return "All memory cleared"

    def _top(self) -> list[str]:
        listing = self.call({"command": "view", "path": "/memories"})
        paths = [line.partition("\t")[2].rstrip("/") for line in listing.splitlines()]
        return [p for p in paths if p.count("/") == 2]

    def close(self) -> None:
        """Ends the process, if there is one. A later call starts another."""
        self._transport.close()


class AsyncMementoMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for ``AsyncAnthropic``: MementoMemoryTool in threads, for asyncio."""

    def __init__(self, transport: Transport, **options: Any) -> None:
        super().__init__(**options)
        self._tool = MementoMemoryTool(transport)

    async def call(self, input: object) -> str:
        return await asyncio.to_thread(self._tool.call, input)

    async def execute(self, command: Any) -> str:
        return await asyncio.to_thread(self._tool.execute, command)

    view = create = str_replace = insert = delete = rename = execute

    async def clear_all_memory(self) -> str:
        return await asyncio.to_thread(self._tool.clear_all_memory)

    async def close(self) -> None:
        """Ends the process, if there is one. A later call starts another."""
        await asyncio.to_thread(self._tool.close)
