"""Prices of memory and semiconductor contracts: a client of the service. Python 3.9 or newer, pandas if you want frames.

    from chipboard_client import Client           # from client import Client, if you downloaded /client.py
    client = Client("https://prices.example", key="cbk_...")  # without a key: the free slice

    client.prices(segment="dram").frame()         # records of the board, as a pandas.DataFrame
    client.contract("ID", last=1)                 # one of them, with its breaks, corrections and limits
    client.history(["ID"], start="2026-01-01")    # daily closes: a list of dicts
    client.frame("history.csv")                   # a whole file as a pandas.DataFrame, read by pandas itself
    client.table(["ID"], filled=True)             # a column for each contract, the level in force on each day
    client.levels(["ID"], last=10)                # both sessions of a day
    client.levels(["ID"], known_at=42)            # as entry 42 of the log had them, for a back-test
    client.settlements(["ID"], start="2026-10")   # settled months: as settled, and as known now
    client.evidence("ID", "2026-10", "ID.zip")    # one of them with its proof, for somebody without the service
    client.index()                                # the composite; index("dram", last=30): one with its series
    client.basket({"ID": 64})["cost_usd"]         # by quantities; basket(..., by="weights")
    client.contracts()                            # all contracts there are, without levels; needs no key
    client.resolve(["FORMER-ID"])                 # {"FORMER-ID": "ID"}: present ids for a list of your own
    client.as_of("2026-11-20").prices()           # as it was published then; as_of(42): by entry 42 of the log
    client.session("2026-11-20T12Z").prices()     # as last published for a session
    client.sync("history.sqlite")                 # a copy of /history.csv that stays in step
    for event in client.watch([{"id": "ID", "above": 5}], state="alerts.json"):
        print(event["text"])                      # each event at least once, also over restarts

The /client.py of a service knows its address, so there `Client(key="cbk_...")` is enough. Commands do the same as
`watch` and `evidence`: `python -m chipboard_client watch rules.json --once`.

The answer to each request for data is proven by its `unencoded-digest`. What did not change costs no call: the
client keeps small answers, and asks with their ETag. A Client may be used by several threads at once, so also by
`asyncio.to_thread`.
"""
from __future__ import annotations

import argparse
import base64
import csv
import difflib
import hashlib
import http.client
import importlib
import io
import ipaddress
import itertools
import json
import logging
import numbers
import operator
import os
import platform
import re
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import zipfile
import zlib
from collections import OrderedDict
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from email.message import Message
from email.utils import parsedate_to_datetime
from fractions import Fraction
from typing import (TYPE_CHECKING, Any, BinaryIO, Callable, Dict, Generator, Iterable, Iterator, List, Mapping, Optional, Sequence,
                    SupportsFloat, SupportsIndex, TypedDict, TypeVar, Union, cast, overload)
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urljoin, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

if TYPE_CHECKING:
    from typing_extensions import NotRequired

__version__ = "0.4.0"
ORIGIN = "{{origin}}"
API = "/api/public/v1"
HISTORY = "/history.csv"
SETTLEMENTS = "/settlements.csv"
FREE = ("/publications", "/contracts", "/usage")
SESSION = timedelta(hours=12)
RECHECK_SECONDS = 600.0  # after so long it asks again, whatever the service asked to wait: an account may be upgraded
REDIRECTS_MAX, IDS_MAX, LAST_MAX, COLUMNS_MAX = 3, 100, 2_000, 100
KEPT_MAX, KEPT_BYTES_MAX, PROBLEM_BYTES_MAX, PIECE_BYTES = 32, 1 << 20, 1 << 16, 1 << 16
DECIMALS, PAUSE_SECONDS, PAUSE_SECONDS_MAX = 9, 0.5, 8.0
ENTRIES_MAX = 100_000  # of a log: 130 years of two sessions a day
EVIDENCE_ENTRIES = 1_000  # that are read to find a signed one
ENTRY_BYTES_MAX = 60_000  # of the log
ELEMENTS_MAX = 2_000_000  # of JSON, each of which takes up to a hundred bytes
NO_PROBLEM = "unknown"
TEXT_MAX = 1_000  # of an event, so that a command takes it
FIGURES = ("average", "last", "high", "low")
WINDOWS = {"24h": 1, "7d": 7, "30d": 30}  # days
BASKET_WINDOWS = {"24h": "cost_24h_usd", "30d": "cost_30d_usd"}
KINDS, CONDITIONS = ("id", "contract", "index", "segment", "basket"), ("above", "below", "change_pct")
STATE_FORMAT = "chipboard alerts 1"
# The proof without chipboard: src/site/evidence.js compares it.
VERIFY = r"""#!/bin/sh
# Proves figure.txt: all of it stands in the settlement file, which stands in SHA256SUMS, which the first entry of the log
# names; each entry names the one before, and a key of keys.pem signed the last. Compare the fingerprint that this prints.
set -eu; cd "$(dirname "$0")"; work=$(mktemp -d); trap 'test $? = 0 || echo "NOT PROVEN"; rm -r "$work"' EXIT
sum() { { sha256sum "$1" 2>/dev/null || shasum -a 256 "$1"; } | cut -c 1-64; }
of() { sed -n "s/^$1: //p" figure.txt; }; place="$(of kind) $(of id) in $(of month)"; unit=$(of unit | sed 's/^none$/points/')
said="The settled average of $place is $(of average) $unit."; test "$(of average)" != none || said="There is no settled average of $place."
json='s/[\\"]/\\&/g;s/^\([a-z_]*\): \(.*\)$/"\1":"\2"/;s/:"none"$/:null/;s/:"\([0-9.]*\)"$/:\1/'
figure=$(sed -n '3,$p' figure.txt | sed "$json" | paste -sd, -); file=$(ls settlements/*/*.json); set -- log/*.json
month=$(grep -F "{\"month\":\"$(of month)\"," "$file" | sed 's/^{//;s/},*$//'); by="\"attribution\":${figure##*,\"attribution\":}"
whose="\"kind\":\"$(of kind)\",\"id\":\"$(of id)\""; grep -qF "$by,$whose,\"settlements\":" "$file"; test "$(sed 2q figure.txt)" = "$said"
test "$figure" = "$whose,$month,\"publication\":$(of publication),$by"; test "$1" = "$(printf 'log/%010d.json' "$(of publication)")"
grep -qxF "$(sum "$file")  $file" SHA256SUMS; name=pro; link=$(sum SHA256SUMS)
for entry; do grep -qF "\"$name\":\"$link\"" "$entry"; name=previous; link=$(sum "$entry"); last=$entry; done
grep -q '"signature":' "$last" || { echo "The links hold. The log is not signed."; exit; }
awk -v to="$work/key" '/BEGIN/ { n++ } { print > (to n) }' keys.pem; echo "chipboard log v2" > "$work/message"
sed 's/.*,"signature":"\([^"]*\)"}$/\1/' "$last" | openssl base64 -d -A > "$work/signed"; sign='s/,"signature":"[^"]*"}$/}/'
sed "$sign" "$last" | openssl dgst -sha256 -binary >> "$work/message"; try="openssl pkeyutl -verify -pubin -rawin"
for key in "$work"/key*; do $try -in "$work/message" -sigfile "$work/signed" -inkey "$key" && openssl pkey -pubin -in "$key" -outform DER | openssl dgst -sha256 && exit; done; exit 1
"""
WITHOUT_PERMISSION = "The publisher gave no permission to show this outside: that needs a separate enterprise licence."
LOG = logging.getLogger("chipboard_client")
USER_AGENT = f"chipboard-client/{__version__} Python/{platform.python_version()}"

# Also numpy's scalars and integers, which have __float__.
Number = Union[int, float, Decimal, Fraction, SupportsFloat]
# Also pandas' Timestamp, which is a datetime, and numpy's datetime64.
Day = Union[str, date, Any]


# Made from the service's schemas by `npm run regenerate`.
ContractBreak = TypedDict("ContractBreak", {
    "session_utc": "str",
    "reason": "str",
})
ContractReferences = TypedDict("ContractReferences", {
    "range": "str",
    "session_utc": "Optional[str]",
    "usd": "Optional[float]",
    "change_pct": "Optional[float]",
})
ContractHistory = TypedDict("ContractHistory", {
    "date": "str",
    "close_usd": "float",
    "session_utc": "NotRequired[str]",
})
ContractBreaks = TypedDict("ContractBreaks", {
    "session_utc": "str",
    "reason": "str",
    "unit": "NotRequired[str]",
    "capacity_gb": "NotRequired[Optional[float]]",
})
ContractCorrections = TypedDict("ContractCorrections", {
    "session_utc": "str",
    "old_usd": "Optional[float]",
    "new_usd": "Optional[float]",
    "reason": "str",
    "corrected_in": "str",
    "publication": "NotRequired[Optional[int]]",
})
Contract = TypedDict("Contract", {
    "session_utc": "str",
    "delayed_sessions": "int",
    "license": "str",
    "attribution": "str",
    "id": "str",
    "ticker": "str",
    "name": "str",
    "segment": "str",
    "unit": "str",
    "spot_usd": "float",
    "chg_24h_pct": "Optional[float]",
    "chg_30d_pct": "Optional[float]",
    "chg_yoy_pct": "Optional[float]",
    "ai_exposure_pct": "float",
    "basis": "str",
    "as_of": "str",
    "source": "str",
    "source_url": "str",
    "capacity_gb": "Optional[float]",
    "usd_per_gb": "Optional[float]",
    "chg_7d_pct": "Optional[float]",
    "chg_60d_pct": "Optional[float]",
    "chg_90d_pct": "Optional[float]",
    "chg_180d_pct": "Optional[float]",
    "low_52w_usd": "Optional[float]",
    "high_52w_usd": "Optional[float]",
    "prev_as_of": "Optional[str]",
    "age_days": "float",
    "price_type": "Optional[str]",
    "low_usd": "Optional[float]",
    "high_usd": "Optional[float]",
    "inputs": "Optional[int]",
    "break": "Optional[ContractBreak]",
    "references": "NotRequired[List[ContractReferences]]",
    "history_from": "NotRequired[Optional[str]]",
    "history": "List[ContractHistory]",
    "breaks": "List[ContractBreaks]",
    "rationale": "Optional[str]",
    "max_carry_days": "int",
    "delisted_on": "Optional[str]",
    "corrections": "List[ContractCorrections]",
})
Publication = TypedDict("Publication", {
    "number": "int",
    "at": "str",
    "action": "str",
    "snapshot": "Optional[str]",
    "session_utc": "Optional[str]",
    "revision": "Optional[int]",
    "reason": "Optional[str]",
    "corrections": "Optional[int]",
})
Usage = TypedDict("Usage", {
    "account": "Optional[str]",
    "tier": "str",
    "limit": "Optional[int]",
    "used": "int",
    "remaining": "Optional[int]",
    "resets_at": "str",
    "trial_ends_at": "Optional[str]",
    "key_expires_at": "Optional[str]",
})
RollingIndexAsked = TypedDict("RollingIndexAsked", {
    "asked": "str",
    "id": "str",
})
RollingIndexBase = TypedDict("RollingIndexBase", {
    "date": "str",
    "session_utc": "str",
    "level": "float",
})
RollingIndexContributions = TypedDict("RollingIndexContributions", {
    "id": "str",
    "ticker": "str",
    "segment": "str",
    "weight_pct": "Optional[float]",
    "base_usd": "Optional[float]",
    "spot_usd": "float",
    "relative": "Optional[float]",
    "contribution": "Optional[float]",
    "contribution_24h_pct": "Optional[float]",
    "basis": "str",
    "as_of": "str",
    "base_as_of": "Optional[str]",
    "quantity": "NotRequired[float]",
    "cost_usd": "NotRequired[Optional[float]]",
    "cost_base_usd": "NotRequired[Optional[float]]",
    "cost_24h_usd": "NotRequired[Optional[float]]",
    "cost_30d_usd": "NotRequired[Optional[float]]",
})
RollingIndexExcluded = TypedDict("RollingIndexExcluded", {
    "id": "str",
    "reason": "str",
})
RollingIndexLikeForLike = TypedDict("RollingIndexLikeForLike", {
    "parts": "int",
    "cost_usd": "float",
    "cost_base_usd": "float",
    "level": "float",
})
RollingIndex = TypedDict("RollingIndex", {
    "session_utc": "str",
    "delayed_sessions": "int",
    "license": "str",
    "attribution": "str",
    "asked": "NotRequired[List[RollingIndexAsked]]",
    "name": "str",
    "weighting": "str",
    "base": "RollingIndexBase",
    "level": "Optional[float]",
    "chg_24h_pct": "Optional[float]",
    "chg_30d_pct": "Optional[float]",
    "constituents": "int",
    "carried": "int",
    "contributions": "List[RollingIndexContributions]",
    "excluded": "List[RollingIndexExcluded]",
    "cost_usd": "NotRequired[Optional[float]]",
    "cost_base_usd": "NotRequired[Optional[float]]",
    "cost_24h_usd": "NotRequired[Optional[float]]",
    "cost_30d_usd": "NotRequired[Optional[float]]",
    "without_base": "NotRequired[List[RollingIndexExcluded]]",
    "like_for_like": "NotRequired[Optional[RollingIndexLikeForLike]]",
})
IndexContributions = TypedDict("IndexContributions", {
    "id": "str",
    "ticker": "str",
    "segment": "str",
    "weight_pct": "Optional[float]",
    "base_usd": "Optional[float]",
    "spot_usd": "float",
    "relative": "Optional[float]",
    "contribution": "Optional[float]",
    "contribution_24h_pct": "Optional[float]",
    "basis": "str",
    "as_of": "str",
    "base_as_of": "Optional[str]",
})
IndexSeriesBase = TypedDict("IndexSeriesBase", {
    "date": "str",
    "level": "float",
})
IndexSeriesLinkLevels = TypedDict("IndexSeriesLinkLevels", {
    "id": "str",
    "session_utc": "str",
    "usd": "float",
    "break": "bool",
})
IndexSeriesLink = TypedDict("IndexSeriesLink", {
    "date": "str",
    "publication": "int",
    "levels": "NotRequired[List[IndexSeriesLinkLevels]]",
})
IndexSeriesRestatements = TypedDict("IndexSeriesRestatements", {
    "publication": "int",
    "reason": "str",
    "from": "NotRequired[str]",
    "members": "NotRequired[bool]",
})
IndexSeriesAdjustments = TypedDict("IndexSeriesAdjustments", {
    "date": "str",
    "publication": "int",
    "factor": "float",
})
IndexSeriesLastUsed = TypedDict("IndexSeriesLastUsed", {
    "id": "str",
    "session_utc": "str",
    "usd": "float",
    "reference_usd": "NotRequired[float]",
    "away": "NotRequired[bool]",
})
IndexSeriesChangesContributions = TypedDict("IndexSeriesChangesContributions", {
    "id": "str",
    "points": "float",
})
IndexSeriesChanges = TypedDict("IndexSeriesChanges", {
    "range": "str",
    "date": "str",
    "close": "Optional[float]",
    "change_pct": "Optional[float]",
    "contributions": "Optional[List[IndexSeriesChangesContributions]]",
    "correction_points": "Optional[float]",
})
IndexSeriesHistory = TypedDict("IndexSeriesHistory", {
    "date": "str",
    "close": "float",
})
IndexSeries = TypedDict("IndexSeries", {
    "method": "str",
    "base": "Optional[IndexSeriesBase]",
    "link": "NotRequired[Optional[IndexSeriesLink]]",
    "restatements": "NotRequired[List[IndexSeriesRestatements]]",
    "adjustments": "NotRequired[List[IndexSeriesAdjustments]]",
    "value": "NotRequired[Optional[float]]",
    "last_used": "NotRequired[List[IndexSeriesLastUsed]]",
    "changes": "NotRequired[List[IndexSeriesChanges]]",
    "history_from": "NotRequired[Optional[str]]",
    "history": "List[IndexSeriesHistory]",
})
Index = TypedDict("Index", {
    "session_utc": "str",
    "delayed_sessions": "int",
    "license": "str",
    "attribution": "str",
    "name": "str",
    "weighting": "str",
    "base": "RollingIndexBase",
    "level": "Optional[float]",
    "chg_24h_pct": "Optional[float]",
    "chg_30d_pct": "Optional[float]",
    "constituents": "int",
    "carried": "int",
    "contributions": "List[IndexContributions]",
    "excluded": "List[RollingIndexExcluded]",
    "series": "IndexSeries",
})
Record = TypedDict("Record", {
    "id": "str",
    "ticker": "str",
    "name": "str",
    "segment": "str",
    "unit": "str",
    "spot_usd": "float",
    "chg_24h_pct": "Optional[float]",
    "chg_30d_pct": "Optional[float]",
    "chg_yoy_pct": "Optional[float]",
    "ai_exposure_pct": "float",
    "basis": "str",
    "as_of": "str",
    "source": "str",
    "source_url": "str",
    "capacity_gb": "Optional[float]",
    "usd_per_gb": "Optional[float]",
    "chg_7d_pct": "Optional[float]",
    "chg_60d_pct": "Optional[float]",
    "chg_90d_pct": "Optional[float]",
    "chg_180d_pct": "Optional[float]",
    "low_52w_usd": "Optional[float]",
    "high_52w_usd": "Optional[float]",
    "prev_as_of": "Optional[str]",
    "age_days": "float",
    "price_type": "Optional[str]",
    "low_usd": "Optional[float]",
    "high_usd": "Optional[float]",
    "inputs": "Optional[int]",
    "break": "Optional[ContractBreak]",
})
CatalogRecordClosesStarter = TypedDict("CatalogRecordClosesStarter", {
    "count": "int",
    "first_month": "Optional[str]",
})
CatalogRecordCloses = TypedDict("CatalogRecordCloses", {
    "starter": "NotRequired[CatalogRecordClosesStarter]",
    "pro": "NotRequired[CatalogRecordClosesStarter]",
})
CatalogRecord = TypedDict("CatalogRecord", {
    "id": "str",
    "ticker": "str",
    "name": "str",
    "board": "str",
    "segment": "str",
    "segment_id": "str",
    "unit": "str",
    "capacity_gb": "Optional[float]",
    "price_type": "Optional[str]",
    "cadence_days": "float",
    "source": "str",
    "source_url": "str",
    "free": "bool",
    "formerly": "List[str]",
    "delisted_on": "Optional[str]",
    "closes": "NotRequired[CatalogRecordCloses]",
})
Correction = TypedDict("Correction", {
    "contract_id": "str",
    "session_utc": "str",
    "old_usd": "Optional[float]",
    "new_usd": "Optional[float]",
    "reason": "str",
    "corrected_in": "str",
    "publication": "NotRequired[Optional[int]]",
})
BoardRow = TypedDict("BoardRow", {
    "session_utc": "str",
    "contract_id": "str",
    "ticker": "str",
    "name": "str",
    "segment": "str",
    "unit": "str",
    "spot_usd": "float",
    "chg_24h_pct": "Optional[float]",
    "chg_30d_pct": "Optional[float]",
    "chg_yoy_pct": "Optional[float]",
    "ai_exposure_pct": "float",
    "capacity_gb": "Optional[float]",
    "usd_per_gb": "Optional[float]",
    "board": "str",
    "chg_7d_pct": "Optional[float]",
    "chg_60d_pct": "Optional[float]",
    "chg_90d_pct": "Optional[float]",
    "chg_180d_pct": "Optional[float]",
    "low_52w_usd": "Optional[float]",
    "high_52w_usd": "Optional[float]",
    "prev_as_of": "Optional[str]",
    "age_days": "float",
    "price_type": "Optional[str]",
    "low_usd": "Optional[float]",
    "high_usd": "Optional[float]",
    "inputs": "Optional[int]",
    "break_session_utc": "Optional[str]",
    "basis": "str",
    "as_of": "str",
    "source_url": "str",
    "break_reason": "Optional[str]",
    "source": "str",
})
HistoryRow = TypedDict("HistoryRow", {
    "contract_id": "str",
    "date": "str",
    "close_usd": "float",
    "low_usd": "Optional[float]",
    "high_usd": "Optional[float]",
    "inputs": "Optional[int]",
    "basis": "str",
    "session_utc": "str",
    "break_reason": "Optional[str]",
})
LevelRow = TypedDict("LevelRow", {
    "contract_id": "str",
    "session_utc": "str",
    "spot_usd": "float",
    "low_usd": "Optional[float]",
    "high_usd": "Optional[float]",
    "inputs": "Optional[int]",
    "basis": "str",
    "as_of": "str",
    "break_reason": "Optional[str]",
    "known_from": "NotRequired[int]",
})
SupersededRow = TypedDict("SupersededRow", {
    "contract_id": "str",
    "session_utc": "str",
    "spot_usd": "float",
    "low_usd": "Optional[float]",
    "high_usd": "Optional[float]",
    "inputs": "Optional[int]",
    "basis": "str",
    "as_of": "str",
    "break_reason": "Optional[str]",
    "known_from": "int",
    "known_to": "int",
    "left": "str",
})
SeriesRow = TypedDict("SeriesRow", {
    "index_id": "str",
    "date": "str",
    "close": "float",
    "known_from": "NotRequired[Optional[int]]",
})
MemberRow = TypedDict("MemberRow", {
    "index_id": "str",
    "contract_id": "str",
    "from": "str",
    "to": "Optional[str]",
    "max_carry_days": "int",
})
Settlement = TypedDict("Settlement", {
    "kind": "str",
    "id": "str",
    "month": "str",
    "unit": "Optional[str]",
    "capacity_gb": "Optional[float]",
    "average": "Optional[float]",
    "last": "Optional[float]",
    "high": "Optional[float]",
    "low": "Optional[float]",
    "days": "int",
    "average_now": "Optional[float]",
    "last_now": "Optional[float]",
    "high_now": "Optional[float]",
    "low_now": "Optional[float]",
    "days_now": "int",
    "settled_by": "int",
    "reason": "Optional[str]",
})
# The kind of each field. One name has one kind in all records.
FIELD_KINDS = {
    "id": "text", "ticker": "text", "name": "text", "segment": "text", "unit": "text", "spot_usd": "number",
    "chg_24h_pct": "number", "chg_30d_pct": "number", "chg_yoy_pct": "number", "ai_exposure_pct": "number", "basis": "text",
    "as_of": "date", "source": "text", "source_url": "text", "capacity_gb": "number", "usd_per_gb": "number",
    "chg_7d_pct": "number", "chg_60d_pct": "number", "chg_90d_pct": "number", "chg_180d_pct": "number",
    "low_52w_usd": "number", "high_52w_usd": "number", "prev_as_of": "date", "age_days": "number", "price_type": "text",
    "low_usd": "number", "high_usd": "number", "inputs": "integer", "break": "object", "board": "text", "segment_id": "text",
    "cadence_days": "number", "free": "boolean", "formerly": "array", "delisted_on": "date", "closes": "object",
    "contract_id": "text", "session_utc": "instant", "old_usd": "number", "new_usd": "number", "reason": "text",
    "corrected_in": "text", "publication": "integer", "break_session_utc": "instant", "break_reason": "text", "date": "date",
    "close_usd": "number", "known_from": "integer", "known_to": "integer", "left": "text", "index_id": "text",
    "close": "number", "from": "date", "to": "date", "max_carry_days": "integer", "kind": "text", "month": "text",
    "average": "number", "last": "number", "high": "number", "low": "number", "days": "integer", "average_now": "number",
    "last_now": "number", "high_now": "number", "low_now": "number", "days_now": "integer", "settled_by": "integer",
}
# The end of the records.

SQL = {"number": "real", "integer": "integer"}
PARSED: Dict[str, Callable[[str], Any]] = {"number": float, "integer": int}
ROW = TypeVar("ROW", bound=Mapping[str, Any])


class Refused(Exception):
    """The service, or a server in front of it, refused.

    `status` and `code` say why, `detail` says it for people. `retry_after` says how many seconds to wait; None: waiting
    does not help. `errors` lists the faults of parameters, `did_you_mean` has ids that are near, `plans` is the page of
    tiers, `resets_at` when counting starts again, `history_from` the first date within the tier's history, `request_id`
    names the request in the service's log. Each of these is None where the answer lacks it; `problem` has all members of the
    answer, and `code` is "unknown" where it is not the service's.

    If the service asks to wait, the client asks nothing for as long, at most ten minutes, and raises the same refusal again.
    If only the calls are used up, requests that cost none go on.
    """

    def __init__(self, status: int, code: str, detail: str, retry_after: float | None = None,
                 problem: Mapping[str, Any] | None = None) -> None:
        # All of them are arguments, so that the exception can be pickled.
        super().__init__(status, code, detail, retry_after, problem)
        self.status, self.code, self.detail, self.retry_after = status, code, detail, retry_after
        self.problem = told = problem or {}
        self.errors: list[dict[str, Any]] | None = _listed(told.get("errors"), dict)
        near: list[list[str]] = [_listed(each.get("did_you_mean"), str) or [] for each in self.errors or []]
        self.did_you_mean: list[str] | None = _listed(told.get("did_you_mean"), str) or [*itertools.chain(*near)] or None
        self.plans = _if_text(told.get("plans"))
        self.resets_at = _if_text(told.get("resets_at"))
        self.history_from = _if_text(told.get("history_from"))
        self.request_id = _if_text(told.get("request_id"))

    def __str__(self) -> str:
        return f"{self.status} {self.code}: {self.detail}"


class Damaged(Exception):
    """The answer is not what its digest says, has an unexpected form, is too long, or leads to another origin."""


@contextmanager
def _reading() -> Generator[None, None, None]:
    """Raises Damaged if an answer that is read here does not have the expected form."""
    try:
        yield
    except OSError:
        raise  # some errors of TLS are also a ValueError
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, csv.Error,
            sqlite3.IntegrityError) as error:
        raise Damaged("the answer has an unexpected form") from error


@dataclass(frozen=True)
class Answer:
    """The plain bytes of an answer and its header fields, whose names are in lower case."""

    body: bytes
    headers: Mapping[str, str]

    @property
    def about(self) -> dict[str, Any]:
        """Which entry of the log it is of, its session, and how many sessions that is behind."""
        return {
            "publication": self._number("x-publication"),
            "snapshot": self.headers.get("x-snapshot"),
            "session_utc": self.headers.get("x-session-utc"),
            "delayed_sessions": self._number("x-delayed-sessions"),
        }

    def asked(self, envelope: dict[str, Any] | None = None) -> dict[str, str]:
        """The ids of this answer by the other ids that were asked for, from the envelope of JSON or the header of CSV."""
        if envelope is None:
            return dict(item.split("=", 1) for item in _items(self.headers, "x-asked"))
        return {str(each["asked"]): str(each["id"]) for each in _objects(envelope.pop("asked", []))}

    @property
    def publication(self) -> int:
        """Which entry of the log it is of. Raises Damaged if it is of none."""
        number = self._number("x-publication")
        if number == 0:
            raise Damaged("the header field x-publication is missing")
        return number

    def _number(self, name: str) -> int:
        text = self.headers.get(name, "0")
        if not re.fullmatch("[0-9]{1,15}", text):
            raise Damaged(f"the header field {name} is not a number")
        return int(text)


class Rows(List[ROW]):
    """Records as dicts. `about` has what holds for all of them, such as publication and session_utc, and in `asked` the id in
    these records by each other id of the contract that was asked for. `columns` has the names of their values, also where
    there are none.
    """

    def __init__(self, records: Iterable[ROW], about: dict[str, Any], columns: Iterable[str]) -> None:
        super().__init__(records)
        self.about, self.columns = about, list(columns)

    def frame(self) -> Any:
        """The records as a pandas.DataFrame, dates and instants as such; `attrs` has `about`."""
        pandas = _pandas()
        with _reading():
            return _finished(pandas.DataFrame(list(self), columns=None if self else self.columns), self.about)


@dataclass(frozen=True)
class Synced:
    """What a run of sync did."""

    publication: int  # the entry of the log that the copy is of; 0: there is no copy yet
    is_new: bool
    is_whole: bool  # whether it loaded the whole file
    bytes_received: int  # bodies as they were sent


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        """Redirects are followed by _Transport, which looks where they lead."""


class _Raw(io.RawIOBase):
    """The bytes of a socket, until an instant of time.monotonic()."""

    def __init__(self, raw: Any, end: float) -> None:
        self._raw, self._end = raw, end

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if time.monotonic() > self._end:
            raise TimeoutError("the answer takes too long")
        count: int | None = self._raw.readinto(buffer)
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(http.client.HTTPResponse):
    """An answer that takes at most ten times as long, with its header fields, as the next bytes may."""

    def __init__(self, sock: socket.socket, *rest: Any, **named: Any) -> None:
        super().__init__(sock, *rest, **named)
        raw: Any = self.fp
        self.fp = io.BufferedReader(_Raw(raw.detach(), time.monotonic() + 10 * (sock.gettimeout() or 0)))


class _Plain(http.client.HTTPConnection):
    response_class = _Response


class _Secure(http.client.HTTPSConnection):
    response_class = _Response


class _Ends(HTTPHandler, HTTPSHandler):
    """Opens connections whose answers end in time."""

    def http_open(self, req: Any) -> Any:
        return self.do_open(_Plain, req)

    def https_open(self, req: Any) -> Any:
        return self.do_open(_Secure, req)


class _Transport:
    """Asks one origin. The key goes nowhere else, and only over https or to this machine."""

    def __init__(self, origin: str, key: str | None, max_bytes: int, timeout: float, patience: float) -> None:
        if origin.startswith("{"):
            raise ValueError('name the address of the service: Client("https://prices.example")')
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("expected an origin such as https://prices.example")
        is_here = _is_loopback(parts.hostname)
        if key is not None and parts.scheme == "http" and not is_here:
            raise ValueError("a key is sent over https only, or to this machine")
        if key is not None and not re.fullmatch("[!-~]+", key):
            raise ValueError("a key is not empty, and has ASCII letters, digits and signs only, without spaces and line breaks")
        self.origin, self.max_bytes, self.timeout, self.patience = origin.rstrip("/"), max_bytes, timeout, patience
        self.key = key
        self.bytes_received = 0
        self._lock = threading.Lock()
        # The last refusals that asked to wait, of every request and of calls that cost one, and when they came.
        self._refused: tuple[Refused, float] | None = None
        self._calls_refused: tuple[Refused, float] | None = None
        self._kept: OrderedDict[str, Answer] = OrderedDict()
        # Proxies of the environment do not reach this machine, and would read a key that is sent to it.
        self._opener = build_opener(ProxyHandler({}) if is_here else ProxyHandler(), _NoRedirect, _Ends)

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and other processes begin with connections and a cache of their own."""
        return _Transport, (self.origin, self.key, self.max_bytes, self.timeout, self.patience)

    def get(self, path: str, query: Mapping[str, Any], base: str = API) -> Answer:
        """The answer to a GET. Waits as told if that is short, and while the service is away. Raises Refused, Damaged, OSError."""
        given = {name: value for name, value in query.items() if value is not None}
        url = first = self.origin + base + path + ("?" + urlencode(given, safe=",") if given else "")
        costs = base == API and path not in FREE
        with self._lock:
            kept = self._kept.get(first)
        hops, waited, pause = 0, 0.0, PAUSE_SECONDS
        while True:
            self._raise_again(self._refused)
            if costs:
                self._raise_again(self._calls_refused)
            trouble: OSError | Refused
            try:
                with _reading():
                    status, answer = self._ask(url, kept)
                if status in (301, 302, 303, 307, 308):
                    with _reading():
                        url, hops = urljoin(url, answer.headers.get("location", "")), hops + 1
                    if hops > REDIRECTS_MAX or not url.startswith(self.origin + "/"):
                        raise Damaged(f"redirected too often, or away from {self.origin}")
                    continue
                if status == 304 and kept is not None:
                    return kept
                if status == 200:
                    if costs:
                        with _reading():
                            _prove(answer)
                    self._keep(first, answer)
                    return answer
                trouble = _refusal(status, answer)
                told = trouble.retry_after
                if told is None and not _is_of_front(trouble):
                    raise trouble
            except OSError as error:
                if not _is_away(error):
                    raise
                trouble, told = error, None
            except http.client.HTTPException:
                # Not its text, which may hold control characters of the answer.
                raise ConnectionError("the answer is broken") from None
            wait = max(told or 0.0, pause)
            if waited + wait > self.patience:
                if isinstance(trouble, Refused) and told is not None:
                    self._note(trouble)
                raise trouble
            time.sleep(wait)
            waited, pause = waited + wait, min(2 * pause, PAUSE_SECONDS_MAX)

    def _note(self, refusal: Refused) -> None:
        """A spent quota refuses calls that cost one; what else asks to wait means every request."""
        if refusal.code == "quota_exceeded":
            self._calls_refused = refusal, time.monotonic()
        else:
            self._refused = refusal, time.monotonic()

    def _raise_again(self, noted: tuple[Refused, float] | None) -> None:
        """Raises the refusal, with the rest of its wait, until the client may ask again."""
        if noted is None:
            return
        refusal, came = noted
        wait, waited = refusal.retry_after or 0.0, time.monotonic() - came
        if waited < min(wait, RECHECK_SECONDS):
            raise Refused(refusal.status, refusal.code, refusal.detail, wait - waited, refusal.problem)

    def _ask(self, url: str, kept: Answer | None) -> tuple[int, Answer]:
        request = Request(url, headers={"accept-encoding": "gzip", "user-agent": USER_AGENT})
        if self.key is not None:
            request.add_unredirected_header("x-api-key", self.key)
        if kept is not None:
            request.add_header("if-none-match", kept.headers["etag"])
        try:
            answer = self._opener.open(request, timeout=self.timeout)
        except HTTPError as refused:
            answer = refused
        with answer:
            status: int = answer.status or 0
            headers = _fields(answer.headers)
            return status, Answer(self._body(answer, status, headers), headers)

    def _body(self, answer: Any, status: int, headers: Mapping[str, str]) -> bytes:
        """The body without its coding, at most as long as it may be."""
        limit = self.max_bytes if status == 200 else PROBLEM_BYTES_MAX
        codings = [each for each in _items(headers, "content-encoding") if each != "identity"]
        if codings not in ([], ["gzip"], ["x-gzip"]):
            raise Damaged(f"unexpected content-encoding {_plain(', '.join(codings))}")
        inflating = zlib.decompressobj(31) if codings else None
        body, received = bytearray(), 0
        try:
            while piece := answer.read1(PIECE_BYTES):
                received += len(piece)
                if inflating is not None and inflating.eof:
                    raise Damaged("bytes follow the end of the gzip data")
                body += piece if inflating is None else inflating.decompress(piece, limit + 1 - len(body))
                if max(received, len(body)) > limit:
                    raise Damaged(f"the answer has more than {limit} bytes")
        except zlib.error as error:
            raise Damaged("the answer cannot be inflated") from error
        finally:
            with self._lock:
                self.bytes_received += received
        # The same length may stand twice (RFC 9110, 8.6).
        expected = {int(each) for each in _items(headers, "content-length")} or {received}
        if inflating is not None and inflating.unused_data:
            raise Damaged("bytes follow the end of the gzip data")
        is_cut = inflating is not None and received > 0 and not inflating.eof
        if status == 200 and (expected != {received} or is_cut):
            raise ConnectionError("the answer ends early")
        return bytes(body)

    def _keep(self, url: str, answer: Answer) -> None:
        if "etag" in answer.headers and len(answer.body) <= KEPT_BYTES_MAX:
            with self._lock:
                self._kept[url] = answer
                if len(self._kept) > KEPT_MAX:
                    self._kept.popitem(last=False)


class Client:
    """The service at `origin`. Methods raise Refused, Damaged, OSError if it cannot be reached, and ValueError for what
    cannot be asked. `Client(…)` raises ValueError for an address or a key that cannot be right.

    `ids` are ids of contracts, in a list, a set, a Series or a text with commas; more than 100 are asked for in several
    calls, all of one publication. `segment` has ids of segments' indices. `start` and `end` are dates, both included,
    also of datetime, pandas and numpy: of an instant with a time zone its date in UTC. `last` counts the last entries
    of each contract.
    """

    def __init__(self, origin: str = ORIGIN, key: str | None = None, *, max_bytes: int = 1 << 28,
                 timeout: float = 60, patience: float = 30) -> None:
        """`max_bytes`: the longest body; `timeout`: seconds to wait for a connection or the next bytes; `patience`: how
        many seconds it waits in all, for a call, when told to or while the service is away.
        """
        self._transport = _Transport(origin, key, max_bytes, timeout, patience)
        self._vintage: dict[str, Any] = {}
        # The files that `levels(known_at=N)` read last, with the selection of them.
        self._known: tuple[Any, Rows[Any], Rows[Any]] | None = None

    def as_of(self, when: Day | int) -> Client:
        """The same as published then: at an instant (UTC unless it has a time zone), at the end of a date, or by the
        number of an entry of the log.
        """
        return self._then({"publication": operator.index(when)} if isinstance(when, SupportsIndex) else {"as_of": _moment(when)})

    def session(self, name: str) -> Client:
        """The same as last published for a session, such as 2026-11-20T12Z. A later revision changes the answers."""
        return self._then({"session": name})

    def _then(self, vintage: dict[str, Any]) -> Client:
        then = Client.__new__(Client)
        then._transport = self._transport
        then._vintage = vintage
        then._known = None
        return then

    def prices(self, ids: Iterable[str] | None = None, segment: Iterable[str] | None = None) -> Rows[Record]:
        """The records of the board: memory, then semiconductor."""
        records: list[dict[str, Any]] = []
        about: dict[str, Any] = {}
        asked: dict[str, str] = {}
        for answer in self._parts("/prices", ids, segment):
            board = _object(answer)
            with _reading():
                records += _objects(board.pop("memory")) + _objects(board.pop("semiconductor"))
                asked.update(answer.asked(board))
                about = {**board, **answer.about, "asked": asked}
        return Rows[Any](records, about, Record.__annotations__)

    def contracts(self) -> Rows[CatalogRecord]:
        """All contracts of the catalog, also of higher tiers and delisted ones, without levels. `about` has the
        segments. Never costs a call.
        """
        answer = self._transport.get("/contracts", {})
        catalog = _object(answer)
        with _reading():
            return Rows[Any](_objects(catalog.pop("contracts")), {**catalog, **answer.about}, CatalogRecord.__annotations__)

    def resolve(self, ids: Iterable[str]) -> dict[str, str]:
        """The present id of each of these ids that a contract has or had; others are left out. So a list of your own outlives
        a rename: answers have present ids. Never costs a call.
        """
        catalog = self.contracts()
        with _reading():
            present = {former: each["id"] for each in catalog for former in each["formerly"]}
            present.update((each["id"], each["id"]) for each in catalog)
        return {id: present[id] for id in (ids.split(",") if isinstance(ids, str) else map(str, ids)) if id in present}

    def contract(self, id: str, start: Day | None = None, end: Day | None = None,
                 last: int | None = None) -> Contract:
        """One contract, also off the board: its record, history, breaks, corrections and limits."""
        return cast(Contract, _object(self._get("/prices/" + quote(id, safe=""), **_dates(start, end, last))))

    def history(self, ids: Iterable[str] | None = None, segment: Iterable[str] | None = None, start: Day | None = None,
                end: Day | None = None, last: int | None = None) -> Rows[HistoryRow]:
        """Daily closes in USD, dates ascending, contract after contract."""
        return _typed(self._parts(HISTORY, ids, segment, start, end, last), "contract_id", "date")

    def levels(self, ids: Iterable[str] | None = None, segment: Iterable[str] | None = None, start: Day | None = None,
               end: Day | None = None, last: int | None = None, known_at: int | None = None) -> Rows[LevelRow]:
        """Every level given, in USD, of both sessions of a day. For Pro also `known_at=N`: as entry N had them.

        It selects them from levels and superseded, so it does not need the entry's snapshot: under the present ids,
        within the present depth. Both files are read once for many entries. An id that came later has no row. If a rollback
        withdrew the entry, or no row was known then, it asks for the snapshot.
        """
        if known_at is None:
            return _typed(self._parts("/levels.csv", ids, segment, start, end, last), "contract_id", "session_utc")
        try:
            known_at = operator.index(known_at)
        except TypeError as error:
            raise ValueError(f"known_at: expected the number of an entry, got {known_at!r}") from error
        wanted = (_texts(ids, "ids"), _texts(segment, "segment"), start, end)
        stands, ended = self._stands_and_ended(*wanted)
        publication = ended.about["publication"]
        known: dict[str, list[dict[str, Any]]] = {}
        with _reading():
            for row in itertools.chain(stands, ended):
                rows = known.setdefault(row["contract_id"], [])
                if row["known_from"] <= known_at < row.get("known_to", known_at + 1):
                    rows.append({name: row[name] for name in stands.columns})
            for rows in known.values():
                rows.sort(key=lambda row: row["session_utc"])
            if not any(known.values()) or not self._leads(known_at, publication):
                return self._levels_of(known_at, *wanted, last, stands.columns)
            chosen = [row for rows in known.values() for row in rows[-(last or 0):]]
            return Rows[Any](chosen, stands.about, stands.columns)

    def _stands_and_ended(self, ids: list[str] | None, segment: list[str] | None, start: Day | None,
                          end: Day | None) -> tuple[Rows[Any], Rows[Any]]:
        """The rows of levels and superseded, of one publication; the same as before while nothing is published."""
        asked = (ids, segment, _day(start, "start"), _day(end, "end"))
        if self._known is not None and self._known[0] == asked:
            _, stands, ended = self._known
            if all(each["action"] == "prune" for each in self.publications(ended.about["publication"])):
                return stands, ended
        ended = self.superseded(ids, segment, start, end)
        stands = self.as_of(ended.about["publication"]).levels(ids, segment, start, end)
        self._known = asked, stands, ended
        return stands, ended

    def _levels_of(self, number: int, ids: list[str] | None, segment: list[str] | None, start: Day | None, end: Day | None,
                   last: int | None, columns: list[str]) -> Rows[Any]:
        """The levels as the snapshot of an entry has them. Ids that it does not know have no row."""
        then = self.as_of(number)
        while True:
            try:
                return then.levels(ids, segment, start, end, last)
            except Refused as refusal:
                unknown = {each.get("value") for each in refusal.errors or []}
                left = [id for id in ids or [] if id not in unknown]
                if refusal.code != "unknown_contract" or len(left) == len(ids or []):
                    raise
            if not left:
                return Rows[Any]([], {"publication": number}, columns)
            ids = left

    def superseded(self, ids: Iterable[str] | None = None, segment: Iterable[str] | None = None, start: Day | None = None,
                   end: Day | None = None) -> Rows[SupersededRow]:
        """The rows of levels that no longer stand, each from its entry `known_from` up to `known_to`. For Pro."""
        return _typed(self._parts("/superseded.csv", ids, segment, start, end), "contract_id", "session_utc")

    def frame(self, file: str = "history.csv", ids: Iterable[str] | None = None, segment: Iterable[str] | None = None,
              start: Day | None = None, end: Day | None = None, last: int | None = None) -> Any:
        """A CSV file as a pandas.DataFrame, which pandas reads itself: history.csv, levels.csv, superseded.csv,
        export.csv, indices.csv, members.csv, settlements.csv. Dates and instants as such; `attrs` says which entry of the log it is of.
        """
        pandas = _pandas()
        if not file.endswith(".csv"):
            raise ValueError(f"file: expected a CSV file such as history.csv, got {file!r}; file() reads each as it is")
        answers = self._parts("/" + file, ids, segment, start, end, last)
        with _reading():
            frames = [_read_frame(pandas, answer) for answer in answers]
            return _finished(frames[0] if len(frames) == 1 else pandas.concat(frames, ignore_index=True), _about(answers))

    def table(self, ids: Iterable[str] | None = None, start: Day | None = None, end: Day | None = None, *,
              filled: bool = False) -> Any:
        """Daily closes in USD as a pandas.DataFrame with a row for each date and a column for each contract.

        With `filled` it has each day, with the level in force at 12:00 UTC: the last one given, as long as the carry limit of
        the contract has it in force. Then it asks for the whole history, and for each contract by a call of its own.
        """
        pandas = _pandas()
        rows = self.history(ids, None, None if filled else start, end)
        order = list(dict.fromkeys(row["contract_id"] for row in rows))
        with _reading():
            frame = rows.frame()
            closes = frame.pivot(index="date", columns="contract_id", values="close_usd").reindex(columns=order)
            if not filled or not rows:
                return closes
            sessions = frame.pivot(index="date", columns="contract_id", values="session_utc")
            session = pandas.Timestamp(rows.about["session_utc"]).tz_localize(None)
            last = min(session, pandas.Timestamp(_day(end, "end") or session)).normalize()
            days = pandas.date_range(closes.index.min(), last)
            closes, sessions = (each.reindex(days).ffill() for each in (closes, sessions))
        for id in order:
            terms = self.contract(id, last=1)
            with _reading():
                aged = (days + SESSION).where(days + SESSION < session, session).tz_localize("UTC") - sessions[id]
                closes[id] = closes[id].where(aged <= pandas.Timedelta(days=terms["max_carry_days"]))
                if terms["delisted_on"] is not None:
                    closes.loc[terms["delisted_on"]:, id] = float("nan")
        return closes.loc[_day(start, "start"):].rename_axis(index="date")

    def file(self, file: str, ids: Iterable[str] | None = None, segment: Iterable[str] | None = None,
             start: Day | None = None, end: Day | None = None, last: int | None = None) -> Answer:
        """A file as it is, in `body`, such as export.xlsx or history.parquet; of CSV a selection for up to 100 ids."""
        return self._get("/" + file, ids=_joined(_texts(ids, "ids")), segment=_joined(_texts(segment, "segment")),
                         **_period("/" + file, start, end, last))

    def series(self, ids: Iterable[str] | None = None, start: Day | None = None, end: Day | None = None,
               last: int | None = None) -> Rows[SeriesRow]:
        """The closes of all indices, or of these: a row for each day at 12:00 UTC, in points (base 100)."""
        return _typed(self._parts("/indices.csv", ids, None, start, end, last), "index_id", "date")

    def members(self, ids: Iterable[str] | None = None, start: Day | None = None, end: Day | None = None) -> Rows[MemberRow]:
        """The members of all indices, or of these, in intervals of days; `to` is the last day, empty while it lasts.
        Dates select the intervals that touch them. For Pro.
        """
        return _typed(self._parts("/members.csv", ids, None, start, end), "index_id", "contract_id", "from")

    def settlements(self, ids: Iterable[str] | None = None, start: Day | None = None, end: Day | None = None) -> Rows[Settlement]:
        """The settled months of all contracts and indices, or of these ids: a month's average, last, high and low over the
        closes of its days at 12:00 UTC. These never change; names with `_now` have the figures as known now. `start` and `end`
        are months such as 2026-10, or days of them, both included.
        """
        return _typed(self._parts(SETTLEMENTS, ids, None, start, end), "kind", "id", "month")

    def evidence(self, id: str, month: Day, path: str | os.PathLike[str], kind: str | None = None) -> dict[str, Any]:
        """Writes a zip that proves one settled month of a contract, or of an index, to somebody without the
        service: the figure in words, the settlement file, the digests of the tier's files, the entries of the log up to the
        next signed one, the public keys, a script for openssl, and the publisher's permission. `chipboard check FILE.zip`
        reads it. For Pro; costs three calls. Returns the month's record, with `publication`, `signed` and `permission`.

        Without `kind` (`contract` or `index`) the id is of a contract; of an index, if no contract has it. Raises ValueError
        if the month is not settled.
        """
        wanted = _month(month, "month")
        if kind is None:
            try:
                return self.evidence(id, month, path, "contract")
            except Refused as refused:
                if refused.code != "unknown_contract":
                    raise
                try:
                    return self.evidence(id, month, path, "index")
                except Refused as other:
                    raise refused if other.code == "unknown_index" else other
        if kind not in ("contract", "index"):
            raise ValueError(f"kind: expected contract or index, got {kind!r}")
        name = f"settlements/{'indices' if kind == 'index' else 'contracts'}/{quote(id, safe='')}"
        view = self if self._vintage else self.as_of(self._get("/" + name).publication)
        answer = view._get("/" + name)
        number, sums = answer.publication, view._get("/sums").body
        with _reading():
            file = _parsed(answer.body, parse_float=str, parse_int=str)
            months: dict[str, Any] = {each["month"]: each for each in file["settlements"]}
            known = f"{_month(min(months), 'month')} to {_month(max(months), 'month')}" if months else "none"
        if wanted not in months:
            raise ValueError(f"{id}: the month {wanted} is not settled; settled are {known}")
        with _reading():
            record = {"kind": file["kind"], "id": file["id"], **months[wanted], "publication": str(number), "attribution": file["attribution"]}
            path_of_file = f"settlements/{name.split('/')[1]}/{quote(file['id'], safe='')}.json"
            files = {"figure.txt": _figure_text(record), "SHA256SUMS": sums, path_of_file: answer.body}
        signed, entry = False, number
        while not signed and entry - number < EVIDENCE_ENTRIES:
            try:
                body = self._transport.get(f"/log/{entry}", {}, base="").body
            except Refused as refused:
                if refused.status != 404 or entry == number:
                    raise
                break
            if len(body) > ENTRY_BYTES_MAX:
                raise Damaged(f"entry {entry} of the log has more than {ENTRY_BYTES_MAX} bytes")
            files[f"log/{entry:010}.json"], signed, entry = body, b'"signature":"' in body, entry + 1
        if not signed:
            # Entries after the first prove nothing without a signature.
            files = {each: body for each, body in files.items() if not each.startswith("log/") or int(each[4:14]) == number}
        try:
            files["keys.pem"] = self._transport.get("/log/keys.pem", {}, base="").body
        except Refused as refused:
            if refused.status != 404:
                raise
            if signed:
                raise Damaged("the log is signed, and the service shows no keys (/log/keys.pem): its operator sets --verify-key") from refused
        with _reading():
            told = _object(self._transport.get("/openapi.json", {}, base="")).get("info", {}).get("x-evidence")
            permission = told if isinstance(told, str) and told else WITHOUT_PERMISSION
            files["permission.txt"], files["verify.sh"] = f"{permission}\n".encode(), VERIFY.encode()
        with open(path, "wb") as out, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
            for each in sorted(files):
                entry_info = zipfile.ZipInfo(each, (1980, 1, 1, 0, 0, 0))
                entry_info.external_attr = (0o755 if each == "verify.sh" else 0o644) << 16
                archive.writestr(entry_info, files[each])
        return {**record, "signed": signed, "permission": permission}

    @overload
    def index(self) -> RollingIndex: ...

    @overload
    def index(self, id: str, start: Day | None = None, end: Day | None = None, last: int | None = None) -> Index: ...

    def index(self, id: str | None = None, start: Day | None = None, end: Day | None = None,
              last: int | None = None) -> RollingIndex | Index:
        """The composite with its contributions, or the index `id` with its series."""
        path = "/index" if id is None else "/indices/" + quote(id, safe="")
        return cast("RollingIndex | Index", _object(self._get(path, **_dates(start, end, last))))

    def basket(self, parts: Mapping[str, Number], by: str = "quantities") -> RollingIndex:
        """What a purchase costs (`by="quantities"`, in units), or a basket by weights. For the tier pro.

        At most 100 parts, with numbers above 0, rounded to nine decimals: int, float, Decimal, Fraction, or of numpy.
        """
        if by not in ("quantities", "weights"):
            raise ValueError(f"by: expected quantities or weights, got {by!r}")
        amounts = {str(id): _amount(number, f"{by} of {id}") for id, number in dict(parts).items()}
        if not 1 <= len(amounts) <= IDS_MAX:
            raise ValueError(f"parts: expected 1 to {IDS_MAX} contracts, got {len(amounts)}")
        return cast(RollingIndex, _object(self._get("/index", ids=",".join(amounts), **{by: ",".join(amounts.values())})))

    def corrections(self, ids: Iterable[str] | None = None, after: int | None = None, since: Day | None = None) -> Rows[Correction]:
        """Published levels that were changed; `after`: by publications after this number; `since`: on this date or later."""
        records: list[dict[str, Any]] = []
        about: dict[str, Any] = {}
        asked: dict[str, str] = {}
        for answer in self._parts("/corrections", ids, after=after, since=since):
            found = _object(answer)
            with _reading():
                records += _objects(found["corrections"])
                asked.update(answer.asked(found))
                about = {**answer.about, "asked": asked}
        return Rows[Any](records, about, Correction.__annotations__)

    def publications(self, after: int = 0) -> list[Publication]:
        """The entries of the log after this number. Never costs a call."""
        entries: list[Publication] = []
        following: int | None = after
        while following is not None:
            page = _object(self._transport.get("/publications", {"after": following, "limit": 1_000}))
            with _reading():
                made, before = cast("list[Publication]", _objects(page["publications"])), following
                entries += made
                following = page["next"]
                if following is not None and not (0 < len(made) <= following - before and following <= ENTRIES_MAX):
                    raise Damaged("the list of publications has no end")
        return entries

    def usage(self) -> Usage:
        """The calls of this month: limit, used, remaining. Never costs one."""
        return cast(Usage, _object(self._transport.get("/usage", {})))

    def sums(self) -> dict[str, str]:
        """The SHA-256 (hex) of each file of the tier, by its name."""
        answer = self._get("/sums")
        with _reading():
            lines = answer.body.decode().splitlines()
            return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}

    def sync(self, path: str | os.PathLike[str]) -> Synced:
        """Makes the table `history` of the SQLite file equal to /history.csv of the tier: see write_history.

        All of a run or nothing of it is kept. It loads the days that are new at both ends, new contracts and
        corrected days, and proves the whole by /sums; if that fails, it loads the whole file. Each run asks the service,
        also if the run before was refused.
        """
        with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as db:
            return _Copy(db).follow(self, self._transport)

    def watch(self, rules: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None, every_seconds: float = 600, *,
              state: str | os.PathLike[str] | None = None, once: bool = False,
              resolved: bool = False) -> Iterator[dict[str, Any]]:
        """Yields what happens: dicts with `event`, a stable `event_id` and a sentence for people, `text`.

        `rules` is a list. Each names `id`, a contract or an index, or `contract`, `index`, or `segment`, which means each
        contract of the segment, or `basket`: quantities by contract, {"ID": 64} (Pro); and one or more of

            above, below       a level: USD per unit of a contract, points of an index's series (base 100), USD of a basket
            change_pct, over   percent over "24h", "7d" or "30d": 5 both ways, "+5" rises, -5 falls of at least that much;
                               of a basket over "24h" or "30d"
            change_pct, since  percent since the close of that date, 2026-10-01, or the last one before it

        Rules that the state does not know yet are checked by /contracts: for an id that no contract, index or segment has it
        raises ValueError. A rule is told (`above`, `below`, `change_pct`) when it begins to hold, also at the first look, and again after it
        ceased to. The mapping `{"ID": 5.0}`, USD by contract, tells each crossing of that level, up or down, from now on
        (`threshold`). With `resolved`, an event `resolved` tells that a rule no longer holds, and `resolves` has the
        `event_id` of the alarm. Other events: `session` and `correction` of every publication, `renamed` with `new_id` and
        `gone` with `code` for an id of the rules that left the board; the other rules go on. If a correction changes the level
        that an event named, `corrects` has the `event_id` of that event. If it changes a level of a settled month,
        and the rules name the contract or there are none, `settled` has the month.

        With the file `state` nothing is lost over restarts: every publication since the last look is judged, and an event
        counts as told when the loop asks for the next one. Until then, and if you leave the loop, the next start tells it
        again, with the same `event_id`. One program at a time may use the file. `once` ends after the new events, for cron.

        It looks every ten minutes, and every minute while a session is due. A look costs nothing unless something was
        published; then it costs a call for the board, one for all indices, and one for corrections, for each publication; and
        one for each basket, and for each date of `since`.
        After the first look it goes on when the network fails, when a server in front of the service fails or answers in
        its place, when an answer is damaged, and when the calls are used up. It looks again after `every_seconds` at the
        latest, and logs why it waits: without a configuration of `logging`, by a line on standard error.
        """
        if not 0 <= every_seconds < float("inf"):
            raise ValueError(f"every_seconds: expected a number of seconds, got {every_seconds!r}")
        return _Watch(self, self._transport, _rules(rules), every_seconds, once, resolved).events(state)

    def _leads(self, number: int, publication: int) -> bool:
        """Whether the publication was made upon this entry, or is it: no rollback between withdrew the entry."""
        entries = [each for each in self.publications(number - 1) if each["number"] <= publication]
        while entries and entries[-1]["number"] > number:
            entry = entries.pop()
            if entry["action"] == "rollback":
                while entries and (entries[-1]["action"], entries[-1]["snapshot"]) != ("publish", entry["snapshot"]):
                    entries.pop()
        return bool(entries)

    def _get(self, path: str, **query: Any) -> Answer:
        return self._transport.get(path, {**query, **self._vintage})

    def _parts(self, path: str, ids: Iterable[str] | None = None, segment: Iterable[str] | None = None,
               start: Day | None = None, end: Day | None = None, last: int | None = None,
               after: int | None = None, since: Day | None = None) -> list[Answer]:
        """The answers for at most 100 ids each, all of one publication."""
        asked = _texts(ids, "ids")
        query = {"segment": _joined(_texts(segment, "segment")), **_period(path, start, end, last), "after": after,
                 "since": _day(since, "since")}
        first = self._get(path, ids=_joined(asked and asked[:IDS_MAX]), **query)
        answers = [first]
        for at in range(IDS_MAX, len(asked or []), IDS_MAX):
            then = self.as_of(first.about["publication"])
            answers.append(then._get(path, ids=_joined(asked and asked[at:at + IDS_MAX]), **query))
        return answers


class _Copy:
    """The tables: `history`, with the columns of the file; `contracts`, in its order; `cursor`, where it is."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        db.execute("""create table if not exists cursor (id integer primary key check (id = 1),
            number integer, snapshot text, session_utc text, header text)""")
        db.execute("create table if not exists contracts (contract_id text primary key, place integer)")
        self._read_cursor()

    def _read_cursor(self) -> None:
        row = self.db.execute("select number, snapshot, session_utc, header from cursor").fetchone()
        self.number, self.snapshot, self.session, self.header = row or (None, None, None, None)

    def follow(self, client: Client, transport: _Transport) -> Synced:
        before = transport.bytes_received
        try:
            is_new, is_whole = self._run(client)
        except Refused as refusal:
            if refusal.status != 410:
                raise
            # A prune was faster. It keeps the newest publication, which this run finds.
            is_new, is_whole = self._run(client)
        return Synced(self.number or 0, is_new, is_whole, transport.bytes_received - before)

    def _run(self, client: Client) -> tuple[bool, bool]:
        """Copies all or nothing, as _copy does."""
        with self.db:
            self.db.execute("begin immediate")
            self._read_cursor()
            with _reading():
                return self._copy(client)

    def _copy(self, client: Client) -> tuple[bool, bool]:
        """Returns whether there was something new, and whether it took the whole file."""
        entries = client.publications(self.number - 1) if self.number else []
        if not entries or entries[0]["snapshot"] != self.snapshot:
            self._take_whole(client)
            return True, True
        copied, *later = entries
        made = [each for each in later if each["action"] != "prune"]
        if not made:
            return False, False
        then = client.as_of(made[-1]["number"])
        is_equal = self._take_changes(then, copied, made) and self._sha256() == then.sums()["history.csv"]
        if not is_equal:
            self._take_whole(then)
        return True, not is_equal

    def _take_changes(self, then: Client, copied: Publication, made: list[Publication]) -> bool:
        """Takes what may have changed since `copied` by what the log says. False: that is too much."""
        # Each session after this one may differ: a rollback takes sessions away, a revision writes one anew.
        kept = min([_instant(str(copied["session_utc"]))] + [
            _instant(str(each["session_utc"])) - (SESSION if each["action"] == "publish" else timedelta()) for each in made
        ])
        newest = _instant(str(made[-1]["session_utc"]))
        # One day more, because the tier may be a session behind.
        days = (newest.date() - (kept + SESSION).date()).days + 2
        if days > LAST_MAX:
            return False
        first = self.db.execute("""select min(date) from
            (select min(date) as date from history group by contract_id having count(*) > 1)""").fetchone()[0]
        answer = then.file("history.csv", last=max(days, 1))
        header, rows = _table(answer, "contract_id", "date")
        if _line(header) != self.header:
            return False
        known = {id for id, in self.db.execute("select contract_id from contracts")}
        for _, lines in itertools.groupby(rows, key=lambda row: row[0]):
            own = list(lines)
            self.db.execute("delete from history where contract_id = ? and date >= ?", own[0][:2])
            self._insert(header, own)
        ids = list(dict.fromkeys(row[0] for row in rows))
        self._order(ids)
        self.db.execute("delete from history where contract_id not in (select contract_id from contracts)")
        moved = abs((_instant(answer.about["session_utc"]).date() - _instant(str(self.session)).date()).days)
        if moved > 0 and first is not None:
            # The first day of the histories also moves. In leap years it moves by a day more.
            self._take(then, None, "", str(date.fromisoformat(first) + timedelta(moved + 1)))
        self._take(then, [id for id in ids if id not in known], "", "9999-12-31")
        if any(each["corrections"] for each in made):
            corrected = [each for each in then.corrections(after=self.number) if each["contract_id"] in known]
            dates = sorted(each["session_utc"][:10] for each in corrected) or [""]
            changed = {each["contract_id"] for each in corrected}
            self._take(then, [id for id in ids if id in changed], dates[0], dates[-1])
        self._note(answer)
        return True

    def _take(self, then: Client, ids: list[str] | None, start: str, end: str) -> None:
        """Replaces the rows of these contracts (None: all) from `start` (empty: the first) to `end`."""
        for at in range(0, 1 if ids is None else len(ids), IDS_MAX):
            some = ids[at:at + IDS_MAX] if ids else None
            header, rows = _table(then.file("history.csv", some, start=start or None, end=end), "contract_id", "date")
            if _line(header) != self.header:
                raise Damaged("the answers have different columns")
            if some is None:
                self.db.execute("delete from history where date between ? and ?", [start, end])
            else:
                self.db.executemany("delete from history where contract_id = ? and date between ? and ?",
                                    ([id, start, end] for id in some))
            self._insert(header, rows)

    def _take_whole(self, then: Client) -> None:
        answer = then.file("history.csv")
        header, rows = _table(answer, "contract_id", "date")
        kinds = [f'"{name}" {SQL.get(FIELD_KINDS.get(name, ""), "text")}' for name in header]
        self.db.execute("drop table if exists history")
        self.db.execute(f"create table history ({', '.join(kinds)}, primary key (contract_id, date))")
        self._insert(header, rows)
        self._order(list(dict.fromkeys(row[0] for row in rows)))
        self.header = _line(header)
        self._note(answer)
        if self._sha256() != hashlib.sha256(answer.body).hexdigest():
            raise Damaged("the table does not give the file back")

    def _insert(self, header: list[str], rows: list[list[str]]) -> None:
        marks = ", ".join("?" * len(header))
        self.db.executemany(f"insert into history values ({marks})", _values(header, rows))

    def _order(self, ids: list[str]) -> None:
        self.db.execute("delete from contracts")
        self.db.executemany("insert into contracts values (?, ?)", ([id, place] for place, id in enumerate(ids)))

    def _note(self, answer: Answer) -> None:
        about = answer.about
        self.number, self.snapshot, self.session = about["publication"], about["snapshot"], about["session_utc"]
        self.db.execute("replace into cursor (id, number, snapshot, session_utc, header) values (1, ?, ?, ?, ?)",
                        [self.number, self.snapshot, self.session, self.header])

    def _sha256(self) -> str:
        digest = hashlib.sha256()
        self.write(digest.update)
        return digest.hexdigest()

    def write(self, write: Callable[[bytes], Any]) -> None:
        """Writes the table as the bytes of the file."""
        class Sink:
            def write(self, text: str) -> None:
                write(text.encode())
        header = str(self.header)
        write(header.encode())
        columns = ", ".join(f'history."{name}"' for name in header.strip().split(","))
        rows = self.db.execute(
            f"select {columns} from history join contracts using (contract_id) order by contracts.place, history.date")
        csv.writer(Sink(), lineterminator="\r\n").writerows(
            [_text(value) if isinstance(value, float) else value for value in row] for row in rows)


def write_history(path: str | os.PathLike[str], file: BinaryIO) -> None:
    """Writes the copy that sync keeps in the SQLite file: the bytes of /history.csv."""
    with closing(sqlite3.connect(path)) as db:
        copy = _Copy(db)
        if copy.number is None:
            raise ValueError(f"{path} holds no copy")
        copy.write(file.write)


@dataclass(frozen=True)
class _Rule:
    """A condition on one contract or index, or on each contract of a segment."""

    kind: str  # id: a contract or, if there is none, an index; contract; index; segment
    subject: str
    condition: str  # above, below, change_pct; threshold: crossed in either direction
    limit: Decimal
    over: str | None  # also the date of `since`
    signs: tuple[int, ...]  # of changes that count
    key: str  # the same for rules with the same meaning
    given: dict[str, Any]
    place: str = ""  # where it stands, for messages

    def subjects(self) -> list[tuple[str, str]]:
        """The kinds and ids that it names."""
        if self.kind != "basket":
            return [(self.kind, self.subject)]
        return [("contract", id) for id in json.loads(self.subject)]

    def side(self, level: _Level) -> int | None:
        """1 or -1: it holds, by a high or a low value; 0: it does not; None: nobody can tell."""
        if self.condition == "change_pct":
            change = level.changes.get(self.over or "")
            sign = 0 if not change else 1 if change > 0 else -1
            return None if change is None else sign if sign in self.signs and abs(change) >= self.limit else 0
        if self.condition == "threshold":
            return 1 if level.value >= self.limit else -1
        if self.condition == "above":
            return 1 if level.value > self.limit else 0
        return -1 if level.value < self.limit else 0


@dataclass(frozen=True)
class _Level:
    """A level of a contract (USD per unit) or the last close of an index, with its changes in percent."""

    id: str
    name: str
    kind: str
    value: Decimal
    unit: str
    changes: Mapping[str, Decimal | None]
    record: Mapping[str, Any]


@dataclass
class _Alerts:
    """What watch knows after an entry of the log. The file of the state holds it as JSON."""

    publication: int
    entry_sha256: str  # of the bytes of /log/N, so that the state of another log is noticed; empty without a file
    session_utc: str
    next_session_utc: str
    sides: dict[str, dict[str, list[Any]]]  # by rule, then by id: the side, and the level as a number
    gone: list[str]
    renamed: dict[str, str]
    pending: list[dict[str, Any]]  # events that are not told yet, oldest first
    told: list[dict[str, Any]]  # the last event of each rule and id that named a level, with that level


class _Watch:
    """Judges one publication after the other, and tells what happened."""

    def __init__(self, client: Client, transport: _Transport, rules: list[_Rule], every_seconds: float, once: bool,
                 resolved: bool) -> None:
        self.client, self.transport, self.rules = client, transport, rules
        self.every_seconds, self.once, self.resolved = every_seconds, once, resolved
        self.alerts: _Alerts | None = None
        self.path: str | None = None
        self.entries: list[Publication] = []

    def events(self, path: str | os.PathLike[str] | None) -> Iterator[dict[str, Any]]:
        self.path = None if path is None else os.fspath(path)
        with _only_user(self.path):
            self.alerts = None if self.path is None else _read_alerts(self.path)
            yield from self._tell()
            is_first = True
            while True:
                try:
                    if is_first:
                        if self.alerts is not None:
                            self._check_log(self.alerts)
                        self._check_rules()
                    has_more = self._look()
                except (OSError, Damaged, Refused) as trouble:
                    if self.once or is_first or isinstance(trouble, Refused) and not _may_pass(trouble):
                        raise
                    self.entries = []
                    wait = self._wait_seconds(getattr(trouble, "retry_after", None) or 0.0)
                    LOG.warning("waiting %.0f s: %s", wait, _plain(str(trouble)))
                    time.sleep(wait)
                    continue
                is_first = False
                yield from self._tell()
                if not has_more:
                    if self.once:
                        return
                    time.sleep(self._wait_seconds())

    def _tell(self) -> Iterator[dict[str, Any]]:
        """Yields pending events. Each counts as told when the next one is asked for."""
        while self.alerts is not None and self.alerts.pending:
            yield self.alerts.pending[0]
            self._keep(replace(self.alerts, pending=self.alerts.pending[1:]))

    def _wait_seconds(self, least: float = 0.0) -> float:
        """How long to wait for the next look: `least` seconds if that is not longer than the interval between looks."""
        due_at = _instant(self.alerts.next_session_utc) if self.alerts else datetime.now(timezone.utc)
        due = (due_at - datetime.now(timezone.utc)).total_seconds()
        return min(self.every_seconds, max(least, 60 if -3_600 < due < 60 else due if due > 0 else self.every_seconds))

    def _check_log(self, alerts: _Alerts) -> None:
        try:
            is_same = self._entry_sha256(alerts.publication) == alerts.entry_sha256
        except Refused as refusal:
            if refusal.status != 404:
                raise
            raise OSError(f"{self.transport.origin} has no entry {alerts.publication} of the log, which {self.path} has seen:"
                          " either another process of the service answered, or the state is of another service") from refusal
        if not is_same:
            raise ValueError(f"{self.path} is of another log: entry {alerts.publication} of {self.transport.origin} is not the"
                             " one that it has seen. Name another file, or delete this one to begin anew")

    def _check_rules(self) -> None:
        """Raises ValueError for an id that nothing has, of the rules that the state does not know."""
        known = self.alerts.sides if self.alerts else {}
        new = [rule for rule in self.rules if rule.key not in known]
        if not new:
            return
        with _reading():
            catalog = self.client.contracts()
            contracts = {id: each["id"] for each in catalog for id in (*each["formerly"], each["ticker"])}
            contracts.update((each["id"], each["id"]) for each in catalog)
            segments = {str(each["id"]) for each in _objects(catalog.about["segments"])}
            ids = {id for each in catalog for id in (each["id"], *each["formerly"])}
        for rule in new:
            for kind, subject in rule.subjects():
                indices = {} if kind == "contract" else {id: id for id in (segments if kind == "segment" else segments | {"composite"})}
                own = contracts if kind in ("id", "contract") else {}
                if _segment_id(subject) in indices or own and subject in ids:
                    continue
                near = {**indices, **own}
                found = [near[each] for each in difflib.get_close_matches(subject, near, 3)]
                found += [id for name, id in near.items() if name.lower() == subject.lower()]
                meant = ", ".join(dict.fromkeys(found)) or "nothing like it"
                what = {"id": "contract or index", "contract": "contract"}.get(kind, kind)
                raise ValueError(f"{rule.place}: no {what} has the id {subject!r}; did_you_mean: {meant}")

    def _entry_sha256(self, number: int) -> str:
        return "" if self.path is None else hashlib.sha256(self.transport.get(f"/log/{number}", {}, base="").body).hexdigest()

    def _look(self) -> bool:
        """Judges one publication more, if there is one. Returns whether another one waits."""
        with _reading():
            if self.alerts is None:
                board = self.client.prices()
                self._judge(board.about["publication"], board, self.client, [])
                return False
            if not self.entries:
                made = self.client.publications(self.alerts.publication)
                self.entries = [each for each in made if each["action"] != "prune"]
                if not self.entries:
                    self._judge_new_rules(self.alerts)
                    return False
            entry = self.entries[0]
            number, snapshot = entry["number"], entry["snapshot"]
            view = self.client
            board = view.prices() if len(self.entries) == 1 else None
            if board is not None and board.about["publication"] < number:
                self.entries = []
                return False  # another process of the service answered, which has not seen it yet
            if board is None or board.about["publication"] > number:
                view, board = self._board_of(entry)
            if board is None:
                self._keep(replace(self.alerts, publication=number, entry_sha256=self._entry_sha256(number)))
            else:
                is_corrected = self.transport.key is not None and entry["corrections"]
                corrections: Sequence[Correction] = view.corrections(after=number - 1) if is_corrected else []
                # One that came while this was asked is told with its own entry.
                self._judge(number, board, view, [each for each in corrections if each["corrected_in"] in {snapshot}])
            self.entries = self.entries[1:]
            return bool(self.entries)

    def _judge_new_rules(self, alerts: _Alerts) -> None:
        """Judges rules that the state does not know by the board that was judged last. The others stay."""
        if any(rule.key not in alerts.sides for rule in self.rules):
            board = self.client.prices()
            if board.about["publication"] == alerts.publication:
                self._judge(alerts.publication, board, self.client, [])

    def _board_of(self, entry: Publication) -> tuple[Client, Rows[Any] | None]:
        """The board as the entry published it; None: the caller may not have it, or it was pruned."""
        then = self.client.as_of(entry["number"])
        if self.transport.key is None:
            return then, None
        try:
            return then, then.prices()
        except Refused as refusal:
            is_new = datetime.now(timezone.utc) - _instant(entry["at"]) < timedelta(days=1)
            if refusal.code in ("pruned", "tier_required") or refusal.code == "not_published" and not is_new:
                return then, None
            raise

    def _judge(self, number: int, board: Rows[Any], view: Client, corrections: Sequence[Correction]) -> None:
        """Finds the events of a publication, and keeps them with the levels that caused them, all at once."""
        before, session = self.alerts, str(board.about["session_utc"])
        found = _Findings(self.rules, before, number, session, board, view, self.resolved)
        if before is not None and session != before.session_utc:
            found.add("session", "", session, f"Session {session} is published", board.about)
        for each in corrections:
            text = (f"{each['contract_id']}: the level of {each.get('session_utc')} was corrected from"
                    f" {_said(each.get('old_usd'))} to {_said(each.get('new_usd'))}: {each.get('reason')}")
            found.add("correction", str(each.get("session_utc")), each["contract_id"], text, {**each, **found.meaning(each)})
        found.judge()
        self._keep(_Alerts(number, self._entry_sha256(number), session, str(board.about["next_session_utc"]), found.sides,
                           found.gone, found.renamed, found.events, found.told))

    def _keep(self, alerts: _Alerts) -> None:
        _instant(alerts.next_session_utc)
        if self.path is not None:
            _write_whole(self.path, json.dumps({"format": STATE_FORMAT, **asdict(alerts)}, indent=1) + "\n")
        self.alerts = alerts


class _Findings:
    """The events of one publication, and what the rules stand at after it."""

    def __init__(self, rules: list[_Rule], before: _Alerts | None, number: int, session: str, board: Rows[Any], view: Client,
                 resolved: bool) -> None:
        self.rules, self.number, self.session, self.view, self.resolved = rules, number, session, view, resolved
        self.told: list[dict[str, Any]] = [dict(each) for each in before.told] if before else []
        self._since: dict[tuple[str, str], dict[str, tuple[str, Decimal]]] = {}
        self.sides_before = before.sides if before else {}
        self.gone_before, self.renamed_before = (before.gone, before.renamed) if before else ([], {})
        self.levels = {record["id"]: _level_of(record) for record in board} if rules else {}
        self.sides: dict[str, dict[str, list[Any]]] = {}
        self.gone: list[str] = []
        self.renamed: dict[str, str] = {}
        self.events: list[dict[str, Any]] = []
        self._closes: dict[str, dict[str, Decimal]] | None = None
        self._present: dict[str, str | None] = {}
        self._listed: set[str] | None = None
        self._segments: set[str] = set()

    def judge(self) -> None:
        for rule in self.rules:
            sides = self.sides[rule.key] = dict(self.sides_before.get(rule.key, {}))
            if rule.kind == "segment":
                self._judge_segment(rule, sides)
                continue
            if rule.kind == "basket":
                basket = self._basket(rule)
                if basket is not None:
                    self._compare(rule, rule.subject, basket, sides)
                continue
            level = self._level(rule)
            if level is not None:
                self._compare(rule, rule.subject, level, sides)

    def _level(self, rule: _Rule) -> _Level | None:
        """The level of the rule's contract or index; None: it is gone."""
        level = None if rule.kind == "index" else self.levels.get(rule.subject)
        if level is None and rule.kind != "index" and rule.subject in self.renamed_before:
            level = self.levels.get(self.renamed_before[rule.subject])
            if level is not None:
                self.renamed[rule.subject] = level.id
        if level is None and rule.subject in self.gone_before and not self._may_be_back(rule):
            self._note_gone(rule.subject)
            return None
        if level is None and rule.kind != "contract":
            level = self._index_level(rule.subject, rule.kind == "index")
        if level is None and rule.kind == "index":
            self._note_gone(rule.subject)
            self._add_gone(rule.subject, "unknown_index", {"detail": "No index of the market has this id."})
        elif level is None:
            present = self._look_for(self.renamed_before.get(rule.subject, rule.subject), rule.subject)
            if present is None:
                self._note_gone(rule.subject)
            else:
                self.renamed[rule.subject] = present
                level = self.levels[present]
        return level

    def _may_be_back(self, rule: _Rule) -> bool:
        """Whether an id that was gone is worth a call: an index, or a contract of the catalog that is not delisted."""
        if rule.kind == "index":
            return True
        if self._listed is None:
            catalog = self.view.contracts()
            self._listed = {id for each in catalog if each["delisted_on"] is None for id in (each["id"], *each["formerly"])}
            self._segments = {each["id"] for each in _objects(catalog.about["segments"])} | {"composite"}
        is_index = rule.kind == "id" and _segment_id(rule.subject) in self._segments
        return is_index or rule.subject in self._listed

    def _judge_segment(self, rule: _Rule, sides: dict[str, list[Any]]) -> None:
        members = {id: level for id, level in self.levels.items()
                   if _segment_id(level.record["segment"]) == _segment_id(rule.subject)}
        for id in [id for id in sides if id not in members]:
            side = sides.pop(id)
            present = None if id in self.levels else self._look_for(id, id)
            if present in members:
                sides[str(present)] = side
        if not members:
            self._note_gone(rule.subject)
            self._add_gone(rule.subject, "unknown_index", {"detail": "No contract of this segment is on the board."})
        for id, level in members.items():
            self._compare(rule, id, level, sides)

    def meaning(self, correction: Mapping[str, Any]) -> dict[str, Any]:
        """The event whose level it corrects, and the settled month that it changes."""
        id, session, old = correction["contract_id"], str(correction.get("session_utc")), correction.get("old_usd")
        more: dict[str, Any] = {}
        if not re.match("[0-9]{4}-[0-9]{2}-[0-9]{2}T", session):
            return more
        for each in self.told:
            if each["id"] == id and each["value"] == old and session[:10] in (each["as_of"], each["session_utc"][:10]):
                more["corrects"] = each["event_id"]
                each["value"] = correction.get("new_usd")
        last_noon = (datetime(int(session[:4]), int(session[5:7]), 28, 12, tzinfo=timezone.utc) + timedelta(days=4)).replace(day=1)
        if last_noon - timedelta(days=1) < _instant(self.session) and (not self.rules or self._is_named(id)):
            more["settled"] = session[:7]
        return more

    def _is_named(self, id: str) -> bool:
        """Whether a rule names the contract, or its segment."""
        level = self.levels.get(id)
        segment = _segment_id(level.record["segment"]) if level else None
        return any(_segment_id(subject) == segment if kind == "segment" else self.renamed_before.get(subject, subject) == id
                   for rule in self.rules for kind, subject in rule.subjects())

    def _basket(self, rule: _Rule) -> _Level | None:
        """What the basket costs; None: a part of it has no level."""
        try:
            found = self.view.basket(json.loads(rule.subject))
        except Refused as refusal:
            if refusal.code not in ("unknown_contract", "not_on_board"):
                raise
            self._note_gone(rule.subject)
            self._add_gone(rule.subject, refusal.code, {"detail": refusal.detail, "did_you_mean": refusal.did_you_mean})
            return None
        cost = _exact(found.get("cost_usd"))
        changes = {over: None if found.get(name) is None else _change(cost, _exact(found[name]))
                   for over, name in BASKET_WINDOWS.items()}
        return _Level(rule.subject, "Basket", "basket", cost, "USD", changes, {})

    def _change_since(self, rule: _Rule, level: _Level) -> Decimal | None:
        """The change since the close of a date, or the last one before it; None: there is none, or a break came after it."""
        date = str(rule.over)
        known = self._since.get((level.kind, date))
        if known is None:
            is_index = level.kind == "index"
            ids = {each.subject for each in self.rules if each.over == date}
            rows: Rows[Any] = self.view.series(end=date, last=1) if is_index else self.view.history(end=date, last=1) if len(ids) != 1 \
                else self.view.history([level.id], end=date, last=1)
            name = "index_id" if is_index else "contract_id"
            known = {row[name]: (str(row.get("session_utc") or row["date"]), _exact(row["close" if is_index else "close_usd"]))
                     for row in rows}
            self._since[level.kind, date] = known
        reference = known.get(level.id) or known.get(_segment_id(level.id))
        broken = level.record.get("break")
        if reference is None or broken is not None and str(broken["session_utc"]) > reference[0]:
            return None
        return _change(level.value, reference[1])

    def _compare(self, rule: _Rule, place: str, level: _Level, sides: dict[str, list[Any]]) -> None:
        if rule.condition == "change_pct" and rule.over not in level.changes:
            level = replace(level, changes={**level.changes, str(rule.over): self._change_since(rule, level)})
        side, was = rule.side(level), sides.get(place)
        if side is None:
            return
        sides[place] = [side, float(level.value)]
        was_side, was_value = was or (None, None)
        if rule.condition == "threshold":
            if was is not None and side != was_side:
                text = f"{level.name} ({level.id}) crossed {_said(rule.limit)}: {_said(level.value)} {level.unit}"
                more = {"threshold_usd": float(rule.limit), "was_usd": was_value, **level.record}
                self._note(rule, level, self.add("threshold", rule.key, level.id, text, more))
        elif side != 0 and side != (was_side or 0):
            change = level.changes.get(rule.over or "")
            is_change = rule.condition == "change_pct"
            named = "since" if "since" in rule.given else "over"
            said = (f"moved {change:+} % {named} {rule.over}, to" if is_change
                    else f"is {rule.condition} {_said(rule.limit)}:")
            event_id = self.add(rule.condition, rule.key, level.id, f"{_titled(level)} {said} {_said(level.value)} {level.unit}", {
                "session_utc": self.session, "id": level.id, "kind": level.kind, "name": level.name,
                "value": float(level.value), "unit": level.unit, "was": was_value, "limit": float(rule.limit),
                **({"change_pct": float(change or 0), named: rule.over} if is_change else {}), "rule": rule.given,
            })
            self._note(rule, level, event_id)
        elif side == 0 and was_side and self.resolved:
            alarm = [each["event_id"] for each in self.told if each["rule"] == rule.key and each["id"] in (place, level.id)]
            self.add("resolved", rule.key, level.id, f"{_titled(level)}: {_rule_text(rule)} no longer holds, at"
                     f" {_said(level.value)} {level.unit}", {
                "session_utc": self.session, "id": level.id, "kind": level.kind, "name": level.name,
                "value": float(level.value), "unit": level.unit, "resolves": alarm[-1] if alarm else None, "rule": rule.given,
            })

    def _note(self, rule: _Rule, level: _Level, event_id: str) -> None:
        """Keeps what an event said of a level, so that a correction of that level can name it."""
        self.told = [each for each in self.told if (each["rule"], each["id"]) != (rule.key, level.id)]
        as_of = str(level.record.get("as_of", self.session[:10]))
        self.told.append({"rule": rule.key, "id": level.id, "event_id": event_id, "session_utc": self.session, "as_of": as_of,
                          "value": float(level.value)})

    def add(self, event: str, place: str, id: str, text: str, more: Mapping[str, Any]) -> str:
        """Notes an event, and returns its id, which depends only on the entry of the log and on its subject."""
        words = json.dumps([self.number, event, place, id])
        event_id = hashlib.sha256(words.encode()).hexdigest()[:24]
        if all(each["event_id"] != event_id for each in self.events):
            self.events.append({"event": event, "event_id": event_id, "number": self.number, "text": _plain(text)[:TEXT_MAX], **more})
        return event_id

    def _note_gone(self, id: str) -> None:
        if id not in self.gone:
            self.gone.append(id)

    def _add_gone(self, id: str, code: str, more: Mapping[str, Any]) -> None:
        """Notes that an id is gone, once until it is back."""
        if id in self.gone_before:
            return
        told = {name: value for name, value in more.items() if value is not None}
        text = f"{id} left the board: {code}"
        self.add("gone", code, id, text, {"session_utc": self.session, "id": id, "code": code, **told})

    def _look_for(self, id: str, told_as: str) -> str | None:
        """The present id of a contract that left the board, and an event that says so; None: it has none."""
        if id not in self._present:
            self._present[id] = self._ask_for(id, told_as)
        return self._present[id]

    def _ask_for(self, id: str, told_as: str) -> str | None:
        try:
            found = self.view.contract(id)
        except Refused as refusal:
            if refusal.status != 404 or refusal.code == NO_PROBLEM:
                raise
            self._add_gone(told_as, refusal.code, {"detail": refusal.detail, "did_you_mean": refusal.did_you_mean,
                                                   "delisted_on": refusal.problem.get("delisted_on")})
            return None
        present = found["id"]
        if present != id and present in self.levels:
            more = {"session_utc": self.session, "id": told_as, "new_id": present}
            self.add("renamed", "", told_as, f"{told_as} is now {present}", more)
            return present
        self._add_gone(told_as, "not_on_board", {"delisted_on": found.get("delisted_on")})
        return None

    def _index_level(self, id: str, is_index: bool) -> _Level | None:
        """The last close of an index, and its changes over the days before; None: there is no such index."""
        if self._closes is None:
            self._closes = {}
            try:
                for row in self.view.series(last=max(WINDOWS.values()) + 1):
                    self._closes.setdefault(row["index_id"], {})[row["date"]] = _exact(row["close"])
            except Refused as refusal:
                # Where indices are not for the caller, an id may still name a contract.
                if is_index or refusal.status not in (401, 403):
                    raise
        # Also by the name of its segment.
        closes = self._closes.get(id) or self._closes.get(_segment_id(id))
        if not closes:
            return None
        day = max(closes)
        changes = {over: _change(closes[day], closes.get(str(date.fromisoformat(day) - timedelta(days))))
                   for over, days in WINDOWS.items()}
        return _Level(id, id, "index", closes[day], "points", changes, {})


def _titled(level: _Level) -> str:
    return level.name if level.kind == "basket" else f"{level.name} ({level.id})"


def _rule_text(rule: _Rule) -> str:
    """The condition of a rule, as it was given."""
    return ", ".join(f"{name} {value}" for name, value in rule.given.items() if name not in KINDS)


def _level_of(record: dict[str, Any]) -> _Level:
    given = {over: record.get(f"chg_{over}_pct") for over in WINDOWS}
    changes = {over: None if change is None else _exact(change) for over, change in given.items()}
    name, unit = str(record.get("name", record["id"])), str(record.get("unit", "USD"))
    return _Level(record["id"], name, "contract", _exact(record["spot_usd"]), unit, changes, record)


def _change(now: Decimal, then: Decimal | None) -> Decimal | None:
    """Percent, with two decimals as the service rounds them."""
    return None if not then else ((now / then - 1) * 100).quantize(Decimal("0.01"), ROUND_HALF_UP)


def _segment_id(name: str) -> str:
    return re.sub("[^a-z0-9]", "-", name.lower())[:200]


def _rules(given: Mapping[str, Any] | Iterable[Mapping[str, Any]] | None) -> list[_Rule]:
    """Checks rules. Raises ValueError with the place of each part that it does not understand."""
    rules: list[_Rule] = []
    if not isinstance(given, Mapping):
        for number, each in enumerate(given or [], 1):
            rules += _rule(each, f"rule {number}")
        return rules
    by_id = dict(cast("Mapping[str, Any]", given))
    if any(isinstance(by_id.get(kind), str) for kind in KINDS):
        return _rule(by_id, "the rule")
    for id, value in by_id.items():
        place = f"rule of {id}"
        if isinstance(value, (dict, list)):
            several = cast("list[Any]", value if isinstance(value, list) else [value])
            for each in several:
                named = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
                if any(kind in named for kind in KINDS):
                    raise ValueError(f"{place}: expected none of {', '.join(KINDS)}, because {id} is the id already")
                rules += _rule(dict(cast("dict[str, Any]", each), id=id) if isinstance(each, dict) else each, place)
        else:
            limit = _limit(value, place)
            key = json.dumps(["contract", id, "threshold", _said(limit)])
            rules.append(_Rule("contract", id, "threshold", limit, None, (), key, {id: value}, place))
    return rules


def _rule(given: Any, place: str) -> list[_Rule]:
    """The conditions of one rule."""
    if not isinstance(given, Mapping):
        raise ValueError(f'{place}: expected an object such as {{"id": "ID", "above": 5}}, got {given!r}')
    rule = dict(cast("Mapping[str, Any]", given))
    kinds = [name for name in KINDS if name in rule]
    names = (*KINDS, *CONDITIONS, "over", "since")
    unknown = [name for name in rule if name not in names]
    if unknown:
        raise ValueError(f"{place}: unknown member {unknown[0]!r}; expected {', '.join(names)}")
    if kinds == ["basket"]:
        rule["basket"] = _quantities(rule["basket"], place)
    if len(kinds) != 1 or not isinstance(rule[kinds[0]], str) or not rule[kinds[0]]:
        raise ValueError(f"{place}: expected the id in one of {', '.join(KINDS)}, got {rule!r}")
    conditions = [name for name in CONDITIONS if name in rule]
    if not conditions:
        raise ValueError(f"{place}: expected one of {', '.join(CONDITIONS)}, got {rule!r}")
    if "since" in rule:
        if "over" in rule or "change_pct" not in rule or kinds == ["basket"]:
            raise ValueError(f"{place}: expected \"since\" with change_pct, without over, and for no basket")
        rule["over"] = _day(rule["since"], f"{place}, since")
    else:
        windows = tuple(BASKET_WINDOWS if kinds == ["basket"] else WINDOWS)
        if ("change_pct" in rule) != ("over" in rule) or rule.get("over", "24h") not in windows:
            raise ValueError(f"{place}: expected \"over\": one of {', '.join(windows)} with change_pct, got {rule.get('over')!r}")
    return [_condition(rule, kinds[0], name, f"{place}, {name}") for name in conditions]


def _quantities(given: Any, place: str) -> str:
    """The quantities of a basket by contract, as a text that is the same for the same basket."""
    if not isinstance(given, dict) or not 1 <= len(cast("dict[Any, Any]", given)) <= IDS_MAX:
        raise ValueError(f'{place}: expected a basket such as {{"ID": 64}} with 1 to {IDS_MAX} contracts, got {given!r}')
    parts = cast("dict[str, Any]", given)
    return json.dumps({id: float(_amount(parts[id], f"{place}, basket, {id}")) for id in sorted(parts)})


def _condition(rule: dict[str, Any], kind: str, name: str, place: str) -> _Rule:
    value, over, signs = rule[name], None, (1, -1)
    if name == "change_pct":
        over = rule["over"]
        is_rise = isinstance(value, str) and value.startswith("+")
        value = Decimal(value[1:]) if is_rise and re.fullmatch(r"\+[0-9]{1,9}(\.[0-9]{1,9})?", value) else value
        limit = _limit(value, place)
        if limit == 0:
            raise ValueError(f"{place}: expected a number of percent other than 0")
        signs = (1,) if is_rise else (-1,) if limit < 0 else signs
        limit = abs(limit)
    else:
        limit = _limit(value, place)
    key = json.dumps([kind, rule[kind], name, _said(limit), over, signs])
    time_name = "since" if "since" in rule else "over"
    subject = json.loads(rule[kind]) if kind == "basket" else rule[kind]
    given = {kind: subject, name: rule[name], **({time_name: over} if over else {})}
    return _Rule(kind, rule[kind], name, limit, over, signs, key, given, place)


def _limit(value: Any, place: str) -> Decimal:
    number = _exact(value, place)
    if not number.is_finite() or abs(number.adjusted()) > 20:
        raise ValueError(f"{place}: expected a number, got {value!r}")
    return number


@contextmanager
def _only_user(path: str | None) -> Generator[None, None, None]:
    """Keeps the state for this program. Raises OSError if another one has it."""
    if path is None or sys.platform == "win32":
        yield
        return
    import fcntl

    with open(path + ".lock", "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise OSError(f"{path} is in use: another program watches with this state") from error
        yield


def _read_alerts(path: str) -> _Alerts | None:
    """The state in the file; None: there is none yet. Raises ValueError if it is anything else."""
    try:
        with open(path, "rb") as file:
            found = json.loads(file.read())
    except FileNotFoundError:
        return None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: it is no JSON. Put back a copy, or delete it to begin anew") from error
    state = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
    if state.pop("format", None) != STATE_FORMAT:
        raise ValueError(f"{path} is no state of watch: expected \"format\": \"{STATE_FORMAT}\". Name another file, or"
                         " delete this one to begin anew")
    try:
        state.setdefault("told", [])  # an older client kept none
        alerts = _Alerts(**state)
        _instant(alerts.next_session_utc)
        texts: list[Any] = [alerts.entry_sha256, alerts.session_utc, *alerts.gone, *alerts.renamed.values()]
        texts += [each[name] for each in alerts.pending for name in ("event", "event_id", "text")]
        texts += [each[name] for each in alerts.told for name in ("rule", "id", "event_id", "session_utc", "as_of")]
        sides = [each for by_id in alerts.sides.values() for each in by_id.values()]
        is_whole = (type(alerts.publication) is int and all(isinstance(text, str) for text in texts)
                    and all(side in (-1, 0, 1) and _exact(value).is_finite() for side, value in sides))
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ValueError(f"{path} is damaged: {error}. Put back a copy, or delete it to begin anew") from error
    if not is_whole:
        raise ValueError(f"{path} is damaged. Put back a copy, or delete it to begin anew")
    return alerts


def _write_whole(path: str, text: str) -> None:
    """Replaces the file by the whole text, or leaves it as it is, also when the power fails."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _fields(message: Message) -> dict[str, str]:
    """Header fields by their names in lower case; lines of the same name as one list (RFC 9110, 5.3)."""
    fields: dict[str, str] = {}
    for name, value in message.items():
        name, text = name.lower(), " ".join(line.strip() for line in str(value).splitlines())
        fields[name] = f"{fields[name]}, {text}" if name in fields else text
    return fields


def _items(headers: Mapping[str, str], name: str) -> list[str]:
    """The items of a list, in lower case, without empty ones (RFC 9110, 5.6.1)."""
    items = (item.strip().lower() for item in headers.get(name, "").split(","))
    return [item for item in items if item]


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds of retry-after, which has a number or a date (RFC 9110, 10.2.3); None: neither."""
    text = headers.get("retry-after", "")
    if re.fullmatch("[0-9]{1,9}", text):
        return float(text)
    until = _http_date(text)
    # By the clock that wrote it, if it says what time it is.
    now = _http_date(headers.get("date", "")) or datetime.now(timezone.utc)
    return None if until is None else max((until - now).total_seconds(), 0.0)


def _http_date(text: str) -> datetime | None:
    try:
        found = parsedate_to_datetime(text)
        return found.replace(tzinfo=timezone.utc) if found.tzinfo is None else found.astimezone(timezone.utc)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _prove(answer: Answer) -> None:
    found = re.search(r"(?:^|,)\s*sha-256=:([A-Za-z0-9+/=]+):", answer.headers.get("unencoded-digest", ""))
    if found is None or base64.b64decode(found[1]) != hashlib.sha256(answer.body).digest():
        raise Damaged("the answer is not what its digest says")


def _refusal(status: int, answer: Answer) -> Refused:
    problem: dict[str, Any] = {}
    try:
        problem = _objects([_parsed(answer.body)])[0]
        code, detail = _plain(str(problem["code"])), _plain(str(problem["detail"]))
    except (Damaged, ValueError, KeyError, RecursionError):
        code, detail = NO_PROBLEM, "no problem document"
    named = {"request_id": answer.headers.get("x-request-id"), **problem}
    return Refused(status, code, detail, _retry_after(answer.headers), named)


def _is_of_front(refusal: Refused) -> bool:
    """Whether a server in front says that the service is away or overloaded."""
    return refusal.code == NO_PROBLEM and (refusal.status == 429 or refusal.status >= 500)


def _is_away(error: OSError) -> bool:
    """Whether nothing was received: the service restarts, or there is no network at the moment."""
    reason = error.reason if isinstance(error, URLError) else error
    is_unnamed = isinstance(reason, socket.gaierror) and reason.errno == socket.EAI_AGAIN
    return is_unnamed or isinstance(reason, (ConnectionRefusedError, ConnectionResetError, ConnectionAbortedError))


def _may_pass(refusal: Refused) -> bool:
    """Whether waiting may help: always, unless the service itself says no."""
    return refusal.retry_after is not None or refusal.status >= 500 or refusal.code == NO_PROBLEM


def _object(answer: Answer) -> dict[str, Any]:
    """The JSON object that the answer is."""
    try:
        found = _parsed(answer.body)
    except (ValueError, RecursionError) as error:
        raise Damaged("the answer is no JSON") from error
    return _objects([found])[0]


def _parsed(body: bytes, **how: Any) -> Any:
    """The value that JSON has. Its elements are counted before it is read."""
    if sum(map(body.count, (b",", b"[", b"{"))) > ELEMENTS_MAX:
        raise Damaged(f"the answer has more than {ELEMENTS_MAX} elements")
    return json.loads(body, **how)


def _objects(values: Any) -> list[dict[str, Any]]:
    """The values, which must be a list of JSON objects."""
    if _listed(values, dict) is None:
        raise Damaged("the answer has an unexpected form")
    return values


def _listed(values: Any, kind: type) -> Any:
    """The values if they are a list of that kind."""
    listed = cast("list[Any]", values) if isinstance(values, list) else [None]
    return listed if all(isinstance(each, kind) for each in listed) else None


def _if_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def _texts(given: Iterable[str] | None, name: str) -> list[str] | None:
    """The ids, each once, in their order. Raises ValueError for none: that would mean all."""
    if given is None:
        return None
    texts = [str(each) for each in (given.split(",") if isinstance(given, str) else given)]
    if not texts:
        raise ValueError(f"{name}: expected at least one; leave it out for all")
    return list(dict.fromkeys(texts))


def _joined(texts: list[str] | None) -> str | None:
    return None if texts is None else ",".join(texts)


def _dates(start: Day | None, end: Day | None, last: int | None) -> dict[str, Any]:
    return {"from": _day(start, "start"), "to": _day(end, "end"), "last": None if last is None else str(last)}


def _period(path: str, start: Day | None, end: Day | None, last: int | None) -> dict[str, Any]:
    """From where to where: in months for settlements, in dates for all else."""
    if path != SETTLEMENTS:
        return _dates(start, end, last)
    if last is not None:
        raise ValueError("last: settlements are selected by start and end")
    return {"from": _month(start, "start"), "to": _month(end, "end")}


def _figure_text(record: Mapping[str, Any]) -> bytes:
    """A settled month in words, then its record, a line each."""
    what = f"{record['kind']} {record['id']} in {record['month']}"
    unit = "points" if record["unit"] is None else record["unit"]
    average = record["average"]
    said = f"The settled average of {what} is {average} {unit}." if average is not None else f"There is no settled average of {what}."
    lines = [f"{name}: {'none' if value is None else value}" for name, value in record.items()]
    return "\n".join([said, "", *lines, ""]).encode()


def _month(value: Day | None, name: str) -> str | None:
    """The month, YYYY-MM, also of a date or an instant in it."""
    is_month = isinstance(value, str) and re.fullmatch("[0-9]{4}-[0-9]{2}", value)
    try:
        day = _day(f"{value}-01" if is_month else value, name)
    except ValueError as error:
        raise ValueError(f"{name}: expected a month such as 2026-10, got {value!r}") from error
    return None if day is None else day[:7]


def _day(value: Day | None, name: str) -> str | None:
    """The date, YYYY-MM-DD. Of an instant with a time zone its date in UTC."""
    if value is None:
        return None
    try:
        if isinstance(value, datetime):
            value = (value if value.tzinfo is None else value.astimezone(timezone.utc)).date()
        # A date, or numpy's datetime64, which is longer. Of pandas' NaT the date is NaT.
        return date.fromisoformat(str(value)[:10]).isoformat()
    except (ValueError, TypeError) as error:
        raise ValueError(f"{name}: expected a date such as 2026-11-20, got {value!r}") from error


def _moment(value: Day) -> str:
    """A date, or an instant in UTC, in ISO 8601. Texts are passed on."""
    if isinstance(value, str):
        return value
    try:
        if isinstance(value, datetime):
            utc = value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)
            return datetime.fromisoformat(utc.isoformat()[:19]).isoformat() + "Z"
        text = str(value)
        if len(text) == 10:
            return date.fromisoformat(text).isoformat()
        return datetime.fromisoformat(text[:19]).isoformat() + "Z"
    except (ValueError, TypeError) as error:
        raise ValueError(f"as_of: expected a date, an instant or the number of an entry, got {value!r}") from error


def _exact(value: Any, place: str | None = None) -> Decimal:
    """The number without loss. Raises ValueError for a text, a truth value and anything else that is no number."""
    try:
        if isinstance(value, bool):
            raise TypeError("a truth value")
        if isinstance(value, Decimal):
            return value
        if isinstance(value, float):
            return Decimal(float.__repr__(value))
        if isinstance(value, numbers.Rational):
            with localcontext() as context:
                context.prec = 60
                return Decimal(int(value.numerator)) / Decimal(int(value.denominator))
        if getattr(getattr(value, "dtype", None), "kind", "") in ("f", "i", "u"):
            return Decimal(str(value))  # the shortest text that gives numpy's value back
        raise TypeError("no number")
    except (TypeError, ValueError, InvalidOperation) as error:
        raise ValueError(f"{place or 'the answer'}: expected a number, got {value!r}") from error


def _amount(value: Any, place: str) -> str:
    """The number as plain decimals, rounded to nine."""
    number = _exact(value, place)
    if number.is_finite() and 0 < number < 10**DECIMALS:
        text = f"{number.quantize(Decimal(1).scaleb(-DECIMALS), ROUND_HALF_EVEN):f}".rstrip("0").rstrip(".")
        if text != "0" and len(text.partition(".")[0]) <= DECIMALS:
            return text
    raise ValueError(f"{place}: expected a number above 0 with at most {DECIMALS} digits before the point, which does not"
                     f" round to 0 at {DECIMALS} decimals, got {value!r}")


def _plain(text: str) -> str:
    """The text in one line, for terminals and commands. Characters that are not printable are escaped: control characters,
    marks of the direction, halves of a surrogate.
    """
    line = " ".join(text.split())
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in line)


def _said(value: Any) -> str:
    """A number for people: 12, 0.000001."""
    if value is None:
        return "none"
    text = f"{_exact(value):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _table(answer: Answer, *names: str) -> tuple[list[str], list[list[str]]]:
    """The header and the records of CSV that begins with these columns."""
    with _reading():
        header, *rows = csv.reader(io.StringIO(answer.body.decode(), newline=""), strict=True)
    is_plain = all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in header)
    if header[:len(names)] != [*names] or not is_plain or not len(set(header)) == len(header) <= COLUMNS_MAX:
        raise Damaged("the file has unexpected columns")
    if any(len(row) != len(header) for row in rows):
        raise Damaged("a row of the file has more or fewer cells than its header")
    return header, rows


def _line(header: list[str]) -> str:
    return ",".join(header) + "\r\n"


def _typed(answers: list[Answer], *names: str) -> Rows[Any]:
    header: list[str] = []
    records: list[dict[str, Any]] = []
    for answer in answers:
        header, rows = _table(answer, *names)
        with _reading():
            records += (dict(zip(header, row)) for row in _values(header, rows))
    with _reading():
        return Rows[Any](records, _about(answers), header)


def _about(answers: list[Answer]) -> dict[str, Any]:
    """What holds for the rows of all these files."""
    return {**answers[0].about, "asked": {asked: id for each in answers for asked, id in each.asked().items()}}


def _values(header: list[str], rows: Iterable[list[str]]) -> Iterator[list[Any]]:
    """Rows with numbers as such, and None for empty cells."""
    kinds = [PARSED.get(FIELD_KINDS.get(name, ""), str) for name in header]
    return ([None if cell == "" else kind(cell) for kind, cell in zip(kinds, row)] for row in rows)


def _text(value: float) -> str:
    """The number as the service writes it: 12, 0.000001."""
    text = repr(value)
    return format(Decimal(text), "f") if "e" in text else text[:-2] if text.endswith(".0") else text


def _pandas() -> Any:
    try:
        return importlib.import_module("pandas")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("frames need pandas: python3 -m pip install pandas") from error


def _read_frame(pandas: Any, answer: Answer) -> Any:
    """A file as pandas reads it. Ids and other texts stay texts, also `NA` and `007`."""
    texts = {name: str for name, kind in FIELD_KINDS.items() if kind not in PARSED}
    return pandas.read_csv(io.BytesIO(answer.body), dtype=texts, keep_default_na=False, na_values=[""])


def _finished(frame: Any, about: dict[str, Any]) -> Any:
    """The frame with dates and instants as such."""
    pandas = _pandas()
    for name in frame.columns:
        if FIELD_KINDS.get(name) in ("date", "instant"):
            frame[name] = pandas.to_datetime(frame[name], utc=FIELD_KINDS[name] == "instant")
    frame.attrs.update(about)
    return frame


def _told(event: dict[str, Any], command: str | None, webhook: str | None) -> None:
    """Tells an event by a command, a webhook, or a line of JSON. Raises OSError if that fails."""
    body = json.dumps(event)
    if command is not None:
        given = {"EVENT": event["event"], "EVENT_ID": event["event_id"], "EVENT_TEXT": _plain(event["text"])[:TEXT_MAX]}
        ended = subprocess.run(command, shell=True, input=body.encode() + b"\n", env={**os.environ, **given}, check=False)
        if ended.returncode != 0:
            raise OSError(f"the command ended with {ended.returncode}: {given['EVENT_TEXT']}")
    elif webhook is not None:
        headers = {"content-type": "application/json", "user-agent": USER_AGENT, "idempotency-key": event["event_id"]}
        # Slack shows `text`, and Discord `content`.
        sent = json.dumps({**event, "content": event["text"][:TEXT_MAX]}).encode()
        try:
            with build_opener(_NoRedirect, _Ends).open(Request(webhook, sent, headers), timeout=30):
                pass
        except (HTTPError, http.client.HTTPException) as refused:
            # Not its address, which may hold a secret.
            raise OSError(f"the webhook refused: {refused}") from None
    else:
        print(body, flush=True)


def _write_evidence(asked: argparse.Namespace) -> int:
    path: str = asked.out or f"{quote(asked.id, safe='')}-{asked.month}.zip"
    client = Client(asked.url, os.environ.get("CHIPBOARD_KEY") or None)
    told = client.evidence(asked.id, asked.month, path, "index" if asked.index else None)
    print(_plain(_figure_text(told).decode().splitlines()[0]))
    print(f"wrote {path}: " + ("the log is signed; verify.sh in it names the key" if told["signed"] else "the log is not signed"))
    print(_plain(told["permission"]))
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """The commands. 0: done; 1: the service, the command or the webhook failed; 2: wrong rules, options, month or state."""
    name = "client.py" if __name__ == "__main__" else "python -m chipboard_client"
    parser = argparse.ArgumentParser(prog=name, description="Watches prices, and proves settled figures. The key is read from CHIPBOARD_KEY.")
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, dest="does", metavar="watch|evidence")
    evidence = commands.add_parser("evidence", help="write a settled month with its proof into a zip",
                                   description="Writes a settled month with its proof, for somebody without the service. For Pro.")
    evidence.add_argument("id", help="a contract; an index, if no contract has this id")
    evidence.add_argument("--month", required=True, help="a settled month, such as 2026-10")
    evidence.add_argument("--index", action="store_true", help="only an index")
    evidence.add_argument("--out", help="the file (default: ID-MONTH.zip)")
    evidence.add_argument("--url", default=os.environ.get("CHIPBOARD_URL") or ORIGIN, help="the service; or CHIPBOARD_URL")
    watch = commands.add_parser(
        "watch", help="tell events of rules", description="Tells events of rules, each at least once, with a stable event_id.")
    watch.add_argument("rules", help='a JSON file: [{"id": "ID", "above": 5}, {"index": "dram", "change_pct": 10, "over": "7d"}]')
    watch.add_argument("--once", action="store_true", help="report new events and exit, for cron")
    watch.add_argument("--state", help="file of the reported events (default: alerts.json beside the rules)")
    watch.add_argument("--url", default=os.environ.get("CHIPBOARD_URL") or ORIGIN, help="the service; or CHIPBOARD_URL")
    watch.add_argument("--every", type=float, default=600, metavar="SECONDS", help="how often to look; 600 unless named")
    watch.add_argument("--all", action="store_true", help="also tell each session and each correction")
    watch.add_argument("--resolved", action="store_true", help="also tell when a rule no longer holds")
    how = watch.add_mutually_exclusive_group()
    how.add_argument("--command", help="run this in a shell for each event: JSON on its input, EVENT_TEXT, EVENT_ID and EVENT"
                     " in its environment")
    how.add_argument("--webhook", default=os.environ.get("CHIPBOARD_WEBHOOK") or None,
                     help="send each event to this address by POST; or CHIPBOARD_WEBHOOK")
    asked = parser.parse_args(argv)
    try:
        if asked.does == "evidence":
            return _write_evidence(asked)
        webhook: str | None = None if asked.command else asked.webhook
        state = asked.state or os.path.join(os.path.dirname(asked.rules), "alerts.json")
        with open(asked.rules, encoding="utf-8") as file:
            try:
                rules = json.load(file)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{asked.rules} is no JSON: {error}") from error
        if not isinstance(rules, (list, dict)):
            raise ValueError(f"{asked.rules}: expected a list of rules")
        given = cast("list[Any] | dict[str, Any]", rules)
        if not given and not asked.all:
            raise ValueError(f"{asked.rules} has no rule: nothing would ever be told")
        if webhook is not None:
            hook = urlsplit(webhook)
            if hook.scheme not in ("http", "https") or not hook.hostname:
                # Not the address, which may hold a secret.
                raise ValueError("--webhook: expected an address such as https://hooks.example/id")
        client = Client(asked.url, os.environ.get("CHIPBOARD_KEY") or None)
        events: Iterator[dict[str, Any]] = client.watch(given, asked.every, state=state, once=asked.once, resolved=asked.resolved)
        for event in events:
            if asked.all or event["event"] not in ("session", "correction") or event.keys() & {"corrects", "settled"}:
                _tell_surely(event, asked.command, webhook, asked.once)
        return 0
    except ValueError as error:
        print(f"error: {_plain(str(error))}", file=sys.stderr)
        return 2
    except (OSError, Refused, Damaged) as error:
        print(f"error: {_plain(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _tell_surely(event: dict[str, Any], command: str | None, webhook: str | None, once: bool) -> None:
    """Tries until the event is told; with `once` the next run tries again."""
    pause = 5.0
    while True:
        try:
            return _told(event, command, webhook)
        except OSError as error:
            if once:
                raise
            print(f"error: {_plain(str(error))}", file=sys.stderr, flush=True)
            time.sleep(pause)
            pause = min(2 * pause, 300.0)


if __name__ == "__main__":
    sys.exit(main())
