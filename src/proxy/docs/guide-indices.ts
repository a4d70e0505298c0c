/** The part of the guide about indices: the level against a year before, and the continuous series. */

/** A test recalculates the numbers, and publishes the levels of the table. */
export const INDICES = `<h2 id="indices">Indices and their series</h2>
<p><code>/indices</code> lists an index of the whole market, <code>composite</code>, and one of each segment.
<code>/indices/{id}</code> has the fields of <code>/index</code> for one of them, and its series.
<code>carried</code> says how many of its levels are not of this session, and each contribution has the dates
of its two levels.</p>
<h3>Level or series</h3>
<div class="wide"><table><tr><th></th><th><code>level</code></th><th><code>series</code></th></tr>
<tr><th>100 is</th><td>one calendar year before the session: the base rolls</td>
<td>the first day of the index, <code>base.date</code>: the base never moves</td></tr>
<tr><th>made of</th><td>levels by those of the base, their arithmetic mean</td>
<td>levels by those of the day before, their geometric mean, from day to day</td></tr>
<tr><th>contracts</th><td>those with a comparable level a year before</td>
<td>all, each from its second day on</td></tr>
<tr><th>compare</th><td>within one answer, by <code>chg_24h_pct</code> and <code>chg_30d_pct</code></td>
<td>the closes of any two days: later / earlier − 1</td></tr>
<tr><th>take it for</th><td>what today's contracts are up on the year, and which of them moved it: their
contributions add up. Own baskets</td>
<td>charts, back-tests, the market over years</td></tr>
</table></div>
<h3>A series by hand</h3>
<p>An index of three contracts, of which C is new on the second day. Closes are those of 12:00 UTC.</p>
<div class="wide"><table><tr><th>day</th><th>A</th><th>B</th><th>C</th><th>mean of the moves</th><th>series</th></tr>
<tr><td>2026-11-19</td><td>2.00</td><td>60.00</td><td></td><td></td><td>100</td></tr>
<tr><td>2026-11-20</td><td>2.42</td><td>60.00</td><td>10000</td><td>√(1.21 × 1) = 1.1</td><td>110</td></tr>
<tr><td>2026-11-21</td><td>2.42</td><td>48.60</td><td>9000</td><td>∛(1 × 0.81 × 0.9) = 0.9</td><td>99</td></tr>
</table></div>
<p>On the 20th A moves by 2.42 / 2.00 = 1.21 and B by 1. C has no level of the day before, so its 10000 moves
nothing: a new contract never makes the series jump. On the 21st C counts, too, by 9000 / 10000 = 0.9. The
market fell by 10 % that day, 99 / 110 − 1, and by 1 % since the 19th.</p>
<p>A contract without a level for a day keeps its last one, a move of 1, until it is older than its limit
(45 days, or what its entry says) or the contract is delisted; then it no longer counts. A move over a
<code>break</code> is left out. On a day without any move to count, the series stands. The depth of your tier
cuts the series and does not begin it anew: its first entry need not be 100.</p>
<h3>Why a geometric mean</h3>
<p>One price goes from 1 to 2 and back to 1, another stands. Arithmetic means are (2 + 1) / 2 = 1.5 and
(0.5 + 1) / 2 = 0.75, and their chain is 1.5 × 0.75 = 1.125: up 12.5 %, though both prices are what they
were. Geometric means are √(2 × 1) = 1.4142 and √(0.5 × 1) = 0.7071, and their chain is 1. Prices that go up
and down make a chain of arithmetic means drift upwards, for ever; a chain of geometric means does not drift
(ILO and others, Consumer Price Index Manual 2020, chapters 8 and 9). <code>level</code> may use the
arithmetic mean, as it compares with its base in one step and is never chained.</p>
<h3>What changes a past close</h3>
<p>A series is computed from the levels as they are corrected by now, and from the present catalog. So a
correction changes the closes from its day on, and a contract that changes its segment takes its past along.
What was known at a time is in the answers <a href="#as-published">as they were published then</a>.</p>
<p>For publishers: keep a delisted contract in the catalog, with <code>delisted_on</code>. It then counts
until its last day. One that is taken out of the catalog leaves the past of its indices, too.</p>`;
