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

def depth(said):  # programs before 0.3 did not say it
    return {"history_from": FIRST} if "history_from" in said else {}

def segment_id(name):
    return re.sub("[^a-z0-9]", "-", name.lower())[:200]

def percent(now, then):
    return rounded((now / then - 1) * 100, 2) if now and then else None

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

def begun():  # the publication whose series go on: the head before the session was first published
    entries, after = [], 0
    while after is not None:
        page = json.loads(ask(f"/publications?limit=1000&after={after}")[0])
        entries += [entry for entry in page["publications"] if entry["snapshot"]]
        after = page["next"]
    at = next(at for at, entry in enumerate(entries) if entry["number"] == int(PUBLICATION))
    while at >= 0 and entries[at]["snapshot"][:14] == SESSION.strftime("%Y-%m-%dT%HZ"):
        at = [entry["snapshot"] for entry in entries].index(entries[at]["snapshot"]) - 1
    return entries[at]["number"] if at >= 0 else None

def present_id(id):
    return id if id in levels else json.loads(ask("/prices/" + id)[0])["id"]

def series(path, said, parts):
    closes, keeps_states = said["history"], "last_used" in said
    try:
        before = get(path, BEGUN)["series"] if keeps_states and BEGUN else None
    except HTTPError as refusal:  # 404: the index is new
        if refusal.code != 404:
            return print(f"{path} series: not calculated, because publication {BEGUN} is gone")
        before = None
    if before and before["history"] and said["restatements"] == before.get("restatements", []):
        old = [point for point in before["history"] if point["date"] >= FIRST]
        compare(path + " series", closes[: len(old)], old)
        last, points, used = old[-1], closes[len(old) :], before.get("last_used")
        used = used and {present_id(each["id"]): {**each, "at": instant(each["session_utc"])} for each in used}
    else:
        last, points, used = closes[0], closes[1:], None
        compare(path + " series begins", last["date"], max(said["base"]["date"], FIRST))
    noon, calculated = instant(last["date"]) + DAY / 2, last
    compare(path + " series length", len(points), (SESSION - noon) // DAY)
    if used is None:  # at the base the levels in force, else the last level of each contract, of any age
        is_base = last["date"] == said["base"]["date"]
        used = {c.id: c.in_force(noon) if is_base else c.last(noon) for c in parts if noon < c.end}
    used = {c.id: used[c.id] for c in parts if used.get(c.id)}
    for point in points:  # each from the published one before
        noon, moves = noon + DAY, []
        for c in parts:
            level, then = c.in_force(noon), used.get(c.id)
            # Programs that kept no states used no level across a gap.
            was_in_force = keeps_states or c.in_force(noon - DAY)
            if then and (noon >= c.end or c.is_broken(then, c.last(noon) or then) or not was_in_force):
                del used[c.id]
            elif then and level:
                moves.append(level["usd"] / then["usd"])
            if level:
                used[c.id] = level
        move = math.prod((Decimal(m.numerator) / m.denominator for m in moves), start=Decimal(1))
        close = Decimal(str(float(last["close"]))) * move ** (1 / Decimal(len(moves) or 1))
        near = max(Fraction(1, 10_000), point["close"] / 1_000_000)
        calculated = {"date": str(noon.date()), "close": rounded(Fraction(close), 4)}
        compare(f"{path} series {point['date']}", point, calculated, near)
        last = point
    if keeps_states:
        kept = [(c.id, used[c.id]) for c in parts if c.id in used]
        compare(path, said, {"last_used": [{"id": id, "session_utc": u["session_utc"], "usd": u["usd"]} for id, u in kept]})
    return calculated

PUBLICATION = sys.argv[1] if len(sys.argv) > 1 else ask("/prices")[1]
board, levels = get("/prices"), {}
SESSION = instant(board["session_utc"])
BEGUN = begun()
YEAR, FIRST = years_before(SESSION, 1), str(years_before(SESSION, 5).date() + DAY)
WINDOWS = {f"chg_{days}d_pct": SESSION - days * DAY for days in (7, 30, 60, 90, 180)}
WINDOWS.update(chg_24h_pct=SESSION - DAY, chg_yoy_pct=YEAR)
for row in csv.DictReader(io.StringIO(get("/levels.csv"), newline="")):
    row.update(at=instant(row["session_utc"]), usd=Fraction(row["spot_usd"]))
    levels.setdefault(row["contract_id"], []).append(row)
contracts = [Contract(id, own) for id, own in levels.items()]
listed = [c for c in contracts if c.is_listed]

compare("/prices", board["memory"] + board["semiconductor"], [c.record() for c in listed])
compare("/prices counts", board["counts"], {name: len(board[name]) for name in board["counts"]})
for c in contracts:
    breaks = [level["session_utc"] for level in c.breaks if level["session_utc"] > FIRST]
    page = {**c.record(), "history": c.history(), "breaks": [{"session_utc": each} for each in breaks]}
    compare("/prices/" + c.id, c.said, {**page, **depth(c.said)})
compare("/index", get("/index"), composite(listed))
for line in get("/indices")["indices"]:
    path = "/indices/" + line["id"]
    said = get(path)
    own = [c for c in contracts if line["id"] in ("composite", segment_id(c.said["segment"]))]
    figures, closes = composite([c for c in own if c.is_listed]), said["series"]["history"]
    compare(path, said, {**figures, "series": depth(said["series"])})
    if closes:
        last = series(path, said["series"], own) or closes[-1]
        near = max(Fraction(1, 10_000), last["close"] / 1_000_000)
        compare("/indices " + line["id"], line, {"series_close": last["close"], "series_date": last["date"]}, near)
    compare("/indices " + line["id"], line, {name: figures[name] for name in figures if name in line})
with_base = [c for c in listed if c.base]
for by, parts in (("weights", with_base[:100]), ("quantities", with_base[:100]), ("quantities", listed[:100])):
    amounts = [Fraction(2 * at + 1, 2) for at in range(len(parts))]
    query = f"ids={','.join(c.id for c in parts)}&{by}={','.join(str(float(amount)) for amount in amounts)}"
    if parts:
        compare(f"/index by {by}", get("/index?" + query), (index if by == "weights" else purchase)(parts, amounts))
print(compared, "figures compared,", differing, "differ")
sys.exit(differing > 0)
