"""How many examples the property tests of the search try.

``--hypothesis-profile=long`` tries many more, and other ones each time; without it they are the
same every time, so that the tests are as fast and as certain as all others.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

DEFAULT = 100


def examples(count: int) -> settings:
    """This many examples, or a multiple of that in the long profile."""
    profile = settings()
    scale = max(1, profile.max_examples // DEFAULT)
    return settings(
        max_examples=count * scale,
        deadline=None,
        derandomize=scale == 1,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
