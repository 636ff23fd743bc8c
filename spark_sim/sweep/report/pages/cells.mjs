// A sweep of cells: one cell with its trace, and below it the tables from which another one is chosen.
import { el, pageData } from "./dom.mjs";
import { traceView } from "./trace.mjs";

const data = pageData();
const SIGNS = { safe: "✓", "safe-if": "◐", unsafe: "✗", unknown: "–", error: "!" };
const cells = data.tables.flatMap((table, place) => table.rows.flatMap((row, down) => row.cells.flatMap((some, across) => some.map((cell, at) =>
  ({ ...cell, table: place, row, key: [place, down, across, at].join(".") })))));
const shown = el("div", { id: "shown" });
const place = el("div", { id: "tables" });
const title = el("h2", { id: "cell-title", "aria-live": "polite" });
const chooser = el("select", { id: "table", change: (event) => go(cells.find((cell) => cell.table === Number(event.target.value))) },
  data.tables.map((table, at) => el("option", { value: at }, table.title)));

function commandLine(example) {
  const command = `streams-assignor replay "${example}"`;
  const copy = el("button", { type: "button", click: () => {
    const say = (word) => { copy.textContent = word; };
    if (navigator.clipboard) navigator.clipboard.writeText(command).then(() => say("Copied"), () => say("Not allowed"));
    else say("Not allowed");
  } }, "Copy");
  return el("div.replay", el("pre", command), copy);
}

function show(cell) {
  title.textContent = cell.title;
  const trace = cell.trace === undefined ? { steps: [] } : data.traces[cell.trace];
  shown.replaceChildren(...[
    el("p.soft", cell.row.meaning ? `${cell.row.name}: ${cell.row.meaning}.` : cell.row.name),
    el(`p.verdict.${cell.verdict}`, `${SIGNS[cell.verdict]} ${cell.text}`, cell.is_documented && " (documented)", cell.message && `: ${cell.message}`),
    trace.steps.length ? traceView(trace) : !cell.example && el("p.soft", "No schedule shows anything else."),
    cell.example && commandLine(cell.example),
    cell.facts && el("dl", Object.entries(cell.facts).flatMap(([term, value]) => [el("dt", term), el("dd", value)])),
  ].filter(Boolean));
}

function draw(chosen) {
  const table = data.tables[chosen.table];
  const button = (cell) => el(`button.sign.${cell.verdict}`, { type: "button", "data-cell": cell.key, "aria-pressed": String(cell.key === chosen.key), click: () => { go(cell); frame.scrollIntoView({ block: "start" }); } },
    `${SIGNS[cell.verdict]} ${cell.text}${cell.is_documented ? " *" : ""}`);
  const head = el("thead", el("tr", ["", ...table.columns].map((name, at) => el("th", { scope: "col" }, at ? name : table.row_title))));
  const rows = table.rows.map((row, down) => el("tr", el("th", { scope: "row" }, row.name, el("span.soft", row.meaning)),
    row.cells.map((_, across) => el("td", cells.filter((cell) => cell.key.startsWith(`${[chosen.table, down, across].join(".")}.`)).map(button)))));
  place.replaceChildren(el("div.scroll", { tabindex: "0", role: "region", "aria-label": `Table: ${table.title}` }, el("table", head, el("tbody", rows))));
  chooser.value = chosen.table;
}

function go(cell, isKept = false) {
  if (!isKept) history.replaceState(null, "", `#${cell.key}`);
  draw(cell);
  show(cell);
}

const opening = () => cells.find((cell) => cell.is_documented && cell.verdict === "unsafe") ?? cells.find((cell) => cell.verdict === "unsafe") ?? cells.find((cell) => cell.trace !== undefined) ?? cells[0];
const come = () => go(cells.find((cell) => cell.key === location.hash.slice(1)) ?? opening(), true);
const frame = el("section.part", { "aria-labelledby": "cell-title" }, title, shown);
const documented = cells.some((cell) => cell.is_documented);
document.querySelector("main").append(
  el(`p.verdict.${data.judgement.verdict}`, { role: "status" }, `${SIGNS[data.judgement.verdict]} ${data.judgement.text}`),
  cells.length ? frame : "",
  el("section.part", { "aria-labelledby": "tables-title" }, el("h2", { id: "tables-title" }, data.tables.length > 1 ? "All cells" : data.tables[0]?.title ?? "No cells"),
    data.tables.length > 1 ? el("div.fields", el("label", "from, to ", chooser)) : null,
    el("p.soft", `Choose a cell to see its trace above.${documented ? " * is what Kafka's documentation promises to be safe." : ""}`), place));
addEventListener("hashchange", come);
if (cells.length) come();
