/** The prose of the guide that no table gives. The numbers are those of examples.json. */

/** How to go on asking without wasting calls. */
export const POLLING = `<h2 id="polling">Polling well</h2>
<p>Every answer with data has an <code>ETag</code>. Keep it, and send it back in <code>If-None-Match</code>: a 304
says that nothing is new, and has no body.</p>
<div class="wide"><table><tr><th>ask</th><th>what it costs</th><th>how often</th></tr>
<tr><td><code>/prices</code> and other data, with <code>If-None-Match</code></td>
<td>a 304 nothing, a 200 one call; 429 when no call is left</td>
<td>every minute from <code>next_session_utc</code> on, until the new session is there</td></tr>
<tr><td><code>/publications</code>, with <code>If-None-Match</code>, or <code>?after=N</code> with the last number
that you know</td>
<td>nothing, also when no call is left</td>
<td>every ten minutes: revisions and rollbacks come between sessions, too</td></tr>
<tr><td><code>/feed.atom</code>, with <code>If-None-Match</code>: the same for feed readers</td>
<td>nothing</td><td>every hour</td></tr>
<tr><td><code>/status.json</code>: which of the last 60 sessions came late, or not at all</td>
<td>nothing</td><td>when you wonder</td></tr>
</table></div>
<ul>
<li><code>next_session_utc</code> on the board says when the next session is due. Data of it appears
some minutes later. Where it lies in the past the publisher is late: ask every ten minutes then.</li>
<li><code>Cache-Control</code> says for how many seconds an answer stands for sure, sixty at most. Asking
more often than that shows nothing new.</li>
<li><code>delayed_sessions</code>, in every body and as <code>x-delayed-sessions</code>, says how many
sessions the data is behind: your tier's delay and what the publisher is late by. Look at it before
you act on a level.</li>
<li><code>x-snapshot</code> names what you were answered from, and <code>x-publication</code> the entry of
<code>/publications</code> that published it. Answers with the same one fit together.</li>
</ul>`;

/** What a reader can recalculate from the answers on the page. */
export const NUMBERS = `<h2 id="numbers">How the numbers are made</h2>
<p>All arithmetic is exact and rounded once, half away from zero. You can do it again with the answers
above to a key of the tier pro, which are of the session of 2026-11-21 00:00 UTC.</p>
<h3>Level, basis, as_of</h3>
<p><code>spot_usd</code> is the level as it was given. <code>basis</code> says how it came about:
<code>reported</code>, <code>assessed</code>, <code>estimated</code>, or <code>carried</code> where no
level was given for the session, so that the last one stands. It has the date in <code>as_of</code>.
The SSD above was given no level for the session, and its 60 of 2026-11-20 is carried. After 45 days
(or what the contract's entry says) a contract without a new level leaves the board, and so does one
that the publisher delists. Its own address still answers, with its history, its last level, no changes
and the basis <code>discontinued</code>. Where a contract got another id, the address of the former one
answers 308 with the present one; follow it, or ask for the new id from then on.</p>
<p><code>low_usd</code> and <code>high_usd</code> are the range of the prices behind the level, and
<code>inputs</code> says how many there were: the 3.00 stands for 12 prices from 2.95 to 3.10. They
belong to the level and are carried with it. So does the <code>rationale</code>, the judgement behind
the level, which only a contract's own address has. They are null where the publisher does not give
them.</p>
<h3>Changes</h3>
<p>(now / then − 1) × 100, where <code>then</code> is the level in force 24 hours, 7, 30, 60, 90 or 180
days (of 24 hours), or one calendar year before the session. The DDR5 contract stands at 3.00. At 2026-11-20 00:00 UTC the close
of 2026-11-19 was in force, 2.90: 3.00 / 2.90 − 1 = 3.45 %. Thirty days before it was 2.40: 25 %. A
year before it was 2.00: 50 %. Where there is no such level, or a break between, the change is null.</p>
<p><code>prev_as_of</code> is the date of the level that <code>chg_24h_pct</code> compares with, here
2026-11-19. If it is older than you expect, days without a level lie between. <code>age_days</code> is
the age of the level itself: the SSD's is 0.5, a session.</p>
<h3>Range of the year</h3>
<p><code>low_52w_usd</code> and <code>high_52w_usd</code> are the lowest and the highest level of the
sessions after the same session of the year before, up to this one: 2.4 and 3. The 2.00 of 2025-11-20
was given for 12:00 UTC, so it is half a day too old. Levels from before a break do not count; the level in
force does, however old it is.</p>
<h3>History</h3>
<p>One entry for each date of a level: its close, the level of the session at 12:00 UTC, and until then
the one of 00:00 UTC. Its last entry is the contract's level. A day without a level has no entry:
nothing is filled in. A level given for 00:00 UTC is what the change over 24 hours compares with a day
later, and the history does not keep it: where you need it, keep the board.</p>
<p>The history files have the entries of all contracts, also of those off the boards. There,
<code>basis</code> is the one that was given, <code>session_utc</code> the session of the level, and
<code>break_reason</code> stands with the first entry at or after a break.</p>
<h3>Index</h3>
<p>Each contract's relative is its level by its level one calendar year before: 3 / 2 = 1.5,
60 / 80 = 0.75, 11000 / 10000 = 1.1. The index is 100 times their arithmetic mean:
(1.5 + 0.75 + 1.1) / 3 × 100 = 111.6667. A contract's contribution is its weight times (relative − 1):
16.6667 − 8.3333 + 3.3333 = 11.6667, which is the index less 100.</p>
<p>For the 24-hour change the same contracts are taken with the same base a day earlier:
(2.90 / 2 + 61.20 / 80 + 11000 / 10000) / 3 = 1.105, and 1.116667 / 1.105 − 1 = 1.06 %; over 30 days in
the same way. A contract's last level then counts whatever its age, so that the constituents stay the
same; its own change is null where that level was too old. <code>contribution_24h_pct</code> is what a
contract adds to the 24-hour change: its weight times (now − then) / base, by the 1.105 above. The base
moves on with each session, so levels of different sessions are not one series: compare by the
changes, or take the <a href="#indices">series</a>.</p>
<p><code>excluded</code> names the contracts on the board that are not in the index:
<code>no_base_level</code> where there was no level a year before that counted then,
<code>break</code> where one lies between.</p>
<h3>Baskets</h3>
<p>The same with your weights, which need not sum to anything: 60 and 40 are 0.6 and 0.4, and
0.6 × 1.5 + 0.4 × 0.75 = 1.2, the 120 above.</p>
<p>With <code>quantities</code> instead of weights you say how much you buy, each in its contract's
<code>unit</code>, and the answer has what that costs. A module with 64 chips, 2 drives and 0.02 wafers:</p>
<div class="wide"><table><tr><th></th><th>DDR5</th><th>SSD</th><th>wafer</th><th>US dollars</th></tr>
<tr><td>now, <code>cost_usd</code></td><td>64 × 3.00</td><td>2 × 60</td><td>0.02 × 11000</td><td>532</td></tr>
<tr><td>a day ago, <code>cost_24h_usd</code></td><td>64 × 2.90</td><td>2 × 61.20</td><td>0.02 × 11000</td><td>528</td></tr>
<tr><td>30 days ago, <code>cost_30d_usd</code></td><td>64 × 2.40</td><td>2 × 64</td><td>0.02 × 10800</td><td>497.6</td></tr>
<tr><td>a year ago, <code>cost_base_usd</code></td><td>64 × 2.00</td><td>2 × 80</td><td>0.02 × 10000</td><td>488</td></tr>
</table></div>
<p>The weights are the shares of the cost a year ago: 128 / 488 = 26.2295 % for the DDR5 contract. So
level and changes are those of the costs: 532 / 488 × 100 = 109.0164, 532 / 528 − 1 = 0.76 % over 24
hours, and 532 / 497.6 − 1 = 6.91 % over 30 days.</p>
<h3>Breaks and corrections</h3>
<p>A <code>break</code> says that from a session on a contract's levels do not compare with those
before, and why: another unit, another specification. No change is formed across it, and the
contract is not in the index until its base is later. A tier that is behind the break shows the level
in its old <code>unit</code> and <code>capacity_gb</code>. A correction replaces a level that was
published; <code>corrections</code> of a contract lists old and new with the reason.</p>`;

/** Each under an `h3` of its own, by which a test finds the `pre` to run. */
export const RECIPES = `<h2 id="recipes">Recipes</h2>
<p>HOST is the service's, KEY yours.</p>
<h3>curl: save the workbook, and ask again only for a newer one</h3>
<pre>curl -sS --fail -H "x-api-key: KEY" --etag-save tag --etag-compare tag -o prices.xlsx https://HOST/api/public/v1/export.xlsx</pre>
<h3>Programs with user and password: the key as password</h3>
<pre>curl -sS --fail -u :KEY -C - -o board.csv https://HOST/api/public/v1/export.csv
wget -q --auth-no-challenge --user= --password=KEY https://HOST/api/public/v1/export.csv</pre>
<p><code>-C -</code> continues a download that stopped. Excel: Data, From Web, the address of
<code>export.csv</code>, then Basic, with the key as password. Not tried by us in Excel itself.</p>
<h3>Python, standard library</h3>
<pre>import json, urllib.request

request = urllib.request.Request("https://HOST/api/public/v1/prices", headers={"x-api-key": "KEY"})
with urllib.request.urlopen(request) as answer:
    board = json.load(answer)
for record in board["memory"]:
    print(record["id"], record["spot_usd"], record["chg_24h_pct"])</pre>
<h3>Python, pandas</h3>
<pre>import pandas

key = {"x-api-key": "KEY"}
board = pandas.read_csv("https://HOST/api/public/v1/export.csv", storage_options=key)
print(board.groupby("segment")["chg_30d_pct"].mean())
history = pandas.read_csv("https://HOST/api/public/v1/history.csv", storage_options=key, parse_dates=["date", "session_utc"])
print(history.groupby("contract_id")["close_usd"].max())</pre>
<h3>JavaScript</h3>
<pre>const answer = await fetch("https://HOST/api/public/v1/index", { headers: { "x-api-key": "KEY" } });
if (!answer.ok) throw new Error((await answer.json()).detail);
const { level, chg_24h_pct } = await answer.json();
console.log(level, chg_24h_pct);</pre>
<h3>JavaScript, a part of the histories</h3>
<p><code>npm install hyparquet</code>. Each part that it fetches costs a call.</p>
<pre>import { asyncBufferFromUrl, parquetReadObjects } from "hyparquet";

const url = "https://HOST/api/public/v1/history.parquet";
const file = await asyncBufferFromUrl({ url, requestInit: { headers: { "x-api-key": "KEY" } } });
const rows = await parquetReadObjects({ file, columns: ["contract_id", "date", "close_usd"] });
console.log(rows.length, rows[0]);</pre>
<h3>DuckDB: save the histories</h3>
<pre>curl -sS --fail -H "x-api-key: KEY" -o history.parquet https://HOST/api/public/v1/history.parquet</pre>
<h3>DuckDB: ask the file</h3>
<pre>SELECT contract_id, max(close_usd) FROM 'history.parquet' WHERE date BETWEEN '2026-01-01' AND '2026-12-31' GROUP BY contract_id ORDER BY contract_id;</pre>
<p>With its extension httpfs it reads the address itself. Not run by us:</p>
<pre>CREATE SECRET (TYPE http, BEARER_TOKEN 'KEY');
SELECT count(*) FROM 'https://HOST/api/public/v1/history.parquet';</pre>
<h3>Excel, Power Query</h3>
<p>Data, Get Data, Blank Query, Advanced Editor. Not tried by us in Excel itself.</p>
<pre>let
  Source = Web.Contents("https://HOST/api/public/v1/export.csv", [Headers = [#"x-api-key" = "KEY"]]),
  Board = Table.PromoteHeaders(Csv.Document(Source, [Encoding = 65001]))
in
  Board</pre>
<h3>LibreOffice</h3>
<p>It sends no header fields of one's own. Save the CSV or the workbook with curl and open the file;
in the import dialogue choose UTF-8, comma, and English (USA) as language so that the points are
decimal ones.</p>
<h3>Google Sheets</h3>
<p><code>IMPORTDATA</code> sends no header fields either, and exports need a key, so it cannot read them. A
function in Apps Script can; not tried by us.</p>
<pre>function PRICES() {
  const answer = UrlFetchApp.fetch("https://HOST/api/public/v1/export.csv", { headers: { "x-api-key": "KEY" } });
  return Utilities.parseCsv(answer.getContentText());
}</pre>`;
