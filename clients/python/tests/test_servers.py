"""Slow, broken and lying servers, fronts and proxies, threads and copies. Each test has servers of its own."""
from __future__ import annotations

import asyncio
import base64
import copy
import gzip
import hashlib
import json
import pickle
import socket
import sqlite3
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

from chipboard_client import Client, Damaged, Refused, __version__, main

BOARD = b'{"memory":[{"id":"a","spot_usd":1}],"semiconductor":[]}'
Answer = Tuple[int, Dict[str, str], bytes]


def good(body: bytes = BOARD, **more: str) -> Answer:
    digest = base64.b64encode(hashlib.sha256(body).digest()).decode()
    return 200, {"unencoded-digest": f"sha-256=:{digest}:", **{name.replace("_", "-"): value for name, value in more.items()}}, body


@contextmanager
def serving(answer: Callable[[Any], Answer], port: int = 0) -> Iterator[Tuple[str, List[Any]]]:
    """A server that answers so, its address, and the requests that it got."""
    asked: List[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self)
            status, fields, body = answer(self)
            self.send_response_only(status)
            for name, value in fields.items():
                # A list in several lines.
                for line in value.split("\n"):
                    self.send_header(name, line)
            if "Content-Length" not in fields:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Prints nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


def in_turn(*answers: Answer) -> Callable[[Any], Answer]:
    """These answers one after the other; the last one again and again."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def test_names_itself_and_its_version() -> None:
    with serving(in_turn(good())) as (url, asked):
        Client(url).prices()
        assert asked[0].headers["user-agent"].startswith(f"chipboard-client/{__version__} Python/")


@pytest.mark.parametrize("status", [500, 502, 503, 504, 521, 429])
def test_a_front_without_the_service_is_waited_out(status: int) -> None:
    page = (status, {"content-type": "text/html"}, b"<html>Back soon</html>")
    with serving(in_turn(page, page, good())) as (url, asked):
        assert Client(url).prices()[0]["id"] == "a"
        assert len(asked) == 3
    with serving(in_turn(page)) as (url, _):
        with pytest.raises(Refused) as refused:
            Client(url, patience=0).prices()
        assert (refused.value.status, refused.value.code) == (status, "unknown")


@pytest.mark.parametrize("status", [400, 401, 403, 404])
def test_other_refusals_of_a_front_are_raised_at_once(status: int) -> None:
    with serving(in_turn((status, {}, b"<html>"), good())) as (url, asked):
        with pytest.raises(Refused):
            Client(url).prices()
        assert len(asked) == 1


def test_a_service_that_restarts_is_waited_out() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(OSError):
        Client(f"http://127.0.0.1:{port}", patience=0).prices()
    with ThreadPoolExecutor() as pool:
        asking = pool.submit(Client(f"http://127.0.0.1:{port}").prices)
        time.sleep(1)
        assert not asking.done()
        with serving(in_turn(good()), port):
            assert asking.result()[0]["id"] == "a"


def dates(seconds: float) -> List[str]:
    """An instant as the three kinds of dates that HTTP knows (RFC 9110, 5.6.7)."""
    at = time.gmtime(time.time() + seconds)
    return [formatdate(time.time() + seconds, usegmt=True), time.strftime("%A, %d-%b-%y %H:%M:%S GMT", at), time.asctime(at)]


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_retry_after_may_be_a_date(kind: int) -> None:
    with serving(in_turn((503, {"Retry-After": dates(90)[kind]}, b"{}"))) as (url, _):
        with pytest.raises(Refused) as refused:
            Client(url).prices()
        assert 80 < (refused.value.retry_after or 0) <= 91
    # By the clock of the server, if that is wrong.
    fields = {"RETRY-AFTER": dates(3_690)[kind], "Date": dates(3_600)[0]}
    with serving(in_turn((503, fields, b"{}"))) as (url, _):
        with pytest.raises(Refused) as refused:
            Client(url).prices()
        assert 89 <= (refused.value.retry_after or 0) <= 91


@pytest.mark.parametrize("text", ["soon", "-1", "1.5", "", "Fri, 99 Foo 2026 00:00:00 GMT", "9" * 400])
def test_retry_after_that_says_nothing_is_none(text: str) -> None:
    problem = json.dumps({"code": "internal", "detail": "It failed."}).encode()
    with serving(in_turn((500, {"retry-after": text}, problem))) as (url, _):
        with pytest.raises(Refused) as refused:
            Client(url).prices()
        assert refused.value.retry_after is None


SPENT = {"code": "quota_exceeded", "detail": "All calls are used.", "plans": "https://p.example/plans",
         "resets_at": "2026-12-01T00:00:00.000Z", "request_id": "r-18"}
REFUSED: Answer = (429, {"retry-after": "86400"}, json.dumps(SPENT).encode())
ENTRIES = good(json.dumps({"publications": [], "next": None}).encode())


def passed(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Goes on as if so many seconds had passed."""
    now = time.monotonic
    monkeypatch.setattr(time, "monotonic", lambda: now() + seconds)


def test_a_spent_quota_refuses_only_calls_that_cost_one_and_is_asked_again_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    account = {"prices": REFUSED}

    def answer(request: Any) -> Answer:
        return ENTRIES if "/publications" in request.path or "/usage" in request.path else account["prices"]

    with serving(answer) as (url, asked):
        client = Client(url)
        for _ in range(2):
            with pytest.raises(Refused) as refused:
                client.prices()
            told = refused.value
            assert (told.status, told.code, told.detail, told.problem) == (429, "quota_exceeded", SPENT["detail"], SPENT)
            assert (told.plans, told.resets_at, told.request_id) == (SPENT["plans"], SPENT["resets_at"], "r-18")
            assert 86_340 < (told.retry_after or 0) <= 86_400
        assert client.publications() == []
        assert client.usage()["next"] is None
        assert len(asked) == 3
        passed(monkeypatch, 590)
        with pytest.raises(Refused):
            client.history()
        assert len(asked) == 3
        account["prices"] = good()  # the account was upgraded
        passed(monkeypatch, 10)
        assert client.prices()[0]["id"] == "a"


def test_every_other_refusal_is_asked_again_at_once_or_after_ten_minutes(monkeypatch: pytest.MonkeyPatch) -> None:
    for status, code in ((401, "invalid_key"), (403, "account_suspended"), (403, "trial_ended"), (404, "unknown_contract"), (410, "pruned")):
        problem = json.dumps({"code": code, "detail": "No."}).encode()
        with serving(in_turn((status, {}, problem), good())) as (url, _):
            client = Client(url)
            with pytest.raises(Refused, match=code):
                client.prices()
            assert client.prices()[0]["id"] == "a"
    problem = json.dumps({"code": "no_session", "detail": "Nothing is published."}).encode()
    with serving(in_turn((503, {"retry-after": "7200"}, problem), ENTRIES)) as (url, asked):
        client = Client(url)
        for _ in range(2):
            with pytest.raises(Refused, match="503 no_session: Nothing is published."):
                client.publications()
        assert len(asked) == 1
        passed(monkeypatch, 600)
        assert client.publications() == []


def test_sync_raises_a_refusal_and_notes_none_for_other_processes(tmp_path: Path) -> None:
    history = good(b"contract_id,date,close_usd\r\na,2026-11-20,1.5\r\n", x_publication="1")
    with serving(in_turn(REFUSED, REFUSED, history)) as (url, asked):
        client = Client(url)
        for _ in range(2):
            with pytest.raises(Refused) as refused:
                client.sync(tmp_path / "copy")
            assert (refused.value.code, refused.value.resets_at) == ("quota_exceeded", SPENT["resets_at"])
        assert len(asked) == 1
        with pytest.raises(Refused):
            Client(url).sync(tmp_path / "copy")
        done = Client(url).sync(tmp_path / "copy")
        assert (done.publication, done.is_new, len(asked)) == (1, True, 3)


def test_sync_goes_on_with_a_copy_in_which_version_0_3_noted_a_wait(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "copy")) as db, db:
        db.execute("""create table cursor (id integer primary key check (id = 1), number integer, snapshot text,
            session_utc text, header text, not_before real)""")
        db.execute("insert into cursor (id, not_before) values (1, ?)", [time.time() + 20 * 86_400])
    with serving(in_turn(good(b"contract_id,date,close_usd\r\na,2026-11-20,1.5\r\n", x_publication="1"))) as (url, _):
        assert Client(url).sync(tmp_path / "copy").publication == 1


def board_of(usd: float, number: int, **record: Any) -> Answer:
    board = {"memory": [{"id": "a", "name": "A", "unit": "USD", "spot_usd": usd, **record}], "semiconductor": [],
             "session_utc": "2026-11-21T00:00:00.000Z", "next_session_utc": "2026-11-21T12:00:00.000Z"}
    return good(json.dumps(board).encode(), x_publication=str(number))


# Rules are checked by it before the first look.
CATALOG = good(json.dumps({"contracts": [{"id": "a", "ticker": "A", "formerly": []}], "segments": []}).encode())


def test_watch_waits_for_an_interval_at_most_and_says_why(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    slept: List[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        passed(monkeypatch, seconds)

    monkeypatch.setattr(time, "sleep", sleep)
    entry = {"number": 2, "action": "publish", "snapshot": "2026-11-21T00Z/r2", "corrections": 0}
    made = good(json.dumps({"publications": [entry], "next": None}).encode())
    with serving(in_turn(CATALOG, board_of(4, 1), made, REFUSED, made, REFUSED, made, board_of(6, 2))) as (url, asked):
        events = Client(url, patience=0).watch([{"id": "a", "above": 5}], 900)
        assert next(events)["value"] == 6
        assert len(asked) == 8
    # Nothing is due, so the first wait is also for a whole interval.
    assert slept == [900, 900, 900]
    assert caplog.messages == ["waiting 900 s: 429 quota_exceeded: All calls are used."] * 2


@pytest.mark.parametrize(("name", "told"), [("A\0B", "A\\x00B"), ("A\ud800B", "A\\ud800B"), ("\x1b[31mA\x9b\u202e", "\\x1b[31mA\\x9b\\u202e")])
def test_an_event_with_any_name_is_told_and_writes_no_control_character(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str, told: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.json").write_text('[{"id": "a", "above": 5}]')
    with serving(in_turn(*[CATALOG, *[board_of(6, 1, name=name)] * 2] * 2)) as (url, _):
        options = ["watch", "rules.json", "--once", "--url", url]
        assert main([*options, "--command", 'printf "%s\\n" "$EVENT_TEXT"']) == 0
        assert capfd.readouterr() == (f"{told} (a) is above 5: 6 USD\n", "")
        Path("alerts.json").unlink()
        assert main([*options, "--command", "exit 3"]) == 1
        assert capfd.readouterr() == ("", f"error: the command ended with 3: {told} (a) is above 5: 6 USD\n")


def test_an_event_is_told_that_a_longer_name_would_keep_from_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.json").write_text('[{"id": "a", "above": 5}]')
    with serving(in_turn(CATALOG, board_of(6, 1, name="A" * 300_000))) as (url, _):
        assert main(["watch", "rules.json", "--once", "--url", url, "--command", "cat > event.json"]) == 0
    event = json.loads(Path("event.json").read_text())
    assert (len(event["text"]), len(event["name"])) == (1_000, 300_000)


def test_a_refusal_writes_no_control_character(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.json").write_text('[{"id": "a", "above": 5}]')
    problem = {"code": "\x1b[2J", "detail": "\x1b]0;owned\x07\x9b31m\nNo."}
    with serving(in_turn((403, {}, json.dumps(problem).encode()))) as (url, _):
        assert main(["watch", "rules.json", "--once", "--url", url]) == 1
        assert capfd.readouterr() == ("", "error: 403 \\x1b[2J: \\x1b]0;owned\\x07\\x9b31m No.\n")
    coding = {"content-encoding": "\x1b[31m"}
    with serving(in_turn((200, coding, b""))) as (url, _):
        with pytest.raises(Damaged) as damaged:
            Client(url).prices()
        assert str(damaged.value).isprintable()


def test_bytes_behind_the_gzip_data_are_damage() -> None:
    status, fields, body = good()
    for behind in (b"x", gzip.compress(b""), bytes(1 << 20)):
        with serving(in_turn((status, {**fields, "content-encoding": "gzip"}, gzip.compress(body) + behind))) as (url, _):
            with pytest.raises(Damaged, match="bytes follow the end of the gzip data"):
                Client(url).prices()


def test_a_refusal_has_all_members_of_the_problem_also_in_another_process() -> None:
    problem = {"code": "tier_required", "detail": "Too old.", "plans": "https://p.example/plans", "history_from": "2026-08-24",
               "errors": [{"parameter": "to", "value": "x", "detail": "y", "did_you_mean": ["a"]}]}
    with serving(in_turn((403, {"X-Request-ID": "r-17"}, json.dumps(problem).encode()))) as (url, _):
        with pytest.raises(Refused) as caught:
            Client(url).history()
    for refused in (caught.value, pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert (refused.status, refused.code, refused.detail) == (403, "tier_required", "Too old.")
        assert (refused.plans, refused.history_from) == (problem["plans"], problem["history_from"])
        assert (refused.errors, refused.did_you_mean, refused.request_id) == (problem["errors"], ["a"], "r-17")
        assert str(refused) == "403 tier_required: Too old."


@pytest.mark.parametrize("members", [{"errors": 5}, {"errors": [5]}, {"did_you_mean": "a"}, {"plans": 1, "history_from": []}])
def test_a_refusal_of_another_form_has_none(members: Dict[str, Any]) -> None:
    problem = json.dumps({"code": "bad_request", "detail": "No.", **members}).encode()
    with serving(in_turn((400, {}, problem))) as (url, _):
        with pytest.raises(Refused) as refused:
            Client(url).prices()
    told = refused.value
    assert [told.errors, told.did_you_mean, told.plans, told.history_from, told.request_id] == [None] * 5


FIELDS = [
    {"CONTENT-ENCODING": "GZip"},
    {"Content-Encoding": "x-gzip"},
    {"content-encoding": "gzip, identity"},
    {"content-encoding": " ,gzip ,"},
    {"content-encoding": "identity\ngzip"},
]


@pytest.mark.parametrize("fields", FIELDS)
def test_header_fields_are_lists_in_any_case(fields: Dict[str, str]) -> None:
    status, usual, body = good()
    coded = gzip.compress(body)
    length = f"{len(coded)}, {len(coded)}"
    digest = {"Unencoded-Digest": f"sha-512=:AAAA:\n{usual['unencoded-digest']}", "X-Publication": "7"}
    with serving(in_turn((status, {**digest, **fields, "Content-Length": length}, coded))) as (url, _):
        board = Client(url).prices()
        assert (board, board.about["publication"]) == ([{"id": "a", "spot_usd": 1}], 7)


@pytest.mark.parametrize("fields", [
    {"content-encoding": "br"}, {"content-encoding": "gzip, gzip"}, {"x-publication": "7, 8"},
    {"unencoded-digest": "x-sha-256=:AAAA:"},
])
def test_header_fields_that_do_not_fit_are_damaged(fields: Dict[str, str]) -> None:
    status, usual, body = good()
    with serving(in_turn((status, {**usual, **fields}, body))) as (url, _):
        with pytest.raises(Damaged):
            Client(url).prices()


def test_an_answer_that_is_no_json_is_damaged() -> None:
    with serving(in_turn(good(b"<html>Log in</html>"))) as (url, _):
        for call in (Client(url).prices, Client(url).publications, Client(url).usage, Client(url).index):
            with pytest.raises(Damaged):
                call()


def test_a_list_of_publications_without_an_end_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chipboard_client.ENTRIES_MAX", 20)

    def page(asked: Any) -> Answer:
        after = int(asked.path.split("after=")[1].split("&")[0])
        return 200, {}, json.dumps({"publications": [{"number": after + 1}], "next": after + 1}).encode()

    with serving(page) as (url, asked):
        with pytest.raises(Damaged, match="has no end"):
            Client(url).publications()
        assert len(asked) == 21


def settlement(id: str) -> bytes:
    record = {"month": "2026-10", "unit": None, "average": 1, "last": 1, "high": 1, "low": 1, "days": 31}
    return json.dumps({"kind": "contract", "id": id, "attribution": "A", "settlements": [record]}).encode()


@pytest.mark.parametrize("id", ["../../evil", "/evil", "a\\..\\b", "a\nb"])
def test_evidence_has_no_name_outside_its_folder(id: str, tmp_path: Path) -> None:
    def answer(asked: Any) -> Answer:
        if "/settlements/" in asked.path:
            return good(settlement(id), x_publication="1")
        return good(b'{"signature":"x"}', x_publication="1")

    with serving(answer) as (url, _):
        Client(url).evidence("a", "2026-10", tmp_path / "a.zip")
    with zipfile.ZipFile(tmp_path / "a.zip") as made:
        assert [name.replace("\\", "/").count("/") for name in made.namelist() if name.startswith("settlements")] == [2]
        assert not any(".." in Path(name).parts or "\n" in name or name.startswith("/") for name in made.namelist())


def test_evidence_of_a_log_that_nobody_signs_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chipboard_client.EVIDENCE_ENTRIES", 20)

    def answer(asked: Any) -> Answer:
        return good(settlement("a") if "/settlements/" in asked.path else b"{}", x_publication="1")

    with serving(answer) as (url, asked):
        assert Client(url).evidence("a", "2026-10", tmp_path / "a.zip")["signed"] is False
        assert sum(each.path.split("/")[-1].isdigit() for each in asked) == 20
    with zipfile.ZipFile(tmp_path / "a.zip") as made:
        assert [name for name in made.namelist() if name.startswith("log/")] == ["log/0000000001.json"]


def test_one_client_for_many_threads_and_tasks() -> None:
    with serving(lambda request: good(json.dumps({"memory": [{"id": request.path}], "semiconductor": []}).encode(), etag='"x"')) as (url, _):
        client = Client(url)
        names = [f"id-{at}" for at in range(80)]

        async def ask_all() -> List[Any]:
            return list(await asyncio.gather(*(asyncio.to_thread(client.prices, name) for name in names)))

        with ThreadPoolExecutor(16) as pool:
            boards = list(pool.map(client.prices, names)) + asyncio.run(ask_all())
        assert [board[0]["id"].split("=")[1] for board in boards] == names * 2


def test_a_client_can_be_copied_and_sent_to_another_process() -> None:
    with serving(in_turn(good())) as (url, asked):
        for client in (pickle.loads(pickle.dumps(Client(url, "cbk_k").as_of(5))), copy.deepcopy(Client(url, "cbk_k").as_of(5))):
            assert client.prices()[0]["id"] == "a"
        assert [(each.headers["x-api-key"], each.path.split("?")[1]) for each in asked] == [("cbk_k", "publication=5")] * 2


def test_a_proxy_of_the_environment_is_used_but_not_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(in_turn(good())) as (proxy, asked):
        monkeypatch.setenv("http_proxy", proxy)
        assert Client("http://prices.example").prices()[0]["id"] == "a"
        assert [each.path for each in asked] == ["http://prices.example/api/public/v1/prices"]
        with serving(in_turn(good())) as (url, _):
            Client(url, "cbk_k").prices()
        monkeypatch.setenv("no_proxy", "prices.example")
        with pytest.raises(OSError):
            Client("http://prices.example", patience=0).prices()
        assert len(asked) == 1


def test_it_needs_an_address() -> None:
    with pytest.raises(ValueError, match="name the address of the service"):
        Client()
