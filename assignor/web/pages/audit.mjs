// The history of groups, from the answer of `audit`: what audit.json has of each, and its last rebalances.
import { banner, el, folded, list, part, said, svg, table } from "./dom.mjs";
import { sizeText } from "./files.mjs";

const PAGE = 50;
const time = (ms) => (ms === null || ms < 0 ? "?" : new Date(ms).toISOString().replace("T", " ").slice(0, 19));
const named = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;

/** Return the place of each rebalance on a line of `width`, by time. */
export function places(rebalances, width) {
  const times = rebalances.map((each) => each.time);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  return times.map((each) => (last > first ? Math.round((each - first) / (last - first) * width) : 0));
}

function timeline(rebalances) {
  const width = 600;
  const marks = places(rebalances, width).map((x, place) => {
    const { time: at, generation, cause } = rebalances[place];
    return svg("rect", { x: x + 2, y: 4, width: 3, height: 16, class: `cause-${rebalances[place].confidence}` }, svg("title", {}, `${time(at)} generation ${generation}: ${cause}`));
  });
  return svg("svg", { viewBox: `0 0 ${width + 8} 24`, class: "timeline", role: "img", "aria-label": `${named(rebalances.length, "rebalance")} from ${time(rebalances[0].time)} to ${time(rebalances.at(-1).time)}` },
    svg("line", { x1: 0, x2: width + 8, y1: 12, y2: 12 }), ...marks);
}

const COLUMNS = ["time (UTC)", "generation", "members", "cause", "confidence", "detail", "versions", "tasks moved"];

function rebalanceRow(each) {
  return [time(each.time), each.generation, each.members, each.cause, each.confidence, each.detail, each.used_versions.join(", "), each.tasks ? `${each.tasks_moved} of ${each.tasks}` : ""];
}

function group(each, rebalances) {
  const findings = each.findings.toSorted((one, other) => (one.severity !== "problem") - (other.severity !== "problem"));
  const signs = findings.length ? el("span", { class: `sign ${findings[0].severity}` }, named(findings.length, "finding")) : "";
  const details = el("details", { class: "group" }, el("summary", {}, el("code", {}, each.group), ` ${each.type}, ${each.last_state}, ${named(each.generations, "rebalance")} `, signs));
  details.addEventListener("toggle", () => details.append(...[
    list(findings.map((finding) => [el("span", { class: `sign ${finding.severity}` }, finding.severity), ` ${finding.text}`]), "ul", { class: "plain" }),
    rebalances && timeline(rebalances),
    rebalances && table(`Rebalances of ${each.group}`, COLUMNS, rebalances.map(rebalanceRow)),
    rebalances && each.generations > rebalances.length && el("p", { class: "soft" }, `The last ${rebalances.length} of ${named(each.generations, "rebalance")}.`),
  ].filter(Boolean)), { once: true });
  return details;
}

function groupList(audit) {
  const rows = el("div");
  const count = el("p", { class: "soft", role: "status" });
  const more = el("button", { type: "button", click: () => { shown += PAGE; show(); } }, "Show more");
  let [shown, pattern] = [PAGE, ""];
  const show = () => {
    const found = audit.groups.filter((each) => each.group.toLowerCase().includes(pattern));
    rows.replaceChildren(...found.slice(0, shown).map((each) => group(each, audit.rebalances[each.group])));
    count.textContent = `${found.length.toLocaleString("en")} of ${named(audit.groups.length + audit.further_groups, "group")}`;
    more.hidden = found.length <= shown;
  };
  const search = el("label", {}, "Name contains ", el("input", { type: "search", input: (event) => { pattern = event.target.value.toLowerCase(); show(); } }));
  show();
  return [el("div", { class: "fields" }, search, count), rows, more];
}

/** Return the parts of an audit. */
export function auditParts(answer) {
  if (!answer.stdout) return [said(answer)];
  const audit = JSON.parse(answer.stdout);
  const problems = audit.groups.filter((each) => each.findings.some((finding) => finding.severity === "problem")).length;
  const rebalances = audit.groups.reduce((sum, each) => sum + each.generations, 0);
  const bytes = audit.records.bytes ?? 0;
  return [
    banner(problems || !audit.complete ? "safe-if" : "safe",
      `${named(audit.groups.length + audit.further_groups, "group")}, ${named(rebalances, "rebalance")}, ${time(audit.from_time)} to ${time(audit.until_time)} UTC; ${problems} with a problem`,
      !audit.complete && "; not complete: a part of the source is damaged or missing"),
    el("p", { class: "soft" }, `${sizeText(bytes)}. Checksums: ${audit.checksums}.`),
    part("Problems of the source", list(audit.problems.slice(0, 20))),
    part("Groups", groupList(audit)),
    part("To keep", folded("JSON", answer.stdout, "json")),
  ];
}
