"""Stand-ins for the SDK's abstract memory tools and its ToolError."""

from abc import ABC, abstractmethod

from ...types.beta import construct_command

COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")


class ToolError(Exception):
    def __init__(self, content):
        super().__init__(content)
        self.content = content


class _Tool(ABC):
    def __init__(self, *, cache_control=None):
        super().__init__()
        self._cache_control = cache_control

    def to_dict(self):
        declaration = {"type": "memory_20250818", "name": "memory"}
        if self._cache_control is not None:
            declaration["cache_control"] = self._cache_control
        return declaration

    @property
    def name(self):
        return self.to_dict()["name"]

    @abstractmethod
    def view(self, command): ...

    @abstractmethod
    def create(self, command): ...

    @abstractmethod
    def str_replace(self, command): ...

    @abstractmethod
    def insert(self, command): ...

    @abstractmethod
    def delete(self, command): ...

    @abstractmethod
    def rename(self, command): ...


class BetaAbstractMemoryTool(_Tool):
    def call(self, input):
        return self.execute(construct_command(input))

    def execute(self, command):
        if command.command not in COMMANDS:
            raise NotImplementedError(f"Unknown command: {command.command}")
        return getattr(self, command.command)(command)

    def clear_all_memory(self):
        raise NotImplementedError("clear_all_memory not implemented")


class BetaAsyncAbstractMemoryTool(_Tool):
    async def call(self, input):
        return await self.execute(construct_command(input))

    async def execute(self, command):
        if command.command not in COMMANDS:
            raise NotImplementedError(f"Unknown command: {command.command}")
        return await getattr(self, command.command)(command)

    async def clear_all_memory(self):
        raise NotImplementedError("clear_all_memory not implemented")
