"""A stand-in for the parts of the official SDK that the tests use.

It is not the SDK, which the machines of these tests may not be able to install: it has
the same names, and does what the public source of the SDK does with them. The tool
runner makes requests to the address in ANTHROPIC_BASE_URL, without streaming.
"""

import json
import os
import urllib.request
from types import SimpleNamespace

from .lib.tools import ToolError


class _Runner:
    """A conversation, as the SDK's tool runners have it: each iteration yields a message of the model."""

    def __init__(self, *, tools, messages, betas=(), **params):
        self._tools = {tool.to_dict()["name"]: tool for tool in tools}
        self._params = {**params, "tools": [tool.to_dict() for tool in tools]}
        self._betas, self._messages = betas, list(messages)
        self._message, self._response = None, None

    def _request(self):
        body = json.dumps({**self._params, "messages": self._messages}).encode()
        headers = {"content-type": "application/json", "anthropic-beta": ",".join(self._betas)}
        url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages?beta=true"
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as answer:
            self._message, self._response = json.load(answer), None
        return SimpleNamespace(
            stop_reason=self._message["stop_reason"],
            content=[SimpleNamespace(**block) for block in self._message["content"]],
        )

    def _calls(self):
        return [block for block in self._message["content"] if block["type"] == "tool_use"]

    def _answer(self, results):
        self._response = {"role": "user", "content": results}
        return self._response

    def _continue(self, response):
        self._messages += [{"role": "assistant", "content": self._message["content"]}, response]


def _result(call, content, failed=False):
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": content}
    return {**result, "is_error": True} if failed else result


class _SyncRunner(_Runner):
    def __iter__(self):
        while True:
            yield self._request()
            response = self.generate_tool_call_response()
            if response is None:
                return
            self._continue(response)

    def generate_tool_call_response(self):
        if self._response is None and self._calls():
            results = []
            for call in self._calls():
                try:
                    results.append(_result(call, self._tools[call["name"]].call(call["input"])))
                except ToolError as e:
                    results.append(_result(call, e.content, failed=True))
                except Exception as e:
                    results.append(_result(call, repr(e), failed=True))
            self._answer(results)
        return self._response


class _AsyncRunner(_Runner):
    async def __aiter__(self):
        while True:
            yield self._request()
            response = await self.generate_tool_call_response()
            if response is None:
                return
            self._continue(response)

    async def generate_tool_call_response(self):
        if self._response is None and self._calls():
            results = []
            for call in self._calls():
                try:
                    results.append(_result(call, await self._tools[call["name"]].call(call["input"])))
                except ToolError as e:
                    results.append(_result(call, e.content, failed=True))
                except Exception as e:
                    results.append(_result(call, repr(e), failed=True))
            self._answer(results)
        return self._response


class Anthropic:
    def __init__(self):
        self.beta = SimpleNamespace(messages=SimpleNamespace(tool_runner=_SyncRunner))


class AsyncAnthropic:
    def __init__(self):
        self.beta = SimpleNamespace(messages=SimpleNamespace(tool_runner=_AsyncRunner))
