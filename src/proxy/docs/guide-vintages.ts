/** The parts of the guide about what was published before: back-tests, and a copy of the histories. */
import { TIERS } from "../../market/tier.ts";
import { escaped } from "./html.ts";
import { historyText } from "./tier-words.ts";

/** How to ask for what was published then. `example` shows an answer. */
export const asPublished = (
  example: string,
): string => `<h2 id="as-published">As it was published then</h2>
<p>A level can be corrected after it was published, and the histories have it as it is corrected by now.
A back-test on them acts on prices that nobody knew at the time, and looks better than it could have
been. The service keeps what it published, so test on that.</p>
<p>Every address whose 200 costs a call takes one of two parameters, and then answers with your tier's
file as it was published then, byte for byte:</p>
<div class="wide"><table><tr><th>parameter</th><th>you get</th></tr>
<tr><td><code>publication=2</code></td><td>what entry 2 of <code>/publications</code> published. Every answer
names its own in <code>x-publication</code></td></tr>
<tr><td><code>as_of=2026-11-21T00:05:00Z</code></td><td>what you would have got at that instant: the newest
publish or rollback that is not later. ISO 8601, with Z or an offset</td></tr>
</table></div>
<p>In these histories the DDR5 contract closes at 2.94 on 2026-11-20. Those above have the 2.95 of the
correction that came later:</p>
${example}
<h3>Session and instant</h3>
<p><code>session_utc</code> says which session levels stand for. <code>at</code>, in
<code>/publications</code>, says from which instant on anybody could know them: minutes after the session,
hours if the publisher was late, days for a correction. The session of 00:00 UTC that is published at
00:05 is not in the answer to <code>as_of</code> 00:04. If your tier is a session behind, it was so then:
you get what your tier got, a session earlier than <code>/publications</code> says.</p>
<p>So, for a decision at an instant, ask with this instant in <code>as_of</code>, and take every price from
that answer, also those of earlier days. Do not pick rows of today's histories by their date.</p>
<h3>Python, a back-test</h3>
<pre>${escaped(BACKTEST)}</pre>
<p>Keep the answers: each costs a call, and never changes.</p>
<h3>How far back</h3>
<div class="wide"><table><tr><th>you ask for</th><th>you get</th></tr>
<tr><td>a session at most ${historyText(TIERS.starter)} (starter) or ${historyText(TIERS.pro)} (pro) before the
present session of your tier</td><td>the answer. Its own history begins as long before its session as it did
then</td></tr>
<tr><td>an older one</td><td>starter 403 <code>tier_required</code>, pro 404 <code>not_published</code></td></tr>
<tr><td>anything, without a key</td><td>401 <code>key_required</code></td></tr>
<tr><td>an instant in the future; both parameters</td><td>400 <code>invalid_parameter</code></td></tr>
<tr><td>an instant before the first publication; a number that is not in the log, or of a prune</td><td>404
<code>not_published</code></td></tr>
<tr><td>a snapshot that the publisher removed (a prune)</td><td>410 <code>pruned</code>, for ever: take another
publication</td></tr>
<tr><td>a file that snapshots did not have yet</td><td>404 <code>not_in_snapshot</code></td></tr>
<tr><td>more old snapshots at once than the service reads</td><td>503 <code>busy</code>: wait the seconds in
<code>retry-after</code></td></tr>
</table></div>
<h3>What is different</h3>
<ul>
<li><code>delayed_sessions</code> is what it was when the answer was made: the delay of your tier. It does not say how
late the publisher was.</li>
<li>Ids are those of that time. The id that a contract got later is unknown, and nothing redirects.</li>
<li>Baskets are calculated now, from the levels of that publication, with the same result as then.</li>
<li><code>Cache-Control</code> says <code>max-age=31536000, immutable</code>, for <code>as_of</code> as soon as something
later is published. Bodies have no content coding.</li>
</ul>`;

/** What needs pandas. Run by a test. */
const BACKTEST = `import pandas

key = {"x-api-key": "KEY"}

def known_at(instant):
    url = "https://HOST/api/public/v1/history.csv?as_of=" + instant
    return pandas.read_csv(url, storage_options=key, parse_dates=["date"])

for day in ["2026-11-21", "2026-11-22", "2026-11-23"]:
    known = known_at(day + "T16:00:00Z").sort_values("date")
    closes = known.groupby("contract_id")["close_usd"]
    print(day, closes.last().idxmax())`;

/** How to keep a copy of the histories. */
export const copying = (): string => `<h2 id="copy">A copy that stays in step</h2>
<p>What happens to the data is in a log, and its numbers only grow. Keep the number of the last entry that
you have copied; it is all that you need to go on.</p>
<ol>
<li><code>/publications?after=N</code> lists the entries after number N: what was published, revised or rolled
back, when, and why. <code>next</code> is the <code>after</code> of the next page, or null at the end. It never
costs a call.</li>
<li><code>corrections</code> says how many published levels an entry changed, added late or withdrew. Those
that your tier sees are in
<code>/corrections?publication=N</code>, with the old level, the new one and the reason; the entry's own have
its <code>snapshot</code> in <code>corrected_in</code>.</li>
<li><code>/history.csv?publication=N</code>, for the newest entry that is a publish or a rollback, has all that
your tier's histories are from then on. Replace yours with it. To append only new dates is not enough: also
without a correction an entry can add an earlier session that was missed or give a contract another id, and
a rollback takes sessions away.</li>
</ol>
<h3>Python, a copy in SQLite</h3>
<p>Let cron run it every ten minutes. It pays one call for the newest publication, however many it missed, and
none when nothing is new. Histories and cursor change in one transaction, so you can kill it at any time.</p>
<pre>${escaped(COPY_PROGRAM)}</pre>
<p>It ends at every other refusal and at every failure of the network, and its next run goes on. The first
run copies the newest publication. To have all of them, ask for each publish and rollback of the list, and
skip those that answer 410. For 120 contracts the file has 16 MB (pro) or 0.8 MB (starter).</p>`;

/** Python 3 without packages. Run by a test. */
const COPY_PROGRAM = `"""Makes history.sqlite equal to /history.csv of your tier. Each run looks once."""
import csv, io, json, sqlite3, sys, time
from urllib.error import HTTPError
from urllib.request import Request, urlopen

def get(path):
    request = Request("https://HOST/api/public/v1" + path, headers={"x-api-key": "KEY"})
    with urlopen(request, timeout=60) as answer:
        return answer.read().decode()

db = sqlite3.connect("history.sqlite")
db.execute("""create table if not exists history (contract_id, date, close_usd real,
    low_usd real, high_usd real, inputs integer, basis, session_utc, break_reason)""")
db.execute("create table if not exists cursor (id primary key, number, not_before)")
_, number, not_before = db.execute("select * from cursor").fetchone() or (1, 0, 0)
if time.time() < not_before:
    sys.exit()
head, after, text = None, number, None
try:
    while after is not None:
        page = json.loads(get(f"/publications?after={after}&limit=1000"))
        heads = [row["number"] for row in page["publications"] if row["action"] != "prune"]
        head, after = max(heads, default=head), page["next"]
    if head:
        text = get(f"/history.csv?publication={head}")
except HTTPError as error:
    if error.code not in (410, 429, 503):
        raise
    # After a 410 the next run finds a later publication: a prune keeps the newest one.
    not_before = time.time() + int(error.headers.get("retry-after", 0))
    with db:
        db.execute("replace into cursor values (1, ?, ?)", [number, not_before])
if text:
    with db:  # the histories and the cursor change together
        db.execute("delete from history")
        db.executemany("""insert into history values (:contract_id, :date, :close_usd,
            nullif(:low_usd, ''), nullif(:high_usd, ''), nullif(:inputs, ''), :basis,
            :session_utc, nullif(:break_reason, ''))""", csv.DictReader(io.StringIO(text)))
        db.execute("replace into cursor values (1, ?, 0)", [head])
    print("Copied publication", head)`;
