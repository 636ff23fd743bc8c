// Every upgrade by verdict and plan. Rows come one after the other.
import { el, list } from "./dom.mjs";

/** Return the newest release of each line, or all. */
export function shownReleases(releases, all) {
  if (all) return releases;
  const newest = new Map(releases.map((name) => [name.split(".").slice(0, name.startsWith("0.") ? 3 : 2).join("."), name]));
  return [...newest.values()];
}

const WAYS = { 1: "one bounce, no configuration", 2: "two bounces, the first with upgrade.from, or two hops", 3: "three bounces: through a release in between", o: "offline: stop everything, then start everything", "!": "unsafe" };

const letter = (plan, steps) => (plan === "offline" ? "o" : plan === "one_bounce" ? "1" : String(Math.max(2, steps)));

/** Return the letters of a plan, and the class of its colour: with `if_met` those of both ways. */
export function sign({ verdict, plan, steps, if_met }) {
  const way = letter(plan, steps);
  if (verdict === "safe-if") return [if_met ? `${letter(if_met.plan, 1)}/${way}` : `${way}?`, "if"];
  if (verdict !== "safe") return ["!", "unsafe"];
  return [way, { o: "off", 1: "safe" }[way] ?? "two"];
}

/** Return a sign in words. */
export function meaning(text) {
  const [met, otherwise] = text.split("/");
  if (otherwise) return `${WAYS[met]}, if the topology lacks something, else ${WAYS[otherwise]}; the plan asks`;
  return text.endsWith("?") ? `${WAYS[text[0]]}, if the topology lacks something, else unsafe; the plan asks` : WAYS[text] ?? `${text} bounces`;
}

/** Return the lines of the legend for what the matrix shows; `kinds` maps signs to the classes of their colours. */
const legend = (kinds) => [...kinds.keys()].toSorted().map((text) => [el("span", { class: `sign ${kinds.get(text)}` }, text), ` ${meaning(text)}`]);

/** Show the matrix in `place`; `rowOf(name)` returns a promise of a row, `open(from, to)` opens a plan, `onRow(done, all)` hears of each row. */
export async function showMatrix(place, releases, rowOf, open, onRow) {
  const body = el("tbody");
  const grid = el("table", { class: "matrix", role: "grid", "aria-label": "Upgrades from the row to the column" },
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "from \\ to"), releases.map((name) => el("th", { scope: "col" }, el("span", {}, name))))), body);
  const key = el("div");
  place.replaceChildren(key, el("div", { class: "scroll", role: "region", "aria-label": "Table of plans" }, grid));
  const kinds = new Map();
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
    onRow(row, releases.length);
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
      kinds.set(text, kind);
      return el("td", { class: `sign ${kind}`, tabindex: tab, title: each.headline, keydown, click: () => open(from, to) }, text);
    }));
    key.replaceChildren(list(legend(kinds), "ul", { class: "legend", "aria-label": "Entries" }));
    body.append(el("tr", {}, el("th", { scope: "row" }, from), cells.at(-1)));
  }
}
