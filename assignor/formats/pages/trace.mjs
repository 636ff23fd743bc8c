// The trace of a run: members (or nodes) side by side, generation by generation, below the step that leads to them.
import { el } from "./dom.mjs";

/** Return the drawing of what `trace_view` returns; the cluster as a whole, or the group, is the lane without a name. */
export function traceView({ lanes, steps }) {
  const width = lanes.length + 1;
  const rows = [];
  const isTimed = steps.some((step) => step.rows.some((row) => row.title));
  const below = (kind, sign, texts = []) => texts.map((text) => el("tr", { class: `below ${kind}` }, el("td", { colspan: width }, el("div", { class: "band" }, `${sign} ${text}`))));
  const bodies = steps.map(({ step, meaning, rows: own }) => {
    const body = el("tbody", {}, el("tr", { class: "step" }, el("th", { scope: "rowgroup", colspan: width }, el("div", { class: "band" }, el("code", {}, step), el("span", {}, ` ${meaning}`)))));
    for (const { title = "", time = "", cells = {}, violations, remarks } of own) {
      const [word, number = ""] = title.split(" ");
      const cell = (lane) => el("td", {}, (cells[lane] ?? []).map(([kind, text]) => el("span", { class: `mark ${kind}` }, text)));
      const row = el("tr", { class: "row" }, el(title ? "th" : "td", title ? { scope: "row" } : { class: "untitled" }, title && el("span", { class: "word" }, `${word} `), number, time && el("span", { class: "time" }, time)), lanes.map(cell));
      const all = [...(Object.keys(cells).length ? [row] : []), ...below("violation", "✗", violations), ...below("remark", "remark:", remarks)];
      rows.push({ all, when: [title, time && `after ${time}`].filter(Boolean).join(", ") || step, violations: violations ?? [], broken: Boolean(violations) });
      body.append(...all);
    }
    return body;
  });
  const head = el("thead", {}, el("tr", {}, el("th", { scope: "col", class: "when" }, el("span", { class: isTimed ? "" : "unseen" }, "when")), lanes.map((lane) => el("th", { scope: "col" }, lane || "all"))));
  const broken = rows.findIndex((row) => row.broken);
  const label = el("span", { role: "status", class: "soft" }, `${rows.length} rows${broken < 0 ? "" : `; violated: ${rows[broken].when}`}`);
  let place = broken < 0 ? rows.length - 1 : broken;
  const mark = (isSteppedTo) => rows.forEach(({ all }, at) => all.forEach((row) => {
    row.classList.toggle("now", at === place && (isSteppedTo || broken >= 0));
    row.classList.toggle("later", isSteppedTo && at > place);
  }));
  const go = (to) => {
    place = Math.max(0, Math.min(rows.length - 1, to));
    mark(true);
    rows[place].all[0]?.scrollIntoView?.({ block: "nearest" });
    label.textContent = `${place + 1} of ${rows.length}: ${[rows[place].when, ...rows[place].violations].join("; ")}`;
  };
  const button = (text, to) => el("button", { type: "button", click: () => go(to()) }, text);
  const keys = { ArrowLeft: () => go(place - 1), ArrowRight: () => go(place + 1), Home: () => go(0), End: () => go(rows.length - 1) };
  const table = el("table", { class: isTimed ? "" : "untimed" }, head, bodies);
  table.style.setProperty("--lanes", lanes.length);
  mark(false);
  return el("div", { class: "trace" },
    rows.length > 1 && el("div", { class: "fields" }, button("First", () => 0), button("Back", () => place - 1), button("Forward", () => place + 1), button("Last", () => rows.length - 1), label),
    el("div", {
      class: "scroll", tabindex: "0", role: "region", "aria-label": "Trace; the left and right arrow keys step",
      keydown: (event) => { if (rows.length > 1 && keys[event.key]) { event.preventDefault(); keys[event.key](); } },
    }, table));
}
