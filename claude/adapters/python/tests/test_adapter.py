"""Tests of the adapter against a real server and a real process, which conformance
starts; the addresses are in the environment. The SDK is a stand-in: see anthropic/."""

import asyncio
import json
import os
import unittest
import urllib.request
import uuid
from concurrent.futures import ThreadPoolExecutor

from anthropic.lib.tools import ToolError
from anthropic.types.beta import BetaMemoryTool20250818CreateCommand, BetaMemoryTool20250818InsertCommand

from memento_memory import AsyncMementoMemoryTool, MementoMemoryTool, Process, Server

URL, KEY, BINARY = (os.environ["MEMENTO_" + name] for name in ("URL", "KEY", "BINARY"))


def server(url=URL, **options):
    return Server(url, KEY, **{"store": str(uuid.uuid4()), **options})


def process():
    return Process([BINARY, "--backend", "mem:", "tool"])


def view(path="/memories/a.md"):
    return {"command": "view", "path": path}


def create(text, path="/memories/a.md"):
    return {"command": "create", "path": path, "file_text": text}


def insert(text):
    return {"command": "insert", "path": "/memories/a.md", "insert_line": 0, "insert_text": text}


def api(path, body=None):
    headers = {"x-api-key": KEY, "content-type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(URL + "/v1/memory_stores/" + path, data, headers)) as answer:
        return json.load(answer)


class Case(unittest.TestCase):
    def tool(self, transport, **options):
        tool = MementoMemoryTool(transport, **options)
        self.addCleanup(tool.close)
        return tool

    def refused(self, text, call, *args):
        with self.assertRaises(ToolError) as caught:
            call(*args)
        self.assertTrue(caught.exception.content.startswith(text), caught.exception.content)
        return caught.exception.content


class Interrupted:
    """A pipe whose reader is interrupted by Ctrl-C."""

    def __init__(self, pipe):
        self._pipe = pipe

    def readline(self):
        raise KeyboardInterrupt

    def __getattr__(self, name):
        return getattr(self._pipe, name)


class Both:
    """What holds for both transports."""

    def test_results(self):
        tool = self.tool(self.transport(), cache_control={"type": "ephemeral"})
        self.assertEqual(
            tool.to_dict(), {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
        )
        self.assertEqual(tool.call(create("one\n")), "File created successfully at: /memories/a.md")
        self.assertEqual(tool.call(view()), "Here's the content of /memories/a.md with line numbers:\n     1\tone")
        self.refused("Error: File /memories/a.md already exists", tool.call, create("two"))
        self.refused("The path /memories/none does not exist.", tool.call, view("/memories/none"))
        self.refused("Error: Path must start with /memories", tool.call, view("/etc/passwd"))
        self.refused("Error: ", tool.call, {"command": "forget"})
        self.refused("Error: ", tool.call, "not an object")

    def test_commands(self):
        tool = self.tool(self.transport())
        tool.create(BetaMemoryTool20250818CreateCommand(**create("one\n")))
        tool.execute(BetaMemoryTool20250818InsertCommand(**insert("zero\n")))
        self.assertTrue(tool.call(view()).endswith(":\n     1\tzero\n     2\tone"))

    def test_any_text(self):
        tool = self.tool(self.transport())
        text = 'a\u2028b \U0001f9e0 "\\" \t\x07 <&> é'
        tool.call(create(text + "\n"))
        self.assertEqual(tool.call(view()), "Here's the content of /memories/a.md with line numbers:\n     1\t" + text)
        self.refused("Error: ", tool.call, create("\ud800", "/memories/b.md"))

    def test_threads(self):
        tool = self.tool(self.transport())
        paths = [f"/memories/{i}.md" for i in range(40)]
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda path: tool.call(create(path, path)), paths))
        self.assertEqual(results, [f"File created successfully at: {path}" for path in paths])

    def test_async(self):
        async def run():
            tool = AsyncMementoMemoryTool(self.transport())
            try:
                paths = [f"/memories/{i}/a.md" for i in range(20)]
                await asyncio.gather(*(tool.call(create(path, path)) for path in paths))
                views = await asyncio.gather(*(tool.call(view(path)) for path in paths))
                self.assertEqual([v.rpartition("\t")[2] for v in views], paths)
                with self.assertRaises(ToolError):
                    await tool.call(create("", paths[0]))
                self.assertEqual(await tool.clear_all_memory(), "All memory cleared")
                with self.assertRaises(ToolError):
                    await tool.call(view(paths[0]))
            finally:
                await tool.close()

        asyncio.run(run())

    def test_clear_all_memory(self):
        tool = self.tool(self.transport())
        for path in ("a.md", "b/c.md", "b/d/e.md", "with space/f.md"):
            tool.call(create("one", "/memories/" + path))
        self.assertEqual(tool.clear_all_memory(), "All memory cleared")
        self.assertEqual(tool.call(view("/memories")).count("\n"), 1)
        self.assertEqual(tool.clear_all_memory(), "All memory cleared")


class TestServer(Both, Case):
    transport = staticmethod(server)

    def test_store_id_and_session(self):
        name = str(uuid.uuid4())
        tool = self.tool(Server(URL + "/", KEY + "\n", store=name, session="sesn_1"))
        tool.call(create("one"))
        store = api("by-name", {"name": name})["id"]
        self.assertTrue(self.tool(server(store=store)).call(view()).endswith("1\tone"))
        versions = api(store + "/memory_versions")["data"]
        self.assertEqual(
            [v["created_by"] for v in versions], [{"type": "session_actor", "session_id": "sesn_1"}]
        )

    def test_lost_answer(self):
        name = str(uuid.uuid4())
        self.tool(server(store=name)).call(create("one\n"))
        tool = self.tool(server(os.environ["MEMENTO_LOSING_URL"], store=name))
        tool.call(insert("two"))
        self.assertTrue(tool.call(view()).endswith(":\n     1\ttwo\n     2\tone"))

    def test_busy(self):
        self.tool(server(os.environ["MEMENTO_BUSY_URL"])).call(create("one"))

    def test_failures(self):
        text = self.refused(
            "Error: The memory is unavailable: ", self.tool(Server(URL, "sk-memento-wrong")).call, view()
        )
        self.assertNotIn("sk-memento-wrong", text)
        self.assertNotIn("127.0.0.1", text)
        moved = self.tool(server(os.environ["MEMENTO_MOVED_URL"]))
        self.refused("Error: The memory is unavailable: the server answered with status 307", moved.call, view())
        silent = self.tool(server(os.environ["MEMENTO_SILENT_URL"], timeout=0.001))
        self.refused("Error: The memory is unavailable: the server ", silent.call, view())


class TestProcess(Both, Case):
    transport = staticmethod(process)

    def test_failures(self):
        missing = self.tool(Process([BINARY + "-missing"]))
        self.refused(f"Error: The memory is unavailable: {BINARY}-missing cannot be run", missing.call, view())
        for command in ([BINARY, "--backend", "nothing:", "tool"], ["cat"], ["echo", "hello"]):
            text = f"Error: The memory is unavailable: {command[0]} has ended, or does not answer as"
            self.refused(text, self.tool(Process(command)).call, view())

    def test_restart(self):
        tool = self.tool(process())
        tool.call(create("one"))
        tool.close()
        self.refused("The path /memories/a.md does not exist.", tool.call, view())

    def test_interrupted(self):
        """A call that is interrupted between its line and its result does not shift the results of others."""
        transport = process()
        tool = self.tool(transport)
        tool.call(create("one"))
        transport._child.stdout = Interrupted(transport._child.stdout)
        with self.assertRaises(KeyboardInterrupt):
            tool.call(create("two", "/memories/b.md"))
        self.refused("The path /memories/none does not exist.", tool.call, view("/memories/none"))


if __name__ == "__main__":
    unittest.main()
