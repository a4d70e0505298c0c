"""Frames: their columns and types, also of nothing, and that pandas reads whole files."""
from __future__ import annotations

import io
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from chipboard_client import Client

pandas: Any = pytest.importorskip("pandas")


@pytest.mark.parametrize("file", ["history.csv", "levels.csv", "superseded.csv", "export.csv", "indices.csv"])
def test_a_file_is_what_pandas_reads(client: Client, raw: Any, file: str) -> None:
    frame = client.frame(file)
    plain = pandas.read_csv(io.StringIO(raw("/" + file)), dtype=str, keep_default_na=False)
    assert list(frame.columns) == list(plain.columns)
    assert len(frame) == len(plain)
    assert frame.attrs["publication"] == client.prices().about["publication"]
    for name in frame.columns:
        column, texts = frame[name], plain[name]
        if name == "session_utc":
            assert str(column.dtype).endswith("UTC]")
            assert [f"{each:%Y-%m-%dT%H}" for each in column] == [each[:13] for each in texts]
        elif name in ("date", "as_of"):
            assert column.dtype.kind == "M"
            assert [str(each.date()) for each in column] == list(texts)
        elif column.dtype.kind in "fi":
            assert [None if each == "" else float(each) for each in texts] == [None if each != each else each for each in column]
        elif column.dtype.kind == "O":
            assert ["" if each != each else each for each in column] == list(texts)


def test_another_file_is_refused_at_no_cost(client: Client) -> None:
    used = client.usage()["used"]
    with pytest.raises(ValueError, match="expected a CSV file such as history.csv, got 'history.parquet'"):
        client.frame("history.parquet")
    assert client.usage()["used"] == used


def test_a_part_of_a_file(client: Client, ids: list[str]) -> None:
    some = client.frame("history.csv", ids[:2], start="2026-11-01", last=3)
    rows = client.history(ids[:2], start="2026-11-01", last=3)
    assert set(some["contract_id"]) == set(ids[:2])
    assert list(some["close_usd"]) == [row["close_usd"] for row in rows]
    whole = rows.frame()
    assert list(whole.columns) == list(some.columns)
    assert list(whole["date"]) == list(some["date"])
    assert list(whole["session_utc"]) == list(some["session_utc"])


def test_a_frame_of_nothing_has_its_columns(client: Client, ids: list[str]) -> None:
    none = {"start": "2029-01-01"}
    for empty, full in (
        (client.history(ids[:1], **none).frame(), client.history(ids[:1], last=1).frame()),
        (client.levels(ids[:1], **none).frame(), client.levels(ids[:1], last=1).frame()),
        (client.frame("history.csv", ids[:1], **none), client.frame("history.csv", ids[:1])),
        (client.series("composite", **none).frame(), client.series("composite", last=1).frame()),
    ):
        assert (len(empty), list(empty.columns)) == (0, list(full.columns))
        for name in ("date", "session_utc"):
            if name in full:
                assert empty[name].dtype == full[name].dtype
    board = client.prices()
    known = type(board)([], board.about, board.columns).frame()
    assert set(known.columns) <= set(board.frame().columns)
    assert {"id", "spot_usd", "chg_24h_pct", "as_of"} <= set(known.columns)
    assert set(client.corrections(after=10**9).frame().columns) <= set(client.corrections().frame().columns)


def test_a_wide_table_has_the_rows_of_the_history(client: Client, ids: list[str]) -> None:
    rows, wide = client.history(ids[:3]), client.table(ids[:3])
    assert list(wide.columns) == list(dict.fromkeys(row["contract_id"] for row in rows))
    cells = {(f"{day:%Y-%m-%d}", id): usd for id in wide for day, usd in wide[id].dropna().items()}
    assert cells == {(row["date"], row["contract_id"]): row["close_usd"] for row in rows}
    assert list(client.table(ids[:3], start="2026-11-10", end="2026-11-12").index) == [
        day for day in wide.index if "2026-11-10" <= f"{day:%Y-%m-%d}" <= "2026-11-12"]


def test_a_filled_table_has_the_level_in_force_on_each_day(client: Client, ids: list[str]) -> None:
    start = date(2026, 10, 1)
    wide = client.table(ids[:3], start=start, filled=True)
    session = datetime.fromisoformat(client.prices().about["session_utc"].replace("Z", "+00:00"))
    assert [day.date() for day in wide.index] == [start + timedelta(each) for each in range((session.date() - start).days + 1)]
    for id in ids[:3]:
        terms, rows = client.contract(id), client.history([id])
        ended = terms["delisted_on"]
        for day in wide.index:
            noon = min(datetime(day.year, day.month, day.day, 12, tzinfo=timezone.utc), session)
            given = [row for row in rows if row["date"] <= f"{day:%Y-%m-%d}"]
            levels = [row for row in given[-1:]
                      if noon - datetime.fromisoformat(row["session_utc"].replace("Z", "+00:00")) <= timedelta(terms["max_carry_days"])
                      and (ended is None or f"{day:%Y-%m-%d}" < ended)]
            assert [cell for cell in [wide[id][day]] if cell == cell] == [row["close_usd"] for row in levels]
