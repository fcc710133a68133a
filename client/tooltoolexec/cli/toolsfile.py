"""A Python file as providers: its list `PROVIDERS` where it has one, otherwise its public functions as one provider."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from tooltoolexec.cli.problems import Problem
from tooltoolexec.provider import Provider

DEFAULT_NAME = "tools"
_MODULE = "tooltoolexec_tools_file"


def load_providers(path: Path, name: str | None) -> list[Provider]:
    """Run the file and collect what it offers.

    Args:
        path: the file.
        name: what the provider made of its functions is called; `None` for `tools`.

    Raises:
        Problem: it cannot be read or run, or offers nothing.
    """
    module = _run(path)
    declared = getattr(module, "PROVIDERS", None)
    if declared is None:
        functions = _public_functions(module)
        if not functions:
            raise Problem(f"{path} has no tools: define functions in it, or a list PROVIDERS.")
        return [Provider(name or DEFAULT_NAME, functions)]
    if name is not None:
        raise Problem(f"{path} has a list PROVIDERS, which names its providers: leave --provider out.")
    if not isinstance(declared, list | tuple) or not all(isinstance(item, Provider) for item in declared):
        raise Problem(f"{path}: PROVIDERS is not a list of tooltoolexec.Provider. Write PROVIDERS = [Provider(...)].")
    return list(declared)


def _public_functions(module: ModuleType) -> list[Callable[..., Any]]:
    return [
        value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__ == module.__name__ and not name.startswith("_")
    ]


def _run(path: Path) -> ModuleType:
    module = ModuleType(_MODULE)
    module.__file__ = str(path)
    # The file may import what lies beside it. Last in the path, lest a neighbour's name hides a library's.
    sys.path.append(str(path.resolve().parent))
    # Dataclasses look their module up.
    sys.modules[_MODULE] = module
    try:
        exec(compile(path.read_bytes(), str(path), "exec"), vars(module))  # noqa: S102 - the user's own file
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Problem(_what_went_wrong(path, error)) from None
    return module


def _what_went_wrong(path: Path, error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    if isinstance(error, SyntaxError):
        return f"Correct {error.filename or path}, line {error.lineno or 1}: {error.msg}."
    if frames:
        return f"Correct {path}, line {frames[-1].lineno}: it raised {type(error).__name__}: {error}"
    if isinstance(error, OSError):
        return f"Cannot read {path}: {error.strerror}. Name a Python file."
    return f"Correct {path}: {error}."
