"""With which command line and environment a zygote is started.

Its initial environment is what a worker's /proc entry shows and what code in a worker finds in memory, so it is
empty; whatever Python needs to find its modules is an argument.
"""

from __future__ import annotations

import os
import sys

from tooltoolexec_executor.config import Config
from tooltoolexec_executor.zygote import JITLESS, REQUIRE_SANDBOX

_BOOTSTRAP = (
    "import sys\n"
    "paths = sys.argv.index('--')\n"
    "sys.path[:] = sys.argv[paths + 1:]\n"
    "del sys.argv[paths:]\n"
    "from tooltoolexec_executor.zygote import main\n"
    "main()"
)
_LINKER = "LD_LIBRARY_PATH"
"""Where the dynamic linker finds Python's own libraries, if it is set; the zygote wipes it out."""

_options: list[str] = []


def configure(config: Config) -> None:
    """What the settings mean for every zygote that this process starts."""
    _options[:] = [REQUIRE_SANDBOX] * config.require_sandbox + [JITLESS] * config.jitless


def command(control: int) -> list[str]:
    """The command line of a zygote whose control socket is the descriptor `control`."""
    paths = [os.path.abspath(path) for path in sys.path]  # noqa: PTH100 - the empty path is the current folder
    # Isolated: no user's packages, no startup file, nothing from the environment.
    return [sys.executable, "-I", "-X", "utf8", "-c", _BOOTSTRAP, str(control), *_options, "--", *paths]


def environment() -> dict[str, str]:
    """Its whole environment."""
    return {_LINKER: os.environ[_LINKER]} if _LINKER in os.environ else {}
