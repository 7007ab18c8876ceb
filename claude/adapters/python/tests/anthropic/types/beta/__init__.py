"""Stand-ins for the SDK's models of commands: fields that are not set are not in to_dict."""


class _Command:
    def __init__(self, **fields):
        self.__dict__.update(fields)

    def to_dict(self):
        return dict(self.__dict__)


class BetaMemoryTool20250818ViewCommand(_Command): ...


class BetaMemoryTool20250818CreateCommand(_Command): ...


class BetaMemoryTool20250818InsertCommand(_Command): ...


def construct_command(fields):
    return _Command(**fields)
