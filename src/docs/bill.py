"""The cost of the parts of bill.csv now and in each week of the year before."""
import csv, os
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from client import Client

with open("bill.csv", newline="") as file:
    bill = {row["id"]: Decimal(row["quantity"]) for row in csv.DictReader(file)}
client = Client(key=os.environ["KEY"])
present = client.resolve(bill)  # a part may have another id by now
board = client.prices()
spots = {record["id"]: record["spot_usd"] for record in board if record["id"] in present.values()}
limits = {id: timedelta(days=client.contract(id, last=1)["max_carry_days"]) for id in spots}
today = datetime.fromisoformat(board.about["session_utc"].replace("Z", "+00:00"))
start = today - timedelta(weeks=52) - max(limits.values(), default=timedelta())
rows = client.history(list(spots), start=str(start.date())) if spots else []
closes = {id: [row for row in rows if row["contract_id"] == id] for id in spots}

def usd_at(id, noon):
    """The last close by then; None if it was over the carry limit, or if a break lies between it and now."""
    given = [row for row in closes[id] if row["date"] <= str(noon.date())]
    if not given or any(row["break_reason"] for row in closes[id][len(given):]):
        return None
    session = datetime.fromisoformat(given[-1]["session_utc"].replace("Z", "+00:00"))
    return given[-1]["close_usd"] if noon - session <= limits[id] else None

def show(when, usd):  # leaves out the parts without a price, and names them
    missing = [id for id in bill if usd.get(present.get(id)) is None]
    cost = sum(quantity * Decimal(str(usd[present[id]])) for id, quantity in bill.items() if id not in missing)
    print(when, f"{cost:.2f}", *(["without", *missing] if missing else []))

show("now", spots)
for week in range(1, 53):
    noon = today.replace(hour=12, tzinfo=timezone.utc) - timedelta(weeks=week)
    show(noon.date(), {id: usd_at(id, noon) for id in spots})
