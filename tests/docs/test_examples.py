"""What the README and the pages show works as shown."""

from __future__ import annotations

import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from serving import ServedDaemon
from tooltoolexec import Provider, execute
from tooltoolexec_executor import settings

from .pages import PAGES, ROOT, Block, blocks

ADDRESS = "unix:/run/tooltoolexec.sock"
SCRIPT = ROOT / "docs" / "examples" / "orders.py"
PREFIX = "python3 -m venv .venv && .venv/bin/pip install -q -e '.[dev]' && "


def ids(block: Block) -> str:
    return block.id


@pytest.fixture(scope="module")
def tools() -> Iterator[Mapping[str, Any]]:
    names = runpy.run_path(str(SCRIPT))
    yield names
    names["_folder"].cleanup()


@pytest.mark.parametrize("block", blocks("python"), ids=ids)
def test_python_runs(block: Block, served: ServedDaemon) -> None:
    text = "\n" * (block.line - 1) + block.text.replace(ADDRESS, served.unix)
    exec(compile(text, str(block.page), "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("block", blocks("js"), ids=ids)
def test_javascript_runs(block: Block, tools: Mapping[str, Any]) -> None:
    functions = [tools[name] for name in ("list_customers", "list_orders", "prices")]
    assert execute(block.text, [Provider("store", functions)]).failure is None


@pytest.mark.parametrize("block", blocks("toml"), ids=ids)
def test_settings_are_settings(block: Block) -> None:
    settings.check_each(tomllib.loads(block.text))


def test_every_page_for_callers_shows_something_that_runs() -> None:
    shown = {block.page for block in blocks("python")}
    assert {page.name for page in PAGES if page not in shown} == {"architecture.md", "observing.md", "operations.md"}


def test_the_readme_begins_with_two_commands_that_set_up_and_run() -> None:
    first, second = (block.text.strip() for block in blocks("sh"))
    assert first == PREFIX + ".venv/bin/python docs/examples/orders.py"
    assert second == PREFIX + ".venv/bin/pytest"


def test_the_first_command_prints_a_table_of_real_sums() -> None:
    shown = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, timeout=30, check=False)
    assert (shown.returncode, shown.stderr) == (0, "")
    lines = shown.stdout.splitlines()
    rows = [line.split() for line in lines if line.startswith(("North", "East", "South", "West"))]
    assert len(rows) == 4
    assert sum(int(row[1]) for row in rows) == 40
    assert [float(row[3]) for row in rows] == sorted((float(row[3]) for row in rows), reverse=True)
    assert lines[-1].startswith("45 tool calls")


def test_the_example_program_finds_what_sql_finds(tools: Mapping[str, Any]) -> None:
    functions = [tools[name] for name in ("list_customers", "list_orders", "prices")]
    run = execute((SCRIPT.parent / "top_regions.js").read_text(), [Provider("store", functions)])
    rows = tools["_query"](
        "SELECT region, SUM(status = 'paid') AS paid, SUM(quantity * price * (status = 'paid')) AS revenue FROM orders "
        "JOIN customers ON customer = customers.id JOIN products ON product = products.name GROUP BY region"
    )
    expected = {row["region"]: (row["paid"], pytest.approx(row["revenue"])) for row in rows}
    assert {row["region"]: (row["paid"], row["revenue"]) for row in run.result} == expected
