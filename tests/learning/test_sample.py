"""A few groups of a real corpus: their programs are made again, and described as they were.

Where rules, kernels or costs have changed, 'morello learn check tests/learning/sample --update'
makes them anew; what was measured of C that is another one now goes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from morello.definitions import Definitions
from morello.learning.corpus import Group, groups_in, kept
from morello.learning.merging import replayed
from morello.ranking.description import Describer

SAMPLE = Path(__file__).parent / "sample"


@pytest.mark.parametrize("group", list(groups_in(SAMPLE)), ids=str)
def test_what_was_measured_is_made_again(group: Group, definitions: Definitions) -> None:
    describer = Describer()
    for one in replayed(definitions, group):
        assert one.plan is not None
        found = kept(describer.of(one.plan))
        assert found.graph.parts == one.program.graph.parts
        assert found.features.keys() == one.program.features.keys()
