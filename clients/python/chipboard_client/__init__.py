"""Prices of memory and semiconductor contracts. One module; Python 3.9 or newer, pandas if you want frames.

    curl -sO {{origin}}/client.py

    from client import Client
    client = Client(key="cbk_...")                # without a key: the free slice
    client.prices(segment="dram").frame()         # records of the board, as a pandas.DataFrame
    client.contract("ID", last=1)                 # one of them, with its breaks, corrections and limits
    client.history(["ID"], start="2026-01-01")    # daily closes: a list of dicts
    client.levels(["ID"], last=10)                # both sessions of a day
    client.levels(["ID"], known_at=42)            # as entry 42 of the log had them, for a back-test
    client.index()                                # the composite; index("dram", last=30): one with its series
    client.basket({"ID": 64})["cost_usd"]         # by quantities; basket(..., by="weights")
    client.as_of("2026-11-20").prices()           # as it was published then; as_of(42): by entry 42 of the log
    client.sync("history.sqlite")                 # a copy of /history.csv that stays in step
    for event in client.watch({"ID": 5.0}):       # a session, a crossed threshold, a correction
        print(event)

The answer to each request for data is proven by its `unencoded-digest`. What did not change costs no call: the
client keeps small answers, and asks with their ETag.
"""
from __future__ import annotations

import base64
import csv
import hashlib
import http.client
import io
import ipaddress
import itertools
import json
import re
import sqlite3
import time
import zlib
from collections import OrderedDict
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, BinaryIO, Callable, Iterable, Iterator, Mapping, Sequence
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urljoin, urlsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

ORIGIN = "{{origin}}"
API = "/api/public/v1"
HISTORY = "/history.csv"
SESSION = timedelta(hours=12)
REDIRECTS_MAX, TRIES_MAX, IDS_MAX, LAST_MAX, COLUMNS_MAX = 3, 3, 100, 2_000, 100
KEPT_MAX, KEPT_BYTES_MAX, PROBLEM_BYTES_MAX, PIECE_BYTES = 32, 1 << 20, 1 << 16, 1 << 16
NO_PROBLEM = "unknown"
USD = ("close_usd", "spot_usd", "low_usd", "high_usd", "close")
NUMBERS = ("inputs", "known_from", "known_to")


class Refused(Exception):
    """The service refused. `code` says why; `retry_after` how many seconds to wait, None: waiting does not help."""

    def __init__(self, status: int, code: str, detail: str, retry_after: float | None = None) -> None:
        super().__init__(f"{status} {code}: {detail}")
        self.status, self.code, self.retry_after = status, code, retry_after


class Damaged(Exception):
    """The answer is not what its digest says, has an unexpected form, is too long, or leads to another origin."""


@contextmanager
def _reading() -> Iterator[None]:
    """Raises Damaged if an answer that is read here does not have the expected form."""
    try:
        yield
    except OSError:
        raise  # some errors of TLS are a ValueError, too
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError, csv.Error,
            sqlite3.IntegrityError) as error:
        raise Damaged("the answer has an unexpected form") from error


@dataclass(frozen=True)
class Answer:
    """The plain bytes of an answer and its header fields."""

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

    def _number(self, name: str) -> int:
        text = self.headers.get(name, "0")
        if not re.fullmatch("[0-9]{1,15}", text):
            raise Damaged(f"the header field {name} is not a number")
        return int(text)


class Rows(list):
    """Records as dicts. `about` has what holds for all of them, such as publication and session_utc."""

    def __init__(self, records: Iterable[dict[str, Any]], about: dict[str, Any]) -> None:
        super().__init__(records)
        self.about = about

    def frame(self) -> Any:
        """The records as a pandas.DataFrame, dates and instants as such."""
        import pandas

        with _reading():
            frame = pandas.DataFrame(list(self))
            for name in frame.columns.intersection(["date", "as_of", "session_utc"]):
                frame[name] = pandas.to_datetime(frame[name])
            return frame


@dataclass(frozen=True)
class Synced:
    """What a run of sync did."""

    publication: int  # the entry of the log that the copy is of; 0: there is no copy yet
    is_new: bool
    is_whole: bool  # whether it loaded the whole file
    bytes_received: int  # bodies as they were sent
    wait_seconds: float  # what the service asked to wait; runs before that ask nothing


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Redirects are followed by _Transport, which looks where they lead."""


class _Transport:
    """Asks one origin. The key goes nowhere else, and only over https or to this machine."""

    def __init__(self, origin: str, key: str | None, max_bytes: int, timeout: float, patience: float) -> None:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
            raise ValueError("expected an origin such as https://prices.example")
        if key is not None and parts.scheme == "http" and not _is_loopback(parts.hostname):
            raise ValueError("a key is sent over https only, or to this machine")
        if key is not None and not re.fullmatch("[!-~]+", key):
            raise ValueError("a key has no spaces and no line breaks")
        self.origin, self.max_bytes, self.timeout, self.patience = origin.rstrip("/"), max_bytes, timeout, patience
        self.key = key
        self.bytes_received = 0
        self._not_before = 0.0
        self._kept: OrderedDict[str, Answer] = OrderedDict()
        # A proxy of the environment would read what is sent over http.
        proxies = ProxyHandler({}) if parts.scheme == "http" else ProxyHandler()
        self._opener = build_opener(proxies, _NoRedirect)

    def get(self, path: str, query: Mapping[str, Any]) -> Answer:
        """The answer to a GET below API. Waits as told if that is short. Raises Refused, Damaged, OSError."""
        given = {name: value for name, value in query.items() if value is not None}
        url = first = self.origin + API + path + ("?" + urlencode(given, safe=",") if given else "")
        kept = self._kept.get(first)
        hops, tries = 0, 1
        while True:
            wait = self._not_before - time.monotonic()
            if wait > 0:
                raise Refused(429, "waiting", f"The service asked to wait {wait:.0f} s more.", wait)
            try:
                with _reading():
                    status, answer = self._ask(url, kept)
            except http.client.HTTPException as error:
                raise ConnectionError("the answer is broken") from error
            if status in (301, 302, 303, 307, 308):
                with _reading():
                    url, hops = urljoin(url, answer.headers.get("location", "")), hops + 1
                if hops > REDIRECTS_MAX or not url.startswith(self.origin + "/"):
                    raise Damaged(f"redirected too often, or away from {self.origin}")
            elif status == 304 and kept is not None:
                return kept
            elif status == 200:
                if path not in ("/publications", "/usage"):
                    with _reading():
                        _prove(answer)
                self._keep(first, answer)
                return answer
            else:
                refusal = _refusal(status, answer)
                wait = refusal.retry_after
                if wait is None or wait > self.patience or tries == TRIES_MAX:
                    self._not_before = time.monotonic() + (wait or 0)
                    raise refusal
                time.sleep(wait)
                tries += 1

    def _ask(self, url: str, kept: Answer | None) -> tuple[int, Answer]:
        request = Request(url, headers={"accept-encoding": "gzip", "user-agent": "chipboard-client"})
        if self.key is not None:
            request.add_unredirected_header("x-api-key", self.key)
        if kept is not None:
            request.add_header("if-none-match", kept.headers["etag"])
        try:
            answer = self._opener.open(request, timeout=self.timeout)
        except HTTPError as refused:
            answer = refused
        with answer:
            headers = {name.lower(): value for name, value in answer.headers.items()}
            limit = self.max_bytes if answer.status == 200 else PROBLEM_BYTES_MAX
            return answer.status, Answer(self._body(answer, headers, limit), headers)

    def _body(self, answer: Any, headers: Mapping[str, str], limit: int) -> bytes:
        """The body without its coding, at most `limit` bytes of it."""
        coding = headers.get("content-encoding", "identity")
        if coding not in ("identity", "gzip"):
            raise Damaged(f"unexpected content-encoding {coding}")
        inflating = zlib.decompressobj(31) if coding == "gzip" else None
        body, received, end = bytearray(), 0, time.monotonic() + 10 * self.timeout
        try:
            while piece := answer.read1(PIECE_BYTES):
                received += len(piece)
                body += piece if inflating is None else inflating.decompress(piece, limit + 1 - len(body))
                if max(received, len(body)) > limit:
                    raise Damaged(f"the answer has more than {limit} bytes")
                if time.monotonic() > end:
                    raise TimeoutError("the answer takes too long")
        except zlib.error as error:
            raise Damaged("the answer cannot be inflated") from error
        finally:
            self.bytes_received += received
        expected = int(headers.get("content-length", received))
        is_cut = inflating is not None and received > 0 and not inflating.eof
        if answer.status == 200 and (received != expected or is_cut):
            raise ConnectionError("the answer ends early")
        return bytes(body)

    def _keep(self, url: str, answer: Answer) -> None:
        if "etag" in answer.headers and len(answer.body) <= KEPT_BYTES_MAX:
            self._kept[url] = answer
            if len(self._kept) > KEPT_MAX:
                self._kept.popitem(last=False)


class Client:
    """The service at `origin`. Methods raise Refused, Damaged, and OSError if it cannot be reached.

    `ids` are ids of contracts, `segment` those of segments' indices; `start` and `end` are dates, both
    included, and `last` counts the last entries of each contract.
    """

    def __init__(self, origin: str = ORIGIN, key: str | None = None, *, max_bytes: int = 1 << 28,
                 timeout: float = 60, patience: float = 30) -> None:
        """`max_bytes`: the longest body; `patience`: how many seconds it waits by itself when told to."""
        self._transport = _Transport(origin, key, max_bytes, timeout, patience)
        self._vintage: dict[str, Any] = {}

    def as_of(self, when: str | int) -> Client:
        """The same as published then: at an instant, at the end of a date, or by an entry of the log."""
        then = Client.__new__(Client)
        then._transport = self._transport
        then._vintage = {"publication" if isinstance(when, int) else "as_of": when}
        return then

    def prices(self, ids: Sequence[str] | None = None, segment: str | None = None) -> Rows:
        """The records of the board: memory, then semiconductor."""
        answer, board = self._json("/prices", ids=_list(ids), segment=_list(segment))
        with _reading():
            records = _objects(board.pop("memory")) + _objects(board.pop("semiconductor"))
            return Rows(records, {**board, **answer.about})

    def contract(self, id: str, start: str | None = None, end: str | None = None,
                 last: int | None = None) -> dict[str, Any]:
        """One contract, also off the board: its record, history, breaks, corrections and limits."""
        return self._json("/prices/" + quote(id, safe=""), **{"from": start, "to": end, "last": last})[1]

    def history(self, ids: Sequence[str] | None = None, segment: str | None = None, start: str | None = None,
                end: str | None = None, last: int | None = None) -> Rows:
        """Daily closes in USD, dates ascending, contract after contract."""
        return _typed(self._selection(HISTORY, ids, segment, start, end, last), "date")

    def levels(self, ids: Sequence[str] | None = None, segment: str | None = None, start: str | None = None,
               end: str | None = None, last: int | None = None, known_at: int | None = None) -> Rows:
        """Every level given, in USD, of both sessions of a day. For Pro also `known_at=N`: as entry N had them.

        It selects them from levels and superseded, so it does not need the entry's snapshot: under the present ids,
        within the present depth. If a rollback withdrew the entry, or no row was known then, it asks for the snapshot.
        """
        if known_at is None:
            return _typed(self._selection("/levels.csv", ids, segment, start, end, last), "session_utc")
        ended = self.superseded(ids, segment, start, end)
        publication = ended.about["publication"]
        stands = self.as_of(publication).levels(ids, segment, start, end)
        known: dict[str, list[dict[str, Any]]] = {}
        with _reading():
            for row in stands + ended:
                rows = known.setdefault(row["contract_id"], [])
                if row["known_from"] <= known_at < row.pop("known_to", known_at + 1):
                    rows.append(row)
            for rows in known.values():
                rows.sort(key=lambda row: row["session_utc"])
            if not any(known.values()) or not self._leads(known_at, publication):
                return self.as_of(known_at).levels(ids, segment, start, end, last)
            return Rows((row for rows in known.values() for row in rows[-(last or 0):]), stands.about)

    def superseded(self, ids: Sequence[str] | None = None, segment: str | None = None, start: str | None = None,
                   end: str | None = None) -> Rows:
        """The rows of levels that no longer stand, each from its entry `known_from` up to `known_to`. For Pro."""
        return _typed(self._selection("/superseded.csv", ids, segment, start, end), "session_utc")

    def index(self, id: str | None = None, start: str | None = None, end: str | None = None,
              last: int | None = None) -> dict[str, Any]:
        """The composite with its contributions, or the index `id` with its series."""
        if id is None:
            return self._json("/index")[1]
        return self._json("/indices/" + quote(id, safe=""), **{"from": start, "to": end, "last": last})[1]

    def basket(self, parts: Mapping[str, float], by: str = "quantities") -> dict[str, Any]:
        """What a purchase costs (`by="quantities"`, in units), or a basket by weights. For the tier pro."""
        return self._json("/index", ids=",".join(parts), **{by: ",".join(map(_text, parts.values()))})[1]

    def corrections(self, ids: Sequence[str] | None = None, after: int | None = None) -> Rows:
        """Published levels that were changed; `after`: by entries of the log after this number."""
        answer, found = self._json("/corrections", ids=_list(ids), after=after)
        with _reading():
            return Rows(_objects(found["corrections"]), answer.about)

    def publications(self, after: int = 0) -> list[dict[str, Any]]:
        """The entries of the log after this number. Never costs a call."""
        entries: list[dict[str, Any]] = []
        following: int | None = after
        while following is not None:
            page = _object(self._transport.get("/publications", {"after": following, "limit": 1_000}))
            with _reading():
                made, before = _objects(page["publications"]), following
                entries += made
                following = page["next"]
                if following is not None and not (made and following > before):
                    raise Damaged("the list of publications has no end")
        return entries

    def sums(self) -> dict[str, str]:
        """The SHA-256 (hex) of each file of the tier, by its name."""
        answer = self._get("/sums")
        with _reading():
            lines = answer.body.decode().splitlines()
            return {name: digest for digest, name in (line.split("  ", 1) for line in lines)}

    def sync(self, path: str) -> Synced:
        """Makes the table `history` of the SQLite file equal to /history.csv of the tier: see write_history.

        All of a run or nothing of it is kept. It loads the days that are new at both ends, new contracts and
        corrected days, and proves the whole by /sums; if that fails, it loads the whole file.
        """
        with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as db:
            return _Copy(db).follow(self)

    def watch(self, thresholds: Mapping[str, float] | None = None, every_seconds: float = 600) -> Iterator[dict]:
        """Yields for ever what happens from now on: dicts whose `event` is session, threshold or correction.

        `thresholds`: USD by contract id. It looks every ten minutes, and every minute while a session is due.
        A look costs nothing unless something was published. After the first look it goes on when the network, or what
        stands in front of the service, fails or answers in its place, and when an answer is damaged.
        """
        limits = {id: float(usd) for id, usd in (thresholds or {}).items()}
        ids = list(limits) or None
        board = self.prices(ids)
        with _reading():
            seen, due_at = board.about["publication"], _instant(board.about["next_session_utc"])
        while True:
            due = (due_at - datetime.now(timezone.utc)).total_seconds()
            wait = min(every_seconds, 60 if -3_600 < due < 60 else due if due > 0 else every_seconds)
            try:
                time.sleep(wait)
                with _reading():
                    made = [each for each in self.publications(seen) if each["action"] != "prune"]
                    if not made:
                        continue
                    newest, after = made[-1]["number"], self.prices(ids)
                    if after.about["publication"] < newest:
                        continue  # another process of the service answered, which has not seen it yet
                    is_corrected = self._transport.key is not None and any(each["corrections"] for each in made)
                    corrections = self.corrections(after=seen) if is_corrected else []
                    events = list(_events(board, after, made, corrections, limits))
                    due_at = _instant(after.about["next_session_utc"])
            except (OSError, Damaged, Refused) as trouble:
                if isinstance(trouble, Refused) and not _may_pass(trouble):
                    raise
                time.sleep(getattr(trouble, "retry_after", None) or 0)
                continue
            board, seen = after, newest
            yield from events

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

    def _json(self, path: str, **query: Any) -> tuple[Answer, Any]:
        answer = self._get(path, **query)
        return answer, _object(answer)

    def _selection(self, path: str, ids: Sequence[str] | None = None, segment: str | None = None,
                   start: str | None = None, end: str | None = None, last: int | None = None) -> Answer:
        dates = {"from": start, "to": end, "last": last}
        return self._get(path, ids=_list(ids), segment=_list(segment), **dates)


class _Copy:
    """The tables: `history`, with the columns of the file; `contracts`, in its order; `cursor`, where it is."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        db.execute("""create table if not exists cursor (id integer primary key check (id = 1),
            number integer, snapshot text, session_utc text, header text, not_before real)""")
        db.execute("create table if not exists contracts (contract_id text primary key, place integer)")
        row = db.execute("select number, snapshot, session_utc, header, not_before from cursor").fetchone()
        self.number, self.snapshot, self.session, self.header, self.not_before = row or (None, None, None, None, 0)

    def follow(self, client: Client) -> Synced:
        transport = client._transport
        before, wait = transport.bytes_received, self.not_before - time.time()
        is_new = is_whole = False
        if wait <= 0:
            try:
                self.db.execute("begin immediate")
                with _reading():
                    is_new, is_whole = self._copy(client)
                self.db.execute("commit")
            except Refused as refusal:
                self.db.execute("rollback")
                # After a 410 the next run finds a later publication: a prune keeps the newest one.
                if refusal.retry_after is None and refusal.status != 410:
                    raise
                wait = refusal.retry_after or 0
                self.db.execute("""insert into cursor (id, not_before) values (1, ?)
                    on conflict (id) do update set not_before = excluded.not_before""", [time.time() + wait])
        received = transport.bytes_received - before
        return Synced(self.number or 0, is_new, is_whole, received, max(wait, 0))

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

    def _take_changes(self, then: Client, copied: dict[str, Any], made: list[dict[str, Any]]) -> bool:
        """Takes what may have changed since `copied` by what the log says. False: that is too much."""
        # Each session after this one may differ: a rollback takes sessions away, a revision writes one anew.
        kept = min([_instant(copied["session_utc"])] + [
            _instant(each["session_utc"]) - (SESSION if each["action"] == "publish" else timedelta()) for each in made
        ])
        newest = _instant(made[-1]["session_utc"])
        # One day more, because the tier may be a session behind.
        days = (newest.date() - (kept + SESSION).date()).days + 2
        if days > LAST_MAX:
            return False
        first = self.db.execute("""select min(date) from
            (select min(date) as date from history group by contract_id having count(*) > 1)""").fetchone()[0]
        answer = then._selection(HISTORY, last=max(days, 1))
        header, rows = _table(answer, "date")
        if _line(header) != self.header:
            return False
        known = {id for id, in self.db.execute("select contract_id from contracts")}
        for id, lines in itertools.groupby(rows, key=lambda row: row[0]):
            own = list(lines)
            self.db.execute("delete from history where contract_id = ? and date >= ?", own[0][:2])
            self._insert(header, own)
        ids = list(dict.fromkeys(row[0] for row in rows))
        self._order(ids)
        self.db.execute("delete from history where contract_id not in (select contract_id from contracts)")
        moved = abs((_instant(answer.about["session_utc"]).date() - _instant(self.session).date()).days)
        if moved > 0 and first is not None:
            # The first day of the histories moves, too; in leap years by a day more.
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
            some = ids and ids[at:at + IDS_MAX]
            header, rows = _table(then._selection(HISTORY, some, start=start or None, end=end), "date")
            if _line(header) != self.header:
                raise Damaged("the columns differ from those of the other answers")
            if some is None:
                self.db.execute("delete from history where date between ? and ?", [start, end])
            else:
                self.db.executemany("delete from history where contract_id = ? and date between ? and ?",
                                    ([id, start, end] for id in some))
            self._insert(header, rows)

    def _take_whole(self, then: Client) -> None:
        answer = then._selection(HISTORY)
        header, rows = _table(answer, "date")
        kinds = [f'"{name}" {"real" if name in USD else "integer" if name in NUMBERS else "text"}' for name in header]
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
        self.db.execute("replace into cursor values (1, ?, ?, ?, ?, 0)",
                        [self.number, self.snapshot, self.session, self.header])

    def _sha256(self) -> str:
        digest = hashlib.sha256()
        self.write(digest.update)
        return digest.hexdigest()

    def write(self, write: Callable[[bytes], Any]) -> None:
        """Writes the table as the bytes of the file."""
        class Sink:
            write = staticmethod(lambda text: write(text.encode()))
        write(self.header.encode())
        columns = ", ".join(f'history."{name}"' for name in self.header.strip().split(","))
        rows = self.db.execute(
            f"select {columns} from history join contracts using (contract_id) order by contracts.place, history.date")
        csv.writer(Sink(), lineterminator="\r\n").writerows(
            [_text(value) if isinstance(value, float) else value for value in row] for row in rows)


def write_history(path: str, file: BinaryIO) -> None:
    """Writes the copy that sync keeps in the SQLite file: the bytes of /history.csv."""
    with closing(sqlite3.connect(path)) as db:
        copy = _Copy(db)
        if copy.number is None:
            raise ValueError(f"{path} holds no copy")
        copy.write(file.write)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _prove(answer: Answer) -> None:
    found = re.search(r"sha-256=:([A-Za-z0-9+/=]+):", answer.headers.get("unencoded-digest", ""))
    if found is None or base64.b64decode(found[1]) != hashlib.sha256(answer.body).digest():
        raise Damaged("the answer is not what its digest says")


def _refusal(status: int, answer: Answer) -> Refused:
    try:
        problem = json.loads(answer.body)
        code, detail = str(problem["code"]), str(problem["detail"])
    except (ValueError, TypeError, KeyError, RecursionError):
        code, detail = NO_PROBLEM, "no problem document"
    after = answer.headers.get("retry-after", "")
    return Refused(status, code, detail, float(after) if re.fullmatch("[0-9]{1,9}", after) else None)


def _may_pass(refusal: Refused) -> bool:
    """Whether waiting may help: always, unless the service itself says no."""
    return refusal.retry_after is not None or refusal.status >= 500 or refusal.code == NO_PROBLEM


def _events(before: Rows, after: Rows, made: list[dict[str, Any]], corrections: Iterable[dict[str, Any]],
            limits: Mapping[str, float]) -> Iterator[dict]:
    """What watch tells of the publications `made` between two boards."""
    if after.about["session_utc"] != before.about["session_utc"]:
        yield {"event": "session", **after.about}
    snapshots = {each["snapshot"] for each in made}
    for correction in corrections:
        # One that came while this was asked is told with its own entry.
        if correction["corrected_in"] in snapshots:
            yield {"event": "correction", **correction}
    spots = {record["id"]: record["spot_usd"] for record in before}
    for record in after if limits else []:
        was, now, at = spots.get(record["id"]), record["spot_usd"], limits[record["id"]]
        if was is not None and (was < at) != (now < at):
            yield {"event": "threshold", "threshold_usd": at, "was_usd": was, **record}


def _object(answer: Answer) -> dict[str, Any]:
    """The JSON object that the answer is."""
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise Damaged("the answer is no JSON") from error
    return _objects([found])[0]


def _objects(values: Any) -> list[dict[str, Any]]:
    """The values, which must be a list of JSON objects."""
    if not isinstance(values, list) or not all(isinstance(each, dict) for each in values):
        raise Damaged("the answer has an unexpected form")
    return values


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def _list(ids: Sequence[str] | None) -> str | None:
    return ids if ids is None or isinstance(ids, str) else ",".join(ids)


def _table(answer: Answer, time_name: str) -> tuple[list[str], list[list[str]]]:
    """The header and the records of CSV that begins with an id and a date or a session."""
    with _reading():
        header, *rows = csv.reader(io.StringIO(answer.body.decode(), newline=""), strict=True)
    is_plain = all(re.fullmatch("[a-z][a-z0-9_]*", name) for name in header)
    if header[:2] != ["contract_id", time_name] or not is_plain or not len(set(header)) == len(header) <= COLUMNS_MAX:
        raise Damaged("the file has unexpected columns")
    if any(len(row) != len(header) for row in rows):
        raise Damaged("a row of the file has more or fewer cells than its header")
    return header, rows


def _line(header: list[str]) -> str:
    return ",".join(header) + "\r\n"


def _typed(answer: Answer, time_name: str) -> Rows:
    header, rows = _table(answer, time_name)
    with _reading():
        return Rows((dict(zip(header, row)) for row in _values(header, rows)), answer.about)


def _values(header: list[str], rows: Iterable[list[str]]) -> Iterator[list[Any]]:
    """Rows with numbers as such, and None for empty cells."""
    kinds = [float if name in USD else int if name in NUMBERS else str for name in header]
    return ([None if cell == "" else kind(cell) for kind, cell in zip(kinds, row)] for row in rows)


def _text(value: float) -> str:
    """The number as the service writes it: 12, 0.000001."""
    text = repr(value)
    return format(Decimal(text), "f") if "e" in text else text[:-2] if text.endswith(".0") else text
