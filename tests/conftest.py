"""Fixtures that several directories of tests use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from morello.definitions import Definitions, load_definitions

settings.register_profile("long", max_examples=1000, deadline=None)

os.environ["MORELLO_MEMO"] = "off"  # tests that want one name it

PROJECT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def project() -> Path:
    """The checkout."""
    return PROJECT


@pytest.fixture(scope="session")
def definitions() -> Definitions:
    """Everything that the installed plugins define."""
    return load_definitions()
