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
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Tuple

import pytest

from chipboard_client import Client, Damaged, Refused, __version__

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


def test_a_spent_quota_refuses_only_calls_that_cost_one() -> None:
    problem = json.dumps({"code": "quota_exceeded", "detail": "All calls are used.", "plans": "https://p.example/plans"})
    entries = json.dumps({"publications": [], "next": None}).encode()

    def answer(request: Any) -> Answer:
        is_free = "/publications" in request.path or "/usage" in request.path
        return (200, {}, entries) if is_free else (429, {"retry-after": "86400"}, problem.encode())

    with serving(answer) as (url, asked):
        client = Client(url)
        with pytest.raises(Refused) as refused:
            client.prices()
        assert (refused.value.code, refused.value.retry_after, refused.value.plans) == (
            "quota_exceeded", 86_400, "https://p.example/plans")
        assert client.publications() == []
        assert client.usage()["next"] is None
        with pytest.raises(Refused) as refused:
            client.history()
        assert refused.value.code == "waiting"
        assert len(asked) == 3


def test_a_wait_that_a_wrong_clock_noted_ends(tmp_path: Path) -> None:
    problem = json.dumps({"code": "quota_exceeded", "detail": "All calls are used."}).encode()
    with serving(in_turn((429, {"retry-after": "86400"}, problem))) as (url, asked):
        for _ in range(2):
            assert 86_000 < Client(url).sync(tmp_path / "copy").wait_seconds <= 86_400
        assert len(asked) == 1
        with closing(sqlite3.connect(tmp_path / "copy")) as db, db:
            db.execute("update cursor set not_before = not_before + 400 * 86400")
        assert 86_000 < Client(url).sync(tmp_path / "copy").wait_seconds <= 86_400
        assert len(asked) == 2


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
