"""The flow of the SDK's example basic.py, with the memory tool exchanged.

A conversation of the tool runner with context editing, whose model is at
ANTHROPIC_BASE_URL. The arguments are "sync" or "async", and the transport as JSON.
"""

import asyncio
import json
import sys

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types.beta import BetaMemoryTool20250818ViewCommand

from memento_memory import AsyncMementoMemoryTool, MementoMemoryTool, Process, Server

PARAMS = {
    "model": "claude-sonnet-5-5",
    "max_tokens": 2048,
    "betas": ["context-management-2025-06-27"],
    "context_management": {
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": 30000},
                "keep": {"type": "tool_uses", "value": 3},
                "clear_at_least": {"type": "input_tokens", "value": 5000},
                "exclude_tools": ["web_search"],
            }
        ]
    },
}

VIEW = BetaMemoryTool20250818ViewCommand(command="view", path="/memories")


def transport(options):
    return Process(options["command"]) if "command" in options else Server(**options)


def show(message):
    for block in message.content:
        if block.type == "text":
            print(block.text)


def talk(memory):
    messages = [{"role": "user", "content": "Remember that I like Python"}]
    runner = Anthropic().beta.messages.tool_runner(messages=messages, tools=[memory], **PARAMS)
    for message in runner:
        show(message)
        messages.append({"role": "assistant", "content": [vars(block) for block in message.content]})
        response = runner.generate_tool_call_response()
        if response and response["content"]:
            messages.append(response)
    print(memory.execute(VIEW))
    print(memory.clear_all_memory())
    print(memory.execute(VIEW))


async def talk_async(memory):
    messages = [{"role": "user", "content": "Remember that I like Python"}]
    async for message in AsyncAnthropic().beta.messages.tool_runner(messages=messages, tools=[memory], **PARAMS):
        show(message)
    print(await memory.execute(VIEW))
    print(await memory.clear_all_memory())
    print(await memory.execute(VIEW))


if __name__ == "__main__":
    options = json.loads(sys.argv[2])
    if sys.argv[1] == "async":
        asyncio.run(talk_async(AsyncMementoMemoryTool(transport(options))))
    else:
        talk(MementoMemoryTool(transport(options)))
