"""One setting for all properties here: how long an example takes depends on the machine, so none is held to a time."""

from hypothesis import settings

settings.register_profile("suite", deadline=None)
settings.load_profile("suite")
