/** The figures at the top of the report. */
import type { Composite } from "../../market/composite.ts";
import type { Decimal } from "../../market/decimal.ts";
import { countsOf, type TierView } from "../../market/view.ts";
import { changeHtml, grouped } from "../../site/text.js";

/** The numbers at the top. They are the manifest's counts. */
export function figures(view: TierView, index: Composite): string {
  const counts = countsOf(view);
  const shown: readonly [string, number][] = [
    ["Contracts", counts.contracts],
    ["Memory", counts.memory],
    ["Semiconductor", counts.semiconductor],
    ["Given", counts.given],
    ["Carried", counts.carried],
    ["Dropped", counts.dropped],
    ["Delisted", counts.delisted],
    ["No level so far", counts.withoutLevel],
  ];
  return `<dl class="figures">
<div class="headline"><dt>Composite index</dt><dd>${index.level === null ? "n/a" : grouped(index.level)}</dd>
<dd class="sub">24 h ${percentHtml(index.chg24hPct)}, 30 d ${percentHtml(index.chg30dPct)}</dd></div>
${shown.map(([name, count]) => `<div><dt>${name}</dt><dd>${count}</dd></div>`).join("\n")}
</dl>`;
}

const percentHtml = (change: Decimal | null): string =>
  change === null ? "n/a" : `${changeHtml(change)} %`;
