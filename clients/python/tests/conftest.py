"""The tests need a running service and a key of the tier pro, in CHIPBOARD_URL and CHIPBOARD_KEY."""
from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Callable
from urllib.request import Request, urlopen

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from chipboard_client import Client  # noqa: E402

Raw = Callable[[str], Any]


def setting(name: str) -> str:
    value = os.environ.get(name)
    if not value:
        pytest.exit(f"{name} is not set: the tests need a running service, see README.md", 2)
    return value


@pytest.fixture(scope="session")
def client() -> Client:
    return Client(setting("CHIPBOARD_URL"), setting("CHIPBOARD_KEY"))


@pytest.fixture(scope="session")
def raw() -> Raw:
    """The JSON, or the text, that the service answers to a path below its API."""

    def get(path: str) -> Any:
        url = setting("CHIPBOARD_URL") + "/api/public/v1" + path
        with urlopen(Request(url, headers={"x-api-key": setting("CHIPBOARD_KEY")})) as answer:
            body = answer.read().decode()
        return json.loads(body) if body.startswith("{") else body

    return get


@pytest.fixture(scope="session")
def ids(raw: Raw) -> list[str]:
    """Contracts that have a level a year ago, so that they can be weighted."""
    return [each["id"] for each in raw("/index")["contributions"]]
