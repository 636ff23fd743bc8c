// Every upgrade by verdict and plan. Rows come one after the other.
import { el } from "./dom.mjs";

/** Return the newest release of each line, or all. */
export function shownReleases(releases, all) {
  if (all) return releases;
  const newest = new Map(releases.map((name) => [name.split(".").slice(0, name.startsWith("0.") ? 3 : 2).join("."), name]));
  return [...newest.values()];
}

/** Return the letter of a plan, and the class of its colour. */
export function sign({ verdict, plan, steps }) {
  const bounces = plan === "offline" ? "o" : plan === "one_bounce" ? "1" : String(Math.max(2, steps));
  if (verdict === "safe-if") return [`${bounces}?`, "if"];
  if (verdict !== "safe") return ["!", "unsafe"];
  return [bounces, { o: "off", 1: "safe" }[bounces] ?? "two"];
}

const words = (found) => `${found.verdict}, ${found.plan.replaceAll("_", " ")}, ${found.steps} steps`;

/** Show the matrix in `place`; `rowOf(name)` returns a promise of a row, `open(from, to)` opens a plan. */
export async function showMatrix(place, releases, rowOf, open) {
  const body = el("tbody");
  const grid = el("table", { class: "matrix", role: "grid", "aria-label": "Upgrades from the row to the column" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "from \\ to"), releases.map((name) => el("th", { scope: "col" }, el("span", {}, name))))), body);
  place.replaceChildren(el("div", { class: "scroll", role: "region", "aria-label": "Table of plans" }, grid));
  const cells = [];
  const focus = (row, column) => {
    const next = cells[row]?.[column];
    if (!next) return;
    for (const each of grid.querySelectorAll("td[tabindex='0']")) each.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  };
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  for (const [row, from] of releases.entries()) {
    const found = await rowOf(from);
    cells.push(found.map((each, column) => {
      const to = releases[column];
      const tab = row === 0 && column === 0 ? "0" : "-1";
      const keydown = (event) => {
        if (moves[event.key]) {
          event.preventDefault();
          focus(row + moves[event.key][0], column + moves[event.key][1]);
        } else if (each && ["Enter", " "].includes(event.key)) {
          event.preventDefault();
          open(from, to);
        }
      };
      if (!each) return el("td", { tabindex: tab, keydown, "aria-label": `${from}: the same release` });
      const [text, kind] = sign(each);
      return el("td", { class: `sign ${kind}`, tabindex: tab, title: `${from} to ${to}: ${words(each)}`, keydown, click: () => open(from, to) }, text);
    }));
    body.append(el("tr", {}, el("th", { scope: "row" }, from), cells.at(-1)));
  }
}
