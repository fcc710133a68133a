"""One setting for all properties here: how long an example takes depends on the machine's load, so nothing is held to it."""

from hypothesis import settings

settings.register_profile("suite", deadline=None)
settings.load_profile("suite")
