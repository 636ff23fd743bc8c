// A scenario, generation by generation: members are rows, generations are columns.
import { banner, el, folded, list, part, said } from "./dom.mjs";

export const EXAMPLES = {
  "two bounces, 1.1 to 2.0": "A@1.1 B@1.1 C@1.1 | bounce A>2.0,upgrade.from=1.1 B>2.0,upgrade.from=1.1 C>2.0,upgrade.from=1.1 | bounce A>2.0 B>2.0 C>2.0",
  "version probing, 2.0 to 2.3": "A@2.0 B@2.0 C@2.0 | bounce A>2.3 B>2.3 C>2.3",
  "without upgrade.from, 1.1 to 2.0": "A@1.1 B@1.1 | bounce A>2.0 B>2.0",
  "KAFKA-8649": "B@2.0.1 A@2.0.1 C@2.0.1 | elect newest | bounce A>2.1.1 | bounce B>2.1.1",
  "brokers that change their level": "1@3.9 2@3.9 level 3.9 | bounce 1>4.3 2>4.3 | race finalize 4.3 3@3.9",
  "a streams group (KIP-1071)": "A@4.3.1 B@4.3.1 group 4.3.1 tasks=4 standbys=1 | start A | settle | start B | settle",
};

const seconds = (ms) => `${(ms / 1000).toLocaleString("en", { maximumFractionDigits: 1 })} s`;

const tasks = (text) => (text && text !== "-" ? text.replaceAll(",", " ") : "");

/** Return the marks of a member in a generation: pairs of kind and text. */
export function marks(before) {
  if (!before) return [];
  const versions = before.sent === null ? "" : `sends ${before.sent}${before.knows > 0 && before.knows !== before.sent ? `, supports ${before.knows}` : ""}`;
  const probed = before.received !== null && before.sent !== null && before.received < before.sent;
  return [
    ...before.before.map((text) => ["event", text]),
    before.leads && ["leader", "leader"],
    versions && ["version", versions],
    before.received !== null && [probed ? "probe" : "version", `gets ${before.received}`],
    tasks(before.active) && ["tasks", tasks(before.active)],
    tasks(before.standby) && ["standby", `standby ${tasks(before.standby)}`],
    before.dropped && ["probe", "drops the assignment"],
    before.rejoins && ["rejoins", before.rejoins],
    before.failed && ["failed", before.failed],
  ].filter(Boolean);
}

function generationTable(generations) {
  const members = [...new Set(generations.flatMap((each) => Object.keys(each.parts)))].sort();
  let place = generations.length - 1;
  const label = el("p", { role: "status", class: "soft" });
  const columns = generations.map(() => []);
  const cell = (column, element) => { columns[column].push(element); return element; };
  const heads = generations.map((each, column) => cell(column, el("th", { scope: "col" },
    `generation ${each.number}`, el("br"), el("span", { class: "soft" }, seconds(each.at)),
    each.violations.map((text) => el("span", { class: "mark failed" }, text)))));
  const rows = members.map((member) => el("tr", {}, el("th", { scope: "row" }, member),
    generations.map((each, column) => cell(column, el("td", {}, marks(each.parts[member]).map(([kind, text]) => el("span", { class: `mark ${kind}` }, text)))))));
  const go = (to) => {
    place = Math.max(0, Math.min(generations.length - 1, to));
    for (const [column, cells] of columns.entries()) {
      for (const each of cells) {
        each.classList.toggle("now", column === place);
        each.classList.toggle("later", column > place);
      }
    }
    columns[place][0].scrollIntoView?.({ block: "nearest", inline: "nearest" });
    const broken = generations[place].violations;
    label.textContent = `${place + 1} of ${generations.length}: generation ${generations[place].number} after ${seconds(generations[place].at)}${broken.length ? `; ${broken.join("; ")}` : ""}`;
  };
  const button = (text, to) => el("button", { type: "button", click: () => go(to()) }, text);
  const keys = { ArrowLeft: () => go(place - 1), ArrowRight: () => go(place + 1), Home: () => go(0), End: () => go(generations.length - 1) };
  const scroll = el("div", {
    class: "scroll", tabindex: "0", role: "region", "aria-label": "Generations; the arrow keys step",
    keydown: (event) => { if (keys[event.key]) { event.preventDefault(); keys[event.key](); } },
  }, el("table", { class: "generations" }, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "member"), heads)), el("tbody", {}, rows)));
  const found = [el("div", { class: "fields" },
    button("First", () => 0), button("Back", () => place - 1), button("Forward", () => place + 1), button("Last", () => generations.length - 1), label), scroll];
  const broken = generations.findIndex((each) => each.violations.length);
  requestAnimationFrame(() => go(broken < 0 ? generations.length - 1 : broken));
  return found;
}

/** Return the parts of a run, the verdict first. */
export function replayParts(answer) {
  if (!answer.stdout) return [said(answer)];
  const trace = JSON.parse(answer.stdout);
  const broken = trace.violations.map((each) => `${each.property}: ${each.member && `${each.member}: `}${each.text}`);
  const who = (event) => event.member ?? event.who ?? "";
  return [
    banner(trace.verdict, el("b", {}, trace.verdict), broken.length ? `: ${broken[0]}` : ": every property holds"),
    said(answer),
    answer.generations.length > 0 && part("Generations", generationTable(answer.generations)),
    part("Steps", list(trace.steps.map((each) => el("details", { open: !answer.generations.length },
      el("summary", {}, el("code", {}, each.step), ` ${each.meaning}`),
      list(each.events.map((event) => el("span", { class: `event ${event.kind}` }, el("b", {}, who(event)), ` ${event.text}`)), "ul", { class: "plain" }))), "ol")),
    part("To keep", folded("JSON", answer.stdout, "json")),
  ];
}
