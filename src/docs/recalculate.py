"""Calculates every figure of the tier pro again, from its levels, and prints each that is published otherwise."""
import csv, io, json, math, os, re, sys
from bisect import bisect_right
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from urllib.error import HTTPError
from urllib.request import Request, urlopen

API, DAY = "{{origin}}/api/public/v1", timedelta(days=1)
compared = differing = 0

def ask(path):
    with urlopen(Request(API + path, headers={"x-api-key": os.environ["KEY"]})) as answer:
        return answer.read().decode(), answer.headers["x-publication"]

def get(path, publication=None):  # of one publication, so that all answers fit together
    text = ask(f"{path}{'&' if '?' in path else '?'}publication={publication or PUBLICATION}")[0]
    return text if path.endswith(".csv") else json.loads(text, parse_int=Fraction, parse_float=Fraction)

def compare(place, said, calculated, near=0):
    global compared, differing
    if isinstance(calculated, dict):
        for name, value in calculated.items():
            compare(f"{place} {name}", said.get(name), value, near)
    elif isinstance(calculated, list):
        compare(f"{place} length", len(said), len(calculated))
        for one, value in zip(said, calculated):
            compare(f"{place} {next(iter(value.values()))}", one, value, near)
    else:
        compared += 1
        is_near = near and isinstance(said, Fraction) and abs(said - calculated) <= near
        if said != calculated and not is_near:
            differing += 1
            print(f"{place}: published {shown(said)}, calculated {shown(calculated)}")

def shown(value):
    return f"{float(value):.15g}" if isinstance(value, (int, Fraction)) else value

def instant(text):
    return datetime.fromisoformat(text.split(".")[0])

def years_before(at, years):
    return at.replace(year=at.year - years, day=28 if (at.month, at.day) == (2, 29) else at.day)

def rounded(value, decimals):  # half away from zero
    units = int(abs(value) * 10**decimals + Fraction(1, 2))
    return Fraction(units if value > 0 else -units, 10**decimals)

def if_said(said, **figures):  # earlier programs did not say all of them
    return {name: value for name, value in figures.items() if name in said}

def segment_id(name):
    return re.sub("[^a-z0-9]", "-", name.lower())[:200]

def percent(now, then):
    return rounded((now / then - 1) * 100, 2) if then and now is not None else None

class Contract:
    def __init__(self, id, levels):
        self.id, self.levels, self.said = id, levels, get("/prices/" + id)
        self.sessions = [level["at"] for level in levels]
        self.breaks = [level for level in levels if level["break_reason"]]
        self.carry = timedelta(days=int(self.said["max_carry_days"]))
        self.end = instant(self.said["delisted_on"] or "9999-12-31")
        self.now = levels[-1]
        self.is_listed = self.in_force(SESSION) is not None
        self.base = self.comparable(self.in_force(YEAR))
        self.usd, self.base_usd = self.now["usd"], self.base and self.base["usd"]

    def last(self, when):
        place = bisect_right(self.sessions, when)
        return self.levels[place - 1] if place else None

    def in_force(self, when):
        level = self.last(when)
        return level if level and when - level["at"] <= self.carry and when < self.end else None

    def is_broken(self, then, now):
        return any(then["at"] < level["at"] <= now["at"] for level in self.breaks)

    def comparable(self, then):  # with the present level
        return then if then and self.is_listed and not self.is_broken(then, self.now) else None

    def stamp(self):
        basis = self.now["basis"] if self.now["at"] == SESSION else "carried"
        return {"basis": basis if self.is_listed else "discontinued", "as_of": self.now["as_of"]}

    def record(self):
        then = {name: self.comparable(self.in_force(when)) for name, when in WINDOWS.items()}
        since = max([YEAR + DAY / 2] + [level["at"] for level in self.breaks])
        year = [self.usd] + [level["usd"] for level in self.levels if level["at"] >= since]
        given = {name: self.now[name] for name in ("low_usd", "high_usd", "inputs")}
        capacity = self.said["capacity_gb"]
        return {
            "id": self.id, "spot_usd": self.usd, **self.stamp(),
            **{name: percent(self.usd, level and level["usd"]) for name, level in then.items()},
            "prev_as_of": then["chg_24h_pct"] and then["chg_24h_pct"]["as_of"],
            "low_52w_usd": min(year) if self.is_listed else None,
            "high_52w_usd": max(year) if self.is_listed else None,
            "age_days": Fraction((SESSION - self.now["at"]) // (DAY / 2), 2),
            "usd_per_gb": capacity and rounded(self.usd / capacity, 6),
            **{name: Fraction(value) if value else None for name, value in given.items()},
        }

    def references(self):
        names = {"24h": "24h", "7d": "7d", "30d": "30d", "90d": "90d", "1y": "yoy"}
        then = {name: self.comparable(self.in_force(WINDOWS[f"chg_{window}_pct"])) for name, window in names.items()}
        return [{"range": name, "session_utc": level and level["session_utc"], "usd": level and level["usd"],
                 "change_pct": percent(self.usd, level and level["usd"])} for name, level in then.items()]

    def history(self):
        closes = {level["as_of"]: level["usd"] for level in self.levels}
        kept = [date for date in closes if date >= FIRST or date == self.now["as_of"]]
        return [{"date": date, "close_usd": closes[date]} for date in kept]

def index(parts, amounts):  # an amount is None where a part has no base: then no part has a weight
    total = sum(amounts) if parts and None not in amounts else None
    def mean(when):
        return total and sum(amount * c.last(when)["usd"] / c.base_usd for amount, c in zip(amounts, parts)) / total
    now, day_ago = mean(SESSION), mean(SESSION - DAY)
    def contribution(amount, c):
        w = total and 100 * amount / total
        return {
            "id": c.id, "spot_usd": c.usd, **c.stamp(),
            "base_usd": c.base_usd, "base_as_of": c.base and c.base["as_of"],
            "weight_pct": w and rounded(w, 4),
            "relative": c.base and rounded(c.usd / c.base_usd, 6),
            "contribution": w and rounded(w * (c.usd / c.base_usd - 1), 4),
            "contribution_24h_pct": w and rounded(w * (c.usd - c.last(SESSION - DAY)["usd"]) / c.base_usd / day_ago, 4),
        }
    return {
        "base": {"date": str(YEAR.date()), "level": 100},
        "level": now and rounded(100 * now, 4),
        "chg_24h_pct": percent(now, day_ago), "chg_30d_pct": percent(now, mean(SESSION - 30 * DAY)),
        "constituents": len(parts), "carried": sum(c.now["at"] < SESSION for c in parts),
        "contributions": [contribution(amount, c) for amount, c in zip(amounts, parts)],
    }

def without_base(parts):
    return [{"id": c.id, "reason": "break" if c.in_force(YEAR) else "no_base_level"} for c in parts if not c.base]

def composite(parts):
    members = [c for c in parts if c.base]
    return {**index(members, [Fraction(1)] * len(members)), "excluded": without_base(parts)}

def costs(parts, quantities):  # each is None if a part has no level that compares with the present one
    def cost(levels):
        return None if None in levels else sum(q * level["usd"] for q, level in zip(quantities, levels))
    def cost_then(when):
        return cost([c.comparable(c.last(when)) for c in parts])
    return {"cost_usd": cost([c.now for c in parts]), "cost_base_usd": cost([c.base for c in parts]),
            "cost_24h_usd": cost_then(SESSION - DAY), "cost_30d_usd": cost_then(SESSION - 30 * DAY)}

def dollars(exact):
    return {name: usd and rounded(usd, 6) for name, usd in exact.items()}

def like_for_like(bought):
    parts, quantities = [c for c, q in bought if c.base], [q for c, q in bought if c.base]
    exact = costs(parts, quantities)
    now, base = exact["cost_usd"], exact["cost_base_usd"]
    return {"parts": len(parts), **dollars({"cost_usd": now, "cost_base_usd": base}),
            "level": rounded(100 * now / base, 4)} if parts else None

def purchase(parts, quantities):
    exact = costs(parts, quantities)
    day_ago = exact["cost_24h_usd"]
    priced = index(parts, [c.base and q * c.base_usd for q, c in zip(quantities, parts)])
    for share, c, q in zip(priced["contributions"], parts, quantities):
        own = costs([c], [q])
        moved = day_ago and own["cost_usd"] - own["cost_24h_usd"]
        share.update(dollars(own), contribution_24h_pct=day_ago and rounded(100 * moved / day_ago, 4))
    return {
        **priced, **dollars(exact),
        **{f"chg_{ago}_pct": percent(exact["cost_usd"], exact[f"cost_{ago}_usd"]) for ago in ("24h", "30d")},
        "without_base": without_base(parts), "like_for_like": like_for_like(list(zip(parts, quantities))),
    }

def entries():
    """The number of the entry that made the data of the publication, and of the one whose data it went on from."""
    log, after = [], 0
    while after is not None:
        page = json.loads(ask(f"/publications?limit=1000&after={after}")[0])
        log += [entry for entry in page["publications"] if entry["snapshot"]]
        after = page["next"]
    snapshots = [entry["snapshot"] for entry in log]
    asked = next(entry["snapshot"] for entry in log if entry["number"] == int(PUBLICATION))
    at = snapshots.index(asked)  # a rollback has the data of an earlier entry
    return log[at]["number"], log[at - 1]["number"] if at else None

def rows(path, publication=None):
    return list(csv.DictReader(io.StringIO(get(path, publication), newline="")))

def levels_of(all_rows):
    by_contract = {}
    for row in all_rows:
        usd = Fraction(row["spot_usd"])
        row.update(at=instant(row["session_utc"]), usd=usd, log=math.log(usd))
        by_contract.setdefault(row["contract_id"], []).append(row)
    return by_contract

def closes_of(publication):
    by_index = {}
    for row in rows("/indices.csv", publication):
        by_index.setdefault(row["index_id"], {})[row["date"]] = row
    return by_index

def earlier_closes():
    try:
        return closes_of(BEGUN) if BEGUN else {}
    except HTTPError as refusal:
        if refusal.code != 404:
            print(f"earlier closes of each series: not calculated, because publication {BEGUN} is gone")
        return {}

def levels_left():
    """The levels of contracts that left the catalog, which series keep."""
    left = {}
    for id, own in levels_of(rows("/superseded.csv")).items():
        newest = {row["at"]: row for row in own}  # the later row of a session comes later
        if id not in levels:
            left[id] = [newest[at] for at in sorted(newest) if newest[at]["left"] == "true"]
    return left

def terms():
    by_index = {}
    for row in rows("/members.csv"):
        end = noon_of(row["to"] or "9999-12-30")
        term = (noon_of(row["from"]), end, timedelta(days=int(row["max_carry_days"])))
        by_index.setdefault(row["index_id"], {}).setdefault(row["contract_id"], []).append(term)
    return by_index

def noon_of(date):
    return instant(date) + DAY / 2

def starts_of(noon):
    days = {f"{days}d": noon - days * DAY for days in (7, 30, 90)}
    return {"24h": noon - DAY, **days, "1y": years_before(noon, 1)}

def is_broken(id, then, now):
    breaks = [level["at"] for level in LEDGER.get(id, []) if level["break_reason"]]
    at = then["at"]
    # The level that a link keeps compares no more if the break at its session has come or gone since.
    return any(at < each <= now["at"] for each in breaks) or then.get("break", at in breaks) != (at in breaks)

def there(id, terms, noon):  # the level of a member, if it is within the carry limit of its term
    for begin, end, carry in terms:
        if begin <= noon <= end:
            place = bisect_right(SESSIONS[id], noon) if id in SESSIONS else 0
            level = place and LEDGER[id][place - 1]
            return level if level and noon - level["at"] <= carry else None

def chain(link, begin, last, terms, starts):
    """Of each day the logarithm of V / V(begin), the anchors, and the shares of each contract since each start."""
    logs, anchors, noon = {begin - DAY: 0, begin: 0}, {}, begin
    shares = {start: {} for start in starts}
    if link:
        noon += DAY
        for level in link["levels"]:
            anchors[level["id"]] = begin, {**level, "at": instant(level["session_utc"]), "log": math.log(level["usd"])}
    while noon <= last:
        before, moves = logs[noon - DAY], {}
        for id, own in terms.items():
            level = there(id, own, noon)
            if level and id in anchors:
                day, then = anchors[id]
                if not is_broken(id, then, level):  # while it was away it moved with the index
                    moves[id] = level["log"] - then["log"] - (before - logs[day])
            if level:
                anchors[id] = noon, level
        logs[noon] = before + sum(moves.values()) / len(moves) if moves else before
        for start in starts:
            for id in moves if noon > start else []:
                shares[start][id] = shares[start].get(id, 0) + moves[id] / len(moves)
        noon += DAY
    return logs, anchors, shares

def tolerance(value):
    return max(Fraction(1, 10_000), value / 1_000_000)

def changes(said, base, begin, last, closes, shares):
    now, calculated = closes[last], []
    for range, start in starts_of(last).items():
        then = closes.get(start) if start >= base else None
        change = {"range": range, "date": str(start.date()), "close": then, "change_pct": percent(now, then)}
        if then is None or start < begin:
            change.update(contributions=None, correction_points=None)
        elif shares is not None:
            mean = now if now == then else now and then and (now - then) / Fraction(math.log(now / then))
            points = {id: mean * Fraction(share) for id, share in sorted(shares[start].items())}
            change["contributions"] = [{"id": id, "points": rounded(each, 4)} for id, each in points.items()]
            change["correction_points"] = rounded(now - then - sum(points.values()), 4)
        calculated.append(change)
    for one in said:
        one["contributions"] = one["contributions"] and sorted(one["contributions"], key=lambda part: part["id"])
    return calculated

def series(path, id, said, parts):
    """Compares a series, and returns its last close and the day of it."""
    link, base = said["link"], noon_of(said["base"]["date"])
    begin, last = noon_of(link["date"]) if link else base, SESSION - (SESSION - base) % DAY
    own, before = CLOSES.get(id, {}), EARLIER.get(id, {})
    published = {point["date"]: point["close"] for point in said["history"]}
    starts = [start for start in starts_of(last).values() if start >= begin]
    value = shares = None
    if str(begin.date()) >= FIRST:
        start = published[link["date"]] if link else 100
        logs, anchors, shares = chain(link, begin, last, TERMS.get(id, {}), starts)
        def value(noon):
            return start * Fraction(Decimal(logs[noon]).exp())
    else:
        print(f"{path} series: closes of this publication not calculated, because the base is before {FIRST}")
    closes, noon = {}, max(base, noon_of(FIRST))
    while noon <= last:
        date, said_close = str(noon.date()), published.get(str(noon.date()))
        is_new = date in own and own[date]["known_from"] == str(NUMBER)
        close = said_close or Fraction(0)  # unless it is known otherwise
        if is_new:
            close = rounded(value(noon), 4) if value else close
        elif date in before:
            close = Fraction(before[date]["close"])
        is_near = said_close is not None and abs(said_close - close) <= tolerance(close)
        closes[noon] = said_close if is_near else close
        noon += DAY
    points = [{"date": str(noon.date()), "close": close} for noon, close in closes.items()]
    compare(path + " series", said["history"], points)
    moved = changes(said["changes"], base, begin, last, closes, shares)
    compare(path + " changes", said["changes"], moved, tolerance(max(closes.values())))
    if value:
        compare(path, said, {"value": value(last)}, value(last) / 10**9)
        used = [(c.id, *anchors[c.id]) for c in parts if SESSION < c.end and c.id in anchors]
        compare(path + " last_used", said["last_used"], [
            {"id": id, "session_utc": level["session_utc"], "usd": level["usd"], "away": day < last}
            for id, day, level in used
        ])
        for one, (id, day, level) in zip(said["last_used"], used):
            reference = level["usd"] * Fraction(Decimal(logs[last] - logs[day]).exp())
            compare(f"{path} last_used {id}", one, {"reference_usd": reference}, reference / 10**9)
    return closes[last], str(last.date())

PUBLICATION = sys.argv[1] if len(sys.argv) > 1 else ask("/prices")[1]
board = get("/prices")
SESSION = instant(board["session_utc"])
NUMBER, BEGUN = entries()
YEAR, FIRST = years_before(SESSION, 1), str(years_before(SESSION, 5).date() + DAY)
WINDOWS = {f"chg_{days}d_pct": SESSION - days * DAY for days in (7, 30, 60, 90, 180)}
WINDOWS.update(chg_24h_pct=SESSION - DAY, chg_yoy_pct=YEAR)
levels = levels_of(rows("/levels.csv"))
contracts = [Contract(id, own) for id, own in levels.items()]
listed = [c for c in contracts if c.is_listed]

compare("/prices", board["memory"] + board["semiconductor"], [c.record() for c in listed])
compare("/prices counts", board["counts"], {name: len(board[name]) for name in board["counts"]})
for c in contracts:
    breaks = [level["session_utc"] for level in c.breaks if level["session_utc"] > FIRST]
    page = {**c.record(), "history": c.history(), "breaks": [{"session_utc": each} for each in breaks]}
    compare("/prices/" + c.id, c.said, {**page, **if_said(c.said, history_from=FIRST, references=c.references())})
compare("/index", get("/index"), composite(listed))
indices = get("/indices")["indices"]
answers = {line["id"]: get("/indices/" + line["id"]) for line in indices}
by_members = any("value" in answer["series"] for answer in answers.values())  # from 0.4 on
if by_members:
    LEDGER, TERMS, CLOSES, EARLIER = {**levels, **levels_left()}, terms(), closes_of(PUBLICATION), earlier_closes()
    SESSIONS = {id: [level["at"] for level in own] for id, own in LEDGER.items()}
for line in indices:
    path = "/indices/" + line["id"]
    said = answers[line["id"]]
    own = [c for c in contracts if line["id"] in ("composite", segment_id(c.said["segment"]))]
    figures, closes = composite([c for c in own if c.is_listed]), said["series"]["history"]
    compare(path, said, {**figures, "series": if_said(said["series"], history_from=FIRST)})
    if closes:
        close, date = closes[-1]["close"], closes[-1]["date"]
        if by_members:
            close, date = series(path, line["id"], said["series"], own)
        compare("/indices " + line["id"], line, {"series_close": close, "series_date": date}, tolerance(close))
    compare("/indices " + line["id"], line, {name: figures[name] for name in figures if name in line})
with_base = [c for c in listed if c.base]
for by, parts in (("weights", with_base[:100]), ("quantities", with_base[:100]), ("quantities", listed[:100])):
    amounts = [Fraction(2 * at + 1, 2) for at in range(len(parts))]
    query = f"ids={','.join(c.id for c in parts)}&{by}={','.join(str(float(amount)) for amount in amounts)}"
    if parts:
        compare(f"/index by {by}", get("/index?" + query), (index if by == "weights" else purchase)(parts, amounts))
print(compared, "figures compared,", differing, "differ")
sys.exit(differing > 0)
