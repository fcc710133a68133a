"""``python -m tooltoolexec_executor embedded``: the daemon as somebody's child, over a descriptor it inherits."""

from tooltoolexec_executor.cli import embedded

embedded()
