/** The report's style sheet: system fonts, light and dark, one column on a narrow screen. */
export const REPORT_STYLE = `
:root {
  color-scheme: light dark;
  --page: #ffffff; --soft: #f4f5f7; --rule: #d9dce1; --faint: #eceef1;
  --text: #1b1f24; --muted: #59616c; --accent: #1f5fa8; --ground: #e6eef8;
  --up: #0b6b3f; --down: #ab2424; --warn: #8a5200; --warn-ground: #fff4de;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171b; --soft: #1b1f25; --rule: #343a43; --faint: #262b32;
    --text: #e4e7eb; --muted: #a0a8b3; --accent: #7fb2f0; --ground: #1c2a3c;
    --up: #6fcf9b; --down: #ff9c93; --warn: #f0bd6a; --warn-ground: #33280f;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 8px; }
body { margin: 0 auto; max-width: 1240px; padding: 24px 20px 48px; background: var(--page); color: var(--text);
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: break-word; }
h1 { font-size: 24px; line-height: 1.25; font-weight: 600; margin: 0 0 4px; }
h2 { font-size: 17px; font-weight: 600; margin: 0 0 6px; }
h3 { font-size: 14px; font-weight: 600; margin: 8px 0 4px; }
p { margin: 0 0 8px; max-width: 78ch; }
a { color: var(--accent); }
section { margin: 36px 0 0; min-width: 0; }
small, .note, footer, header p { color: var(--muted); font-size: 13px; }
.note { margin-top: 8px; }
code { font: 12.5px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
nav { display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 12px 0 0; }
.figures { display: grid; grid-template-columns: 1.7fr repeat(7, 1fr); margin: 20px 0 0;
  border: 1px solid var(--rule); border-radius: 6px; background: var(--soft); }
.figures div { padding: 10px 14px; border-left: 1px solid var(--rule); }
.figures div:first-child { border-left: 0; }
dt { color: var(--muted); font-size: 12.5px; line-height: 1.3; }
dd { margin: 0; font-size: 20px; line-height: 1.4; font-variant-numeric: tabular-nums; }
dd.sub { font-size: 13px; color: var(--muted); }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 36px; }
.pair > * { min-width: 0; }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px 5px 0; text-align: left; vertical-align: top; font-weight: 400; border-bottom: 1px solid var(--faint); }
thead th { color: var(--muted); font-size: 12.5px; border-bottom: 1px solid var(--rule); vertical-align: bottom; white-space: nowrap; }
th:last-child, td:last-child { padding-right: 0; }
:is(th, td) > bdi { display: inline-block; max-width: 42ch; overflow-wrap: anywhere; }
small bdi { overflow-wrap: anywhere; }
.n { text-align: right; white-space: nowrap; }
.n + :not(.n) { padding-left: 10px; }
time { white-space: nowrap; }
.up { color: var(--up); }
.down { color: var(--down); }
.none, .count { color: var(--muted); }
.count { font-weight: 400; }
.tag { font-size: 12px; line-height: 1; padding: 2px 6px; border-radius: 3px; white-space: nowrap; background: var(--warn-ground); color: var(--warn); }
.tag.passed { background: none; padding: 0; color: var(--up); }
.chart { display: flex; margin: 8px 0 0; }
.chart text { fill: var(--muted); font-size: 12px; font-variant-numeric: tabular-nums; }
.chart line { stroke: var(--rule); }
.chart line.base { stroke: var(--muted); stroke-dasharray: 4 3; }
.chart path { vector-effect: non-scaling-stroke; }
.ground { fill: var(--ground); }
.curve { fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; }
.chart > svg { flex: none; display: block; }
.chart > .plot { flex: 1 1 0; min-width: 0; }
.spark { display: block; width: 126px; height: 28px; margin: -4px 0; }
.spark path { fill: none; stroke: var(--accent); stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
#controls { display: flex; flex-wrap: wrap; align-items: baseline; gap: 8px 20px; margin: 0 0 10px; }
#controls[hidden] { display: none; }
#controls label { color: var(--muted); max-width: 100%; min-width: 0; }
#shown { color: var(--muted); font-variant-numeric: tabular-nums; }
input, select { max-width: 100%; font: inherit; color: var(--text); background: var(--page); border: 1px solid var(--muted); border-radius: 4px; padding: 4px 8px; }
input { width: 260px; }
:is(input, select, button, a):focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
#contracts thead th { position: sticky; top: 0; background: var(--page); z-index: 1; box-shadow: inset 0 -1px var(--rule); border: 0; }
#contracts td:nth-child(2) { min-width: 140px; }
#contracts thead th:last-child { padding-bottom: 7px; }
#contracts tbody :is(th, td) { vertical-align: middle; }
#contracts :is(th, td):is(:nth-child(8), :nth-child(9)) { white-space: nowrap; }
#contracts .carried td:nth-child(8) { color: var(--warn); }
#contracts tbody tr:hover > * { background: var(--soft); }
thead button { font: inherit; color: inherit; background: none; border: 0; padding: 2px 0; cursor: pointer; white-space: nowrap; }
thead button:hover { color: var(--text); text-decoration: underline; }
[aria-sort="ascending"] button, [aria-sort="descending"] button { color: var(--text); font-weight: 600; }
[aria-sort="ascending"] button::after { content: " \\2191"; }
[aria-sort="descending"] button::after { content: " \\2193"; }
footer { margin: 44px 0 0; padding: 12px 0 0; border-top: 1px solid var(--rule); }
@media (max-width: 1099px) {
  .figures { grid-template-columns: repeat(4, 1fr); }
  .figures .lead { grid-column: 1 / -1; }
  .figures div { border-left: 0; }
  #contracts { min-width: 980px; }
  #contracts :is(th, td):first-child { position: sticky; left: 0; background: var(--page); z-index: 1; }
}
@media (max-width: 799px) {
  .pair { grid-template-columns: 1fr; }
}
@media (max-width: 639px) {
  body { padding: 16px 16px 40px; }
  .figures { grid-template-columns: repeat(3, 1fr); padding: 4px 0; }
  .figures div { padding: 6px 12px; }
  #gates .n { white-space: normal; }
  .wide, .wide-text, #contracts :is(th, td):is(:nth-child(2), :nth-child(3)) { display: none; }
  th, td { padding-right: 8px; }
  .n + :not(.n) { padding-left: 0; }
  input { width: 100%; }
  #controls label:first-child { flex: 1 0 100%; }
  #contracts { min-width: 620px; }
  #contracts tbody th { width: 150px; min-width: 150px; max-width: 150px; overflow-wrap: anywhere; }
  #contracts tbody th::after { content: attr(data-name); display: block; unicode-bidi: isolate; color: var(--muted); font-size: 12px; line-height: 1.3; }
}
@media print {
  #controls, nav { display: none; }
  #contracts thead th { position: static; }
}
`;
