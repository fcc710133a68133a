"""The pages say what the code says: texts, settings, files, links."""

from __future__ import annotations

import re
from importlib.metadata import entry_points
from pathlib import Path

import msgspec
import pytest

import tooltoolexec
from tooltoolexec.cli.commands import commands
from tooltoolexec_executor.config import Config
from tooltoolexec_executor.state import FIXED
from tooltoolexec_protocol import limits, texts
from tooltoolexec_protocol.errors import ExecutorError

from .pages import PAGES, ROOT

FAILURES = (ROOT / "docs" / "failures.md").read_text(encoding="utf-8")
SETTINGS = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
POOL = (ROOT / "docs" / "pool.md").read_text(encoding="utf-8")
TOOLS = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
TOUR = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
KINDS = (
    "program syntax declaration provider_source payload unserializable timeout cpu memory stalled overloaded shutdown "
    "crashed limit"
).split()
WHOLE_TEXTS = [texts.STALLED, texts.OVERLOADED, texts.SHUTDOWN, texts.CRASHED]
TEMPLATES = [
    texts.compose(texts.PAYLOAD, n="<n>", m="<m>"),
    texts.compose(texts.CALLS, n="<n>"),
    texts.compose(texts.PROVIDER_SOURCE, name="<name>", message="<message>"),
    texts.limit_over_maximum("<name>", "<n>", "<m>"),
    texts.timeout(7).replace("7000", "<n>"),
    texts.cpu(7).replace("7000", "<n>"),
    texts.memory(7).replace("7 ", "<n> "),
]


def test_the_failures_page_has_a_row_for_each_kind() -> None:
    assert re.findall(r"^\| `(\w+)` \| .* \| .* \| .* \|$", FAILURES, re.MULTILINE) == KINDS


@pytest.mark.parametrize("text", [*WHOLE_TEXTS, *TEMPLATES])
def test_the_failures_page_quotes_texts_to_the_letter(text: str) -> None:
    assert f"`{text}`" in FAILURES


def test_the_failures_page_names_every_exception_of_the_transport() -> None:
    for name in ("ExecutorError", *(kind.__name__ for kind in ExecutorError.__subclasses__())):
        assert f"`{name}`" in FAILURES


def test_the_tools_page_quotes_texts_to_the_letter() -> None:
    assert f"`{texts.compose(texts.TOOL_NOT_FOUND, tool='nope')}`" in TOOLS
    assert f"`{texts.COMPLETED}`" in TOOLS
    assert f"`{texts.tool_failed('find_user')}`" in TOOLS


def test_the_settings_page_has_every_setting_and_its_default() -> None:
    for field in msgspec.structs.fields(Config):
        if field.name in ("defaults", "maxima"):
            continue
        default = field.default if field.default_factory is msgspec.NODEFAULT else None
        shown = "" if default is None else "no" if default is False else str(default).removesuffix(".0")
        option, variable = field.name.replace("_", "-"), field.name.upper()
        option = "allow-user" if option == "allow-users" else option
        row = f"| `--{option}` | `TOOLTOOLEXEC_{variable}` | `{field.name}` | {shown}".rstrip()
        assert row in SETTINGS


def test_the_settings_page_marks_what_a_reload_leaves_alone() -> None:
    marked = set(re.findall(r"^\| `--[\w-]+` \| `\w+` \| `(\w+)` \|[^|]*\| \*", SETTINGS, re.MULTILINE))
    assert marked == set(FIXED)


def test_the_pool_page_has_every_limit_its_default_and_its_maximum() -> None:
    for name in limits.LIMIT_NAMES:
        row = f"| `{name}` | {getattr(limits.DEFAULTS, name):.0f} | {getattr(limits.MAXIMA, name):.0f} |"
        assert row in POOL


def test_the_tour_names_files_that_exist() -> None:
    for name in re.findall(r"`([\w/]+\.(?:py|js))`", TOUR):
        found = [
            path for wing in ("protocol", "client", "executor", "tests") for path in ROOT.glob(f"{wing}/**/{name}")
        ]
        assert found or (ROOT / name).exists(), name


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_readme_leads_to_every_page() -> None:
    linked = set(re.findall(r"\]\((docs/[\w-]+\.md)\)", (ROOT / "README.md").read_text(encoding="utf-8")))
    assert linked == {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}


def test_the_failures_page_has_exit_codes_for_every_command() -> None:
    found = re.search(r"^\| code \|(.*)$", FAILURES, re.MULTILINE)
    assert found
    added = {entry.name for entry in entry_points(group="tooltoolexec.commands")}
    assert set(re.findall(r"`(?:tooltoolexec )?(\w+)`", found[1])) == {*commands.commands, *added}


def test_names_that_the_pages_import_are_public() -> None:
    for page in PAGES:
        for names in re.findall(r"^from tooltoolexec import (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE):
            assert set(names.split(", ")) <= {*tooltoolexec.__all__, "sync"}


def test_the_changelog_speaks_of_this_version() -> None:
    assert f"## [{tooltoolexec.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
