"""Settings that all tests share."""

from hypothesis import settings

settings.register_profile("giantstep", deadline=None)  # a busy machine is no reason to fail
settings.load_profile("giantstep")
