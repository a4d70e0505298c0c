"""Calculates every figure of the tier pro again, from its levels, and prints each that is published otherwise."""
import csv, io, json, math, os, re, sys
from bisect import bisect_left, bisect_right
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from urllib.request import Request, urlopen

API, DAY = "{{origin}}/api/public/v1", timedelta(days=1)
compared = differing = 0

def ask(path):
    with urlopen(Request(API + path, headers={"x-api-key": os.environ["KEY"]})) as answer:
        return answer.read().decode(), answer.headers["x-publication"]

def get(path):  # of one publication, so that all answers fit together
    text = ask(f"{path}{'&' if '?' in path else '?'}publication={PUBLICATION}")[0]
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
        are_numbers = isinstance(said, Fraction) and calculated is not None
        is_near = near and are_numbers and abs(said - calculated) <= near
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
        shown = {name: level if level and level["session_utc"] >= FIRST else {} for name, level in then.items()}
        return [{"range": name, "session_utc": shown[name].get("session_utc"), "usd": shown[name].get("usd"),
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

def data_entry():
    """The number of the entry that made the data of the publication: a rollback publishes an earlier snapshot."""
    log, after = [], 0
    while after is not None:
        page = json.loads(ask(f"/publications?limit=1000&after={after}")[0])
        log += [entry for entry in page["publications"] if entry["snapshot"]]
        after = page["next"]
    asked = next(entry["snapshot"] for entry in log if entry["number"] == int(PUBLICATION))
    return next(entry["number"] for entry in log if entry["snapshot"] == asked)

def rows(path):
    return list(csv.DictReader(io.StringIO(get(path), newline="")))

def levels_of(all_rows):
    by_contract = {}
    for row in all_rows:
        usd = Fraction(row["spot_usd"])
        row.update(at=instant(row["session_utc"]), usd=usd, log=math.log(usd))
        by_contract.setdefault(row["contract_id"], []).append(row)
    return by_contract

def ledger():
    """Every level that stands or stood, by contract, ascending by session, with the entries that knew it."""
    by_contract = {id: list(own) for id, own in levels.items()}
    for id, own in levels_of(rows("/superseded.csv")).items():
        by_contract.setdefault(id, []).extend(own)
    for own in by_contract.values():
        for row in own:
            row.update(begin=int(row["known_from"]), end=int(row.get("known_to", sys.maxsize)))
        begins = sorted(row["begin"] for row in own)
        for row in own:
            if row.get("left") == "true":  # for series it stands until its contract has a row again
                place = bisect_left(begins, row["end"])
                row["end"] = begins[place] if place < len(begins) else sys.maxsize
        own.sort(key=lambda row: (row["at"], row["begin"]))
    return by_contract

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

class Chain:
    """The logarithm of V / V(begin) by day, as an entry knew it."""
    def __init__(self, link, begin, is_whole, terms):
        self.begin, self.terms, self.entry = begin, terms, 0
        self.new = (begin if is_whole else begin - DAY, None)  # of a contract that was not there so far
        self.logs, self.moves, self.anchors, self.unknown = {begin - DAY: 0}, {}, {}, set()
        self.changes = {}  # the earliest session that an entry changed
        for row in [row for id in terms for row in LEDGER.get(id, [])]:
            for entry in (row["begin"], row["end"]):
                self.changes[entry] = min(row["at"], self.changes.get(entry, row["at"]))
        if link:
            self.logs[begin] = 0
            for level in link["levels"]:
                level = {**level, "at": instant(level["session_utc"]), "log": math.log(level["usd"])}
                self.anchors[level["id"]] = [(begin, level)]

    def known(self, id):
        return [row for row in LEDGER.get(id, []) if row["begin"] <= self.entry < row["end"]]

    def there(self, id, noon):  # the level of a member, if it is within the carry limit of its term
        for begin, end, carry in self.terms[id]:
            if begin <= noon <= end:
                place = bisect_right(SESSIONS[id], noon) if id in SESSIONS else 0
                while place:
                    level = LEDGER[id][place - 1]
                    if level["begin"] <= self.entry < level["end"]:
                        return level if noon - level["at"] <= carry else None
                    place -= 1

    def is_broken(self, id, then, now):
        breaks, at = self.breaks.get(id, ()), then["at"]
        # The level that a link keeps compares no more if the break at its session has come or gone since.
        return any(at < each <= now["at"] for each in breaks) or then.get("break", at in breaks) != (at in breaks)

    def go(self, entry, last):
        """Calculates the days up to the last one, as the entry knew them. Days that it leaves as they were stay."""
        changed = [at for number, at in self.changes.items() if self.entry < number <= entry]
        self.entry = entry
        self.breaks = {id: {row["at"] for row in self.known(id) if row["break_reason"]} for id in self.terms}
        for noon in [noon for noon in self.moves if changed and noon >= min(changed)]:
            del self.logs[noon], self.moves[noon]
            self.unknown.discard(noon)
        noon = max(self.logs) + DAY
        for own in self.anchors.values():
            while own and own[-1][0] >= noon:
                own.pop()
        while noon <= last:
            self.add(noon)
            noon += DAY

    def add(self, noon):
        before, moves, since = self.logs[noon - DAY], {}, self.known_since()
        for id, own in self.terms.items():
            level, anchors = self.there(id, noon), self.anchors.setdefault(id, [])
            day, then = anchors[-1] if anchors else self.new
            if level and day < since and not (then and self.is_broken(id, then, level)):
                self.unknown.add(noon)  # it may have been there before the depth, or was away on an unknown day
            elif level and then and not self.is_broken(id, then, level):
                moves[id] = level["log"] - then["log"] - (before - self.logs[day])  # while away it moves with the index
            if level:
                anchors.append((noon, level))
        self.logs[noon] = before + sum(moves.values()) / len(moves) if moves else before
        self.moves[noon] = moves

    def known_since(self):
        return max(self.unknown, default=self.begin)

    def shares(self, start):  # of each contract since then
        shares = {}
        for noon, moves in self.moves.items():
            for id in moves if noon > start else []:
                shares[id] = shares.get(id, 0) + moves[id] / len(moves)
        return shares

def tolerance(value):
    return max(Fraction(1, 10_000), value / 1_000_000)

def changes(said, base, last, closes, chain):
    now, calculated = closes[last], []
    for range, start in starts_of(last).items():
        then = closes.get(start) if start >= base else None
        change = {"range": range, "date": str(start.date()), "close": then, "change_pct": percent(now, then)}
        if then is None or start < chain.begin:
            change.update(contributions=None, correction_points=None)
        elif start >= chain.known_since():
            mean = now if now == then else now and then and (now - then) / Fraction(math.log(now / then))
            points = {id: mean * Fraction(share) for id, share in sorted(chain.shares(start).items())}
            change["contributions"] = [{"id": id, "points": rounded(each, 4)} for id, each in points.items()]
            change["correction_points"] = rounded(now - then - sum(points.values()), 4)
        calculated.append(change)
    for one in said:
        one["contributions"] = one["contributions"] and sorted(one["contributions"], key=lambda part: part["id"])
    return calculated

def logs_as_known(chain, known_from):
    """Of each close the chain's logarithm of its day, as the entry that calculated it knew it."""
    days, logs = {}, {noon: 0 for noon in chain.logs}
    for noon, entry in known_from.items():
        days.setdefault(entry, []).append(noon)
    for entry in sorted(days):
        chain.go(entry, max(days[entry]))
        logs.update({noon: chain.logs[noon] for noon in days[entry]})
    return logs

def series(path, id, said, parts):
    """Compares a series, and returns its last close and the day of it."""
    base, depth = noon_of(said["base"]["date"]), noon_of(FIRST)
    link = said["link"] if said["link"] and noon_of(said["link"]["date"]) >= depth else None
    begin, last = noon_of(link["date"]) if link else max(base, depth), SESSION - (SESSION - base) % DAY
    published = {point["date"]: point["close"] for point in said["history"]}
    is_whole = bool(link) or base >= depth
    chain = Chain(link, begin, is_whole, TERMS.get(id, {}))
    logs = logs_as_known(chain, KNOWN_FROM.get(id, {}))
    closes, noon, skipped = {}, max(base, depth), 0
    while noon <= last:
        close, then = published.get(str(noon.date())), begin if is_whole else noon - DAY
        calculated, room = None, 0
        if noon in chain.unknown:
            skipped += 1
        elif noon == base and not link:
            calculated = Fraction(100)
        elif noon > begin and noon in logs:
            ratio = Fraction(Decimal(logs[noon] - logs[then]).exp())
            calculated = rounded(closes[then] * ratio, 4)
            room = tolerance(calculated) + (0 if is_whole else ratio / 20_000)  # the close before is rounded
        is_near = calculated is None or close is not None and abs(close - calculated) <= room
        closes[noon] = (close or Fraction(0)) if is_near else calculated
        noon += DAY
    if skipped:
        print(f"{path} series: {skipped} of {len(closes)} closes not calculated: a level before {FIRST} is needed")
    points = [{"date": str(noon.date()), "close": close} for noon, close in closes.items()]
    compare(path + " series", said["history"], points)
    chain.go(NUMBER, last)
    moved = changes(said["changes"], base, last, closes, chain)
    compare(path + " changes", said["changes"], moved, tolerance(max(closes.values())))
    if is_whole:
        value = closes[begin] * Fraction(Decimal(chain.logs[last]).exp())
        compare(path, said, {"value": value}, value / 10**9)
    anchors = [(c.id, *chain.anchors[c.id][-1]) for c in parts if SESSION < c.end and chain.anchors.get(c.id)]
    compare(path + " last_used", said["last_used"], [
        {"id": id, "session_utc": level["session_utc"], "usd": level["usd"], "away": day < last}
        for id, day, level in anchors
    ])
    for one, (id, day, level) in zip(said["last_used"], anchors):
        if day < chain.known_since():
            continue
        reference = level["usd"] * Fraction(Decimal(chain.logs[last] - chain.logs[day]).exp())
        compare(f"{path} last_used {id}", one, {"reference_usd": reference}, reference / 10**9)
    return closes[last], str(last.date())

PUBLICATION = sys.argv[1] if len(sys.argv) > 1 else ask("/prices")[1]
board = get("/prices")
SESSION = instant(board["session_utc"])
NUMBER = data_entry()
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
    LEDGER, TERMS, KNOWN_FROM = ledger(), terms(), {}
    for row in rows("/indices.csv"):
        if row["known_from"]:
            KNOWN_FROM.setdefault(row["index_id"], {})[noon_of(row["date"])] = int(row["known_from"])
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
