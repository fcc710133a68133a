"""The parser's grammars, loaded without the package around them.

That would import what reads files, packs archives and draws random numbers: every forked worker would carry it along,
and copying its pages is most of what a fork costs.
"""

from __future__ import annotations

import importlib.util
from importlib.machinery import PathFinder
from types import ModuleType

import tree_sitter

_PACKAGE = "tree_sitter_typescript"


def _binding() -> ModuleType:
    package = importlib.util.find_spec(_PACKAGE)
    if package is None:
        raise ImportError("tree-sitter-typescript is not installed", name=_PACKAGE)
    spec = PathFinder.find_spec(f"{_PACKAGE}._binding", package.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise ImportError("tree-sitter-typescript lacks its binding", name=_PACKAGE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_LANGUAGES = _binding()
TYPESCRIPT = tree_sitter.Language(_LANGUAGES.language_typescript())
TSX = tree_sitter.Language(_LANGUAGES.language_tsx())
