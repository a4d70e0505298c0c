"""Ways to call the client, with what each gives: the answer of an address, or an error before any request."""
from __future__ import annotations

import csv
import io
import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any, Callable

import pytest

from chipboard_client import FIELD_KINDS, Client, Refused

numpy: Any = pytest.importorskip("numpy")
pandas: Any = pytest.importorskip("pandas")

EAST = timezone(timedelta(hours=9))
NOON = datetime(2026, 11, 20, 12, tzinfo=timezone.utc)

Call = Callable[[Client, str, str], Any]

# A name, the call with two ids, and the address whose answer it gives.
CALLS: list[tuple[str, Call, str]] = [
    ("the whole board", lambda c, a, b: c.prices(), "/prices"),
    ("a list of ids", lambda c, a, b: c.prices([a, b]), "/prices?ids={a},{b}"),
    ("one id", lambda c, a, b: c.prices(a), "/prices?ids={a}"),
    ("ids in a text", lambda c, a, b: c.prices(f"{a},{b}"), "/prices?ids={a},{b}"),
    ("a tuple", lambda c, a, b: c.prices((a, b)), "/prices?ids={a},{b}"),
    ("a set", lambda c, a, b: c.prices({a}), "/prices?ids={a}"),
    ("keys of a dict", lambda c, a, b: c.prices({a: 1, b: 2}.keys()), "/prices?ids={a},{b}"),
    ("a generator", lambda c, a, b: c.prices(id for id in (a, b)), "/prices?ids={a},{b}"),
    ("a Series of ids", lambda c, a, b: c.prices(pandas.Series([a, b])), "/prices?ids={a},{b}"),
    ("an Index", lambda c, a, b: c.prices(pandas.Index([a, b])), "/prices?ids={a},{b}"),
    ("an array of ids", lambda c, a, b: c.prices(numpy.array([a, b])), "/prices?ids={a},{b}"),
    ("an id twice", lambda c, a, b: c.prices([a, b, a]), "/prices?ids={a},{b}"),
    ("a segment", lambda c, a, b: c.prices(segment="dram"), "/prices?segment=dram"),
    ("segments", lambda c, a, b: c.prices(segment=["dram"]), "/prices?segment=dram"),
    ("then: a text", lambda c, a, b: c.as_of("2026-11-20").prices(), "/prices?as_of=2026-11-20"),
    ("then: a date", lambda c, a, b: c.as_of(date(2026, 11, 20)).prices(), "/prices?as_of=2026-11-20"),
    ("then: an instant", lambda c, a, b: c.as_of(NOON).prices(), "/prices?as_of=2026-11-20T12:00:00Z"),
    ("then: in another zone", lambda c, a, b: c.as_of(NOON.astimezone(EAST)).prices(), "/prices?as_of=2026-11-20T12:00:00Z"),
    ("then: without a zone", lambda c, a, b: c.as_of(datetime(2026, 11, 20, 12)).prices(), "/prices?as_of=2026-11-20T12:00:00Z"),
    ("then: a Timestamp", lambda c, a, b: c.as_of(pandas.Timestamp(NOON)).prices(), "/prices?as_of=2026-11-20T12:00:00Z"),
    ("then: a day of numpy", lambda c, a, b: c.as_of(numpy.datetime64("2026-11-20")).prices(), "/prices?as_of=2026-11-20"),
    ("then: an instant of numpy", lambda c, a, b: c.as_of(numpy.datetime64("2026-11-20T12:00", "ns")).prices(),
     "/prices?as_of=2026-11-20T12:00:00Z"),
    ("then: an entry", lambda c, a, b: c.as_of(5).prices(), "/prices?publication=5"),
    ("then: a session", lambda c, a, b: c.session("2026-11-20T12Z").prices(), "/prices?session=2026-11-20T12Z"),
    ("every contract", lambda c, a, b: c.contracts(), "/contracts"),
    ("corrections since a date", lambda c, a, b: c.corrections(since=date(2026, 11, 1)), "/corrections?since=2026-11-01"),
    ("then: an entry of numpy", lambda c, a, b: c.as_of(numpy.int64(5)).prices(), "/prices?publication=5"),
    ("one contract", lambda c, a, b: c.contract(a), "/prices/{a}"),
    ("its last days", lambda c, a, b: c.contract(a, last=2), "/prices/{a}?last=2"),
    ("its last days, of numpy", lambda c, a, b: c.contract(a, last=numpy.int64(2)), "/prices/{a}?last=2"),
    ("its days from a date on", lambda c, a, b: c.contract(a, start=date(2026, 11, 18)), "/prices/{a}?from=2026-11-18"),
    ("closes of all", lambda c, a, b: c.history(), "/history.csv"),
    ("closes from a datetime on", lambda c, a, b: c.history([a], start=datetime(2026, 11, 18, 9)), "/history.csv?ids={a}&from=2026-11-18"),
    ("closes from an instant on", lambda c, a, b: c.history(a, start=datetime(2026, 11, 19, 3, tzinfo=EAST)),
     "/history.csv?ids={a}&from=2026-11-18"),
    ("closes from a Timestamp on", lambda c, a, b: c.history(start=pandas.Timestamp("2026-11-18")), "/history.csv?from=2026-11-18"),
    ("closes from a day of numpy on", lambda c, a, b: c.history(start=numpy.datetime64("2026-11-18")), "/history.csv?from=2026-11-18"),
    ("closes up to a text", lambda c, a, b: c.history(end="2026-11-19"), "/history.csv?to=2026-11-19"),
    ("closes that there are not", lambda c, a, b: c.history(a, start="2029-01-01"), ""),
    ("the last close of each", lambda c, a, b: c.history(last=1), "/history.csv?last=1"),
    ("levels", lambda c, a, b: c.levels([a], last=2), "/levels.csv?ids={a}&last=2"),
    ("what no longer stands", lambda c, a, b: c.superseded(), "/superseded.csv"),
    ("closes of indices", lambda c, a, b: c.series(last=2), "/indices.csv?last=2"),
    ("closes of one index", lambda c, a, b: c.series("composite"), "/indices.csv?ids=composite"),
    ("the composite", lambda c, a, b: c.index(), "/index"),
    ("an index", lambda c, a, b: c.index("composite", last=3), "/indices/composite?last=3"),
    ("quantities: int", lambda c, a, b: c.basket({a: 64, b: 2}), "/index?ids={a},{b}&quantities=64,2"),
    ("quantities: float", lambda c, a, b: c.basket({a: 0.1 + 0.2}), "/index?ids={a}&quantities=0.3"),
    ("quantities: a small float", lambda c, a, b: c.basket({a: 1e-7}), "/index?ids={a}&quantities=0.0000001"),
    ("quantities: Decimal", lambda c, a, b: c.basket({a: Decimal("1.50")}), "/index?ids={a}&quantities=1.5"),
    ("quantities: Fraction", lambda c, a, b: c.basket({a: Fraction(1, 3)}), "/index?ids={a}&quantities=0.333333333"),
    ("quantities: numpy.float64", lambda c, a, b: c.basket({a: numpy.float64(64)}), "/index?ids={a}&quantities=64"),
    ("quantities: numpy.float32", lambda c, a, b: c.basket({a: numpy.float32(0.1)}), "/index?ids={a}&quantities=0.1"),
    ("quantities: numpy.int32", lambda c, a, b: c.basket({a: numpy.int32(7)}), "/index?ids={a}&quantities=7"),
    ("quantities: a Series", lambda c, a, b: c.basket(pandas.Series({a: 1.5, b: 2.0})), "/index?ids={a},{b}&quantities=1.5,2"),
    ("the largest quantity", lambda c, a, b: c.basket({a: Decimal("999999999.999999999")}), "/index?ids={a}&quantities=999999999.999999999"),
    ("weights", lambda c, a, b: c.basket({a: 1 / 7, b: 1}, by="weights"), "/index?ids={a},{b}&weights=0.142857143,1"),
    ("corrections", lambda c, a, b: c.corrections(after=2), "/corrections?after=2"),
    ("publications", lambda c, a, b: c.publications(2), "/publications?after=2"),
]


def told(answer: Any) -> Any:
    """An answer of the service as the client gives it."""
    if isinstance(answer, str):
        return [
            {name: None if cell == "" else float(cell) if FIELD_KINDS[name] == "number" else int(cell) if FIELD_KINDS[name] == "integer" else cell
             for name, cell in row.items()}
            for row in csv.DictReader(io.StringIO(answer, newline=""))
        ]
    if "segments" in answer:
        return answer["contracts"]
    if "memory" in answer:
        return answer["memory"] + answer["semiconductor"]
    return answer.get("corrections", answer.get("publications", answer)) if "spot_usd" not in answer else answer


@pytest.mark.parametrize(("name", "call", "path"), CALLS, ids=[name for name, _, _ in CALLS])
def test_gives_the_answer_of_the_address(client: Client, raw: Any, ids: list[str], name: str, call: Call, path: str) -> None:
    a, b = ids[:2]
    expected = told(raw(path.format(a=a, b=b))) if path else []
    assert json.loads(json.dumps(call(client, a, b))) == expected
    assert expected or not path or name in ("what no longer stands", "corrections", "corrections since a date")


# A name, the call, and what the ValueError says.
WRONG: list[tuple[str, Call, str]] = [
    ("no ids", lambda c, a, b: c.prices([]), "ids: expected at least one; leave it out for all"),
    ("no segment", lambda c, a, b: c.history(segment=()), "segment: expected at least one"),
    ("no date", lambda c, a, b: c.history(start="yesterday"), "start: expected a date such as 2026-11-20, got 'yesterday'"),
    ("a date that there is not", lambda c, a, b: c.history(end="2026-02-30"), "end: expected a date"),
    ("NaT", lambda c, a, b: c.history(start=pandas.NaT), "start: expected a date such as 2026-11-20, got NaT"),
    ("numpy's NaT", lambda c, a, b: c.as_of(numpy.datetime64("NaT")), "as_of: expected a date, an instant or the number"),
    ("not a number", lambda c, a, b: c.basket({a: float("nan")}), "quantities of {a}: expected a number above 0"),
    ("infinite", lambda c, a, b: c.basket({a: float("inf")}), "quantities of {a}: expected a number above 0"),
    ("none", lambda c, a, b: c.basket({a: 0}), "quantities of {a}: expected a number above 0"),
    ("negative", lambda c, a, b: c.basket({a: Decimal(-1)}, by="weights"), "weights of {a}: expected a number above 0"),
    ("too small", lambda c, a, b: c.basket({a: 4e-10}), "does not round to 0 at 9 decimals, got 4e-10"),
    ("too large", lambda c, a, b: c.basket({a: 10**9}), "at most 9 digits before the point"),
    ("too large when rounded", lambda c, a, b: c.basket({a: Decimal("999999999.9999999999")}), "at most 9 digits before the point"),
    ("far too large", lambda c, a, b: c.basket({a: Decimal("1e99999")}), "at most 9 digits before the point"),
    ("a text", lambda c, a, b: c.basket({a: "64"}), "quantities of {a}: expected a number, got '64'"),
    ("a truth value", lambda c, a, b: c.basket({a: True}), "quantities of {a}: expected a number, got True"),
    ("a truth value of numpy", lambda c, a, b: c.basket({a: numpy.bool_(True)}), "quantities of {a}: expected a number"),
    ("complex", lambda c, a, b: c.basket({a: 1j}), "quantities of {a}: expected a number, got 1j"),
    ("an array", lambda c, a, b: c.basket({a: numpy.array([1, 2])}), "quantities of {a}: expected a number"),
    ("no part", lambda c, a, b: c.basket({}), "parts: expected 1 to 100 contracts, got 0"),
    ("101 parts", lambda c, a, b: c.basket({str(at): 1 for at in range(101)}), "parts: expected 1 to 100 contracts, got 101"),
    ("a text as the number of an entry", lambda c, a, b: c.levels(a, known_at="4"), "known_at: expected the number of an entry, got '4'"),
    ("seconds before now", lambda c, a, b: c.watch(every_seconds=-1), "every_seconds: expected a number of seconds, got -1"),
    ("no number of seconds", lambda c, a, b: c.watch(every_seconds=float("nan")), "every_seconds: expected a number of seconds"),
    ("a list as a period", lambda c, a, b: c.watch([{"id": a, "change_pct": 5, "over": ["24h"]}]),
     'rule 1: expected "over": one of 24h, 7d, 30d with change_pct, got [\'24h\']'),
    ("rules in a member of an object", lambda c, a, b: c.watch({"rules": [{"id": a, "above": 5}]}),
     "rule of rules: expected none of id, contract, index, segment, basket, because rules is the id already"),
    ("by what", lambda c, a, b: c.basket({a: 1}, by="value"), "by: expected quantities or weights, got 'value'"),
]


@pytest.mark.parametrize(("name", "call", "message"), WRONG, ids=[name for name, _, _ in WRONG])
def test_is_refused_before_any_request(client: Client, ids: list[str], name: str, call: Call, message: str) -> None:
    used = client.usage()["used"]
    with pytest.raises(ValueError) as refused:
        call(client, *ids[:2])
    assert message.format(a=ids[0]) in str(refused.value)
    assert client.usage()["used"] == used


def test_a_rule_may_name_an_index_by_its_segment(client: Client) -> None:
    board = client.prices()
    dated = {row["index_id"] for row in client.series(last=1)}
    name = next(each["segment"] for each in board if each["segment"].lower() in dated)
    [event] = client.watch([{"index": name.upper(), "above": 0}], once=True)
    assert (event["event"], event["id"], event["kind"]) == ("above", name.upper(), "index")


def test_tells_what_the_service_refused(client: Client, ids: list[str]) -> None:
    with pytest.raises(Refused) as refused:
        client.contract(ids[0] + "x")
    assert (refused.value.status, refused.value.code, refused.value.errors) == (404, "unknown_contract", None)
    assert ids[0] in (refused.value.did_you_mean or [])
    with pytest.raises(Refused) as refused:
        client.prices([ids[1], ids[0] + "x"])
    assert (refused.value.status, refused.value.code) == (400, "unknown_contract")
    assert [each["parameter"] for each in refused.value.errors or []] == ["ids"]
    assert ids[0] in (refused.value.did_you_mean or [])
    with pytest.raises(Refused) as refused:
        Client(client._transport.origin).history()  # pyright: ignore[reportPrivateUsage]
    assert (refused.value.code, refused.value.retry_after) == ("key_required", None)
    assert str(refused.value.plans).endswith("/plans")
