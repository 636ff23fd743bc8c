// A sweep over upgrades: one pair of releases with the trace of a plan, and the matrix of all pairs.
import { el, pageData } from "./dom.mjs";
import { traceView } from "./trace.mjs";

const data = pageData();
const byId = id => document.getElementById(id);
const large = data.down.length > 12 || data.across.length > 12;
const number = value => Number(value).toLocaleString("en");

// -- data: a cell is {key, from, to, way, plans}; results are kept once, with signs where releases and values are named --

const named = (text, cell, value) => text.replaceAll("\ue000", cell.from).replaceAll("\ue001", cell.to).replaceAll("\ue002", value ?? "");
const cells = new Map(data.cells.map(([down, across, way, plans]) => {
  const [fromLine, from] = data.down[down], [toLine, to] = data.across[across];
  const cell = {down, across, fromLine, toLine, from, to, key: `${fromLine}-to-${toLine}`, way: data.ways[way]};
  cell.plans = plans.map(([place, value, documented]) => ({...data.verdicts[place], value, documented}));
  return [cell.key, cell];
}));
const isPlain = plan => plan.plan === "one_bounce" && plan.value === null;
const planOf = {
  one_bounce: cell => cell.plans.find(isPlain),
  two_bounces: cell => cell.plans.filter(p => p.plan === "two_bounces").sort((a, b) => (a.verdict > b.verdict) - (a.verdict < b.verdict) || b.documented - a.documented)[0],
  offline: cell => cell.plans.find(p => p.plan === "offline"),
  documented: cell => cell.plans.find(p => p.documented),
};
const views = {guide: "Simplest safe way", all: "All plans", one_bounce: "One bounce", two_bounces: "Two bounces", offline: "Offline", documented: "Kafka's guide"};
if (large) delete views.all;
const filters = {
  all: ["everything", () => true],
  if: ["safe-if: the topology decides", cell => cell.way.verdict === "safe-if"],
  one: ["one bounce is unsafe", cell => planOf.one_bounce(cell)?.verdict === "unsafe"],
  two: ["two bounces needed", cell => cell.way.sign === "2" && !cell.way.via.length],
  bridge: ["a bridge needed", cell => cell.way.via.length > 0],
  offline: ["only offline is safe", cell => cell.way.sign === "o"],
  differs: ["Kafka's guide says something else", cell => cell.way.documented !== null],
  metadata: ["the metadata alone allows more", cell => cell.way.by_metadata !== null],
  unseen: ["record formats change as well", cell => cell.way.unseen.length > 0],
};
const MARK = {safe: "✓", "safe-if": "◐", unsafe: "✗", unknown: "?", error: "!"};
const without = conditions => `if the ${conditions.includes("no second-thread") ? "application" : "topology"} has ` + conditions.map(each => each.replaceAll("-", " ").replace("foreign key", "foreign-key")).join(" and ");
const single = cells.size < 2;
const state = {view: large ? "guide" : "all", from: "", to: "", only: "all", cell: "", plan: ""};

// -- the matrix --

const wayClass = way => way.verdict === "safe" ? ({1: "w1", 2: "w2", o: "wo"})[way.sign] ?? "wm" : way.verdict === "safe-if" ? "wif" : way.verdict;
function planMark(plan, signed) {
  if (!plan) return el("span.plan.none", {"aria-hidden": "true"}, "–");
  const share = plan.verdict === "unsafe" && plan.runs ? plan.violations / plan.runs : 0;
  const node = el("span.plan." + plan.verdict + (plan.documented ? ".documented" : "") + (share > 0.5 ? ".deep" : ""), {"aria-hidden": "true"}, el("b", MARK[plan.verdict]), signed ? data.plans[plan.plan].sign : null);
  node.style.setProperty("--share", share.toFixed(3));
  return node;
}
function marks(cell) {
  if (state.view === "guide") return [el(`span.plan.${wayClass(cell.way)}${cell.way.documented === null ? "" : ".differs"}`, {"aria-hidden": "true"}, el("b", cell.way.sign), cell.way.via.length ? "via " + cell.way.via.join(", ") : null)];
  if (state.view === "all") return cell.plans.map(plan => planMark(plan, true));
  return [planMark(planOf[state.view](cell), state.view === "documented")];
}
const cellLabel = cell => `${cell.fromLine} to ${cell.toLine}: ` + cell.plans.map(plan => `${data.plans[plan.plan].name}${plan.value ? ` with ${plan.value}` : ""} ${plan.verdict}${plan.documented ? " (Kafka's guide)" : ""}`).join(", ") + `; simplest safe way: ${wayText(cell)}`;
const wayText = cell => (cell.way.if_met ? `${named(cell.way.if_met, cell)} ${without(cell.way.conditions)}, else ` : "") + named(cell.way.text, cell) + (cell.way.verdict === "safe-if" && !cell.way.if_met ? ` ${without(cell.way.conditions)}` : "");
const matching = (text, line) => !text.trim() || text.trim().split(/[\s,]+/).some(part => line.startsWith(part));

function draw() {
  if (single) return;
  const down = data.down.map((each, place) => [place, each[0]]).filter(([, line]) => matching(state.from, line));
  const across = data.across.map((each, place) => [place, each[0]]).filter(([, line]) => matching(state.to, line));
  const at = new Map([...cells.values()].map(cell => [cell.down + "," + cell.across, cell]));
  const table = el("table.matrix" + (large && down.length * across.length > 200 ? ".large" : ""));
  const heading = ([, line]) => { const node = el("th", line, data.notes[line] ? el("abbr", "*") : null); node.scope = "col"; if (data.notes[line]) node.title = data.notes[line]; return node; };
  table.append(el("thead", el("tr", el("th", {scope: "col"}, el("span.unseen", "from \\ to")), ...across.map(heading))));
  const only = filters[state.only][1];
  let fitting = 0;
  const body = el("tbody");
  for (const [row, line] of down) {
    const head = el("th", line), tr = el("tr", head);
    head.scope = "row";
    for (const [column] of across) {
      const cell = at.get(row + "," + column), td = el("td");
      if (cell) {
        const fits = only(cell), button = el("button.cell" + (fits ? "" : ".other"), ...marks(cell));
        fitting += fits;
        button.type = "button";
        button.dataset.cell = cell.key;
        button.title = cellLabel(cell);
        button.setAttribute("aria-pressed", cell.key === state.cell);
        td.append(button);
      }
      tr.append(td);
    }
    body.append(tr);
  }
  table.append(body);
  byId("matrix").replaceChildren(table);
  byId("count").textContent = `${number(fitting)} of ${number(cells.size)} pairs`;
  byId("key").replaceChildren(...(state.view === "guide" ? keyOfWays : keyOfPlans)(), ...Object.entries(data.notes).map(([line, note]) => el("span", `* ${line}: ${note}`)));
}
const swatch = (style, words) => { const box = el("i.swatch"); box.style.cssText = style; return el("span", box, words); };
const keyOfWays = () => [
  swatch("background:var(--one)", "1 one bounce"), ...[...cells.values()].some(filters.if[1]) ? [swatch("background:var(--cond)", "1/2 safe-if: one bounce if the topology lacks what the page of the pair names, else two (1/o: else offline)")] : [], swatch("background:var(--two-fill)", "2 two bounces"), swatch("background:var(--more)", "3 more, through a bridge"), swatch("background:var(--off-fill)", "o offline only"),
  ...[...cells.values()].some(filters.differs[1]) ? [swatch("box-shadow:inset 0 0 0 2px var(--ink)", "Kafka's guide says something else")] : []];
const keyOfPlans = () => [
  ...state.view === "all" || state.view === "documented" ? [el("span", Object.values(data.plans).map(plan => `${plan.sign} ${plan.name}`).join(" · "))] : [],
  swatch(large ? "background:var(--one)" : "background:var(--safe-bg)", "✓ safe"),
  ...data.verdicts.some(each => each.verdict === "safe-if") ? [swatch(large ? "background:var(--cond)" : "background:var(--if-bg)", "◐ safe-if: the topology decides")] : [],
  swatch("background:linear-gradient(90deg, color-mix(in oklab, var(--heat) 18%, var(--card)), var(--heat))", "✗ unsafe: the darker, the more runs violate a property"),
  ...["unknown", "error"].filter(verdict => data.verdicts.some(each => each.verdict === verdict)).map(verdict => swatch("background:var(--odd)", verdict === "unknown" ? "? unknown: too many states" : "! error: the simulation failed")),
  swatch("box-shadow:inset 0 0 0 2px var(--ink)", "plan of Kafka's guide")];
// -- one pair: its plans, the trace of one of them, what the guide says --

const nameOf = plan => plan ? plan.plan + (plan.value ? "=" + plan.value : "") : "";

const capital = text => text[0].toUpperCase() + text.slice(1);
const verdictOf = verdict => el("span.is." + verdict, `${MARK[verdict]} ${verdict}`);

function choice(cell, plan) {
  const node = el("button.choice", {type: "button", role: "tab", "data-plan": nameOf(plan)}, el("b", capital(data.plans[plan.plan].name)), plan.value ? el("span", `upgrade.from=${plan.value}`) : null, plan.documented ? el("span.tag", "Kafka's guide") : null, verdictOf(plan.verdict));
  node.onclick = () => { go({plan: nameOf(plan)}); drill.querySelector(`[data-plan="${CSS.escape(nameOf(plan))}"]`).focus({preventScroll: true}); };
  return node;
}

function factsOf(plan) {
  const share = plan.runs ? ` (${(100 * plan.violations / plan.runs).toFixed(1)} %)` : "";
  const facts = [["schedules explored", plan.schedules], ["states", number(plan.states)], ["transitions", number(plan.transitions)]].slice(plan.states ? 0 : 3);
  if (plan.groups) facts.unshift([plan.verdict, plan.groups]);
  facts.push(["runs of real members", number(plan.runs)], ["violating", number(plan.violations) + (plan.violations ? share : "")], ["most rebalances after a step", plan.max_rebalances], ["members probed", number(plan.probes)]);
  return el("div.facts", el("h3", "What was explored"), el("dl", facts.flatMap(([term, value]) => [el("dt", term), el("dd", String(value))])));
}

// What becomes of a plan that is not followed: a line for each way, with the command that shows what goes wrong.
function otherwise(cell, plan) {
  if (!plan.deviations.length) return null;
  const told = text => named(text, cell, plan.value);
  return el("div.deviations", el("h3", "When the plan is not followed"), el("dl", ...plan.deviations.flatMap(each => [
    el("dt", "If " + each.words),
    el("dd", verdictOf(each.safe ? "safe" : "unsafe"), el("span.soft", ` ${each.schedules} schedules`),
      each.message ? el("div.violated", told(each.message)) : null, each.scenario ? replayed(told(each.scenario)) : null)])));
}

// The command that plays a scenario, to be copied into a shell.
function replayed(scenario) {
  const command = `streams-assignor replay "${scenario}"`, copy = el("button", {type: "button"}, "Copy");
  const told = word => { copy.textContent = word; };
  copy.onclick = () => navigator.clipboard ? navigator.clipboard.writeText(command).then(() => told("Copied"), () => told("Not allowed")) : told("Not allowed");
  return el("div.replay", el("pre", command), copy);
}

// The trace comes first, below one line that says what it shows.
function explain(cell, plan) {
  const panel = el("div", {role: "tabpanel", "aria-label": capital(data.plans[plan.plan].name)}, el("p.soft", capital(data.plans[plan.plan].meaning) + (plan.plan === "one_bounce" && plan.value ? ", with an upgrade.from that is never removed." : ".")));
  if (plan.conditions.length) panel.append(el("p.condition", `Safe ${without(plan.conditions)}.`));
  if (plan.property) panel.append(el("p.violated", "violates ", el("b", plan.property), el("br"), named(plan.message, cell, plan.value)));
  if (!plan.scenario) { panel.append(el("p.soft", "No schedule violates a property.")); return panel; }
  panel.append(el("h3", plan.bad ? "The shortest schedule that violates a property" : "No schedule violates a property; this is one of them"));
  const story = plan.story === null ? {steps: []} : JSON.parse(named(JSON.stringify(data.stories[plan.story]), cell, plan.value));
  if (story.steps.length) panel.append(traceView(story));
  panel.append(replayed(named(plan.scenario, cell, plan.value)));
  return panel;
}

function wayOf(cell) {
  const {way} = cell, why = way.reason ? ` Why: ${way.reason}.` : "";
  return el("div.way" + (way.verdict === "safe-if" ? ".conditional" : ""), verdictOf(way.verdict), " · ", el("b", "Simplest safe way: "), wayText(cell) + ".",
    way.documented === null ? null : el("div.soft", `Kafka's guide says: ${named(way.documented, cell)}.${why}`),
    way.by_metadata === null ? null : el("div.soft", `The metadata alone would allow: ${named(way.by_metadata, cell)}.${way.documented === null ? why : ""}`),
    way.unseen.map(text => el("div.soft", "A sweep sees no records: " + text + ".")),
    el("div.soft", el("code", `streams-assignor plan ${cell.from} ${cell.to}`), " has the steps", way.verdict === "safe-if" ? ", and --without or --topology answers the condition." : "."));
}

function show() {
  const cell = cells.get(state.cell);
  const chosen = cell.plans.find(p => nameOf(p) === state.plan) || cell.plans.find(p => p.plan === state.plan) || cell.plans.find(p => !p.verdict.startsWith("safe")) || cell.plans.find(p => p.documented) || cell.plans[0];
  const tabs = el("div.choices", {role: "tablist", "aria-label": "Plans"}, cell.plans.map(plan => choice(cell, plan)));
  for (const tab of tabs.children) tab.setAttribute("aria-selected", tab.dataset.plan === nameOf(chosen));
  const note = data.notes[cell.toLine];
  byId("pair-title").textContent = `${cell.fromLine} to ${cell.toLine}`;
  if (single) byId("shown").replaceChildren(tabs, explain(cell, chosen), wayOf(cell), factsOf(chosen), otherwise(cell, chosen) ?? "");
  else {
    byId("pair-from").value = cell.fromLine; byId("pair-to").value = cell.toLine;
    byId("shown").replaceChildren(el("p.soft", `released as ${cell.from} and ${cell.to}${note ? " · " + note : ""}`), tabs, explain(cell, chosen), wayOf(cell), factsOf(chosen), otherwise(cell, chosen) ?? "");
  }
}

// -- what is shown stands in the address, so that it can be passed on --

const SHARED = ["view", "from", "to", "only"];
function go(changes) {
  Object.assign(state, changes);
  const place = state.cell && `${state.cell}/${state.plan}`, rest = SHARED.filter(key => state[key] && state[key] !== (key === "only" ? "all" : key === "view" && !large ? "all" : key === "view" ? "guide" : "")).map(key => `${key}=${encodeURIComponent(state[key])}`);
  history.replaceState(null, "", "#" + [place, ...rest].filter(Boolean).join("&"));
  if (SHARED.some(key => key in changes)) draw();
  for (const each of document.querySelectorAll(".cell")) each.setAttribute("aria-pressed", each.dataset.cell === state.cell);
  show();
}
function come() {
  for (const part of decodeURIComponent(location.hash.slice(1)).split("&")) {
    const [, key, value] = /^(view|from|to|only)=(.*)$/.exec(part) ?? [];
    if (key) { if ((key !== "view" || value in views) && (key !== "only" || value in filters)) state[key] = value; }
    else if (part) [state.cell, state.plan = ""] = part.split("/");
  }
  if (!cells.has(state.cell)) [state.cell, state.plan] = [opening().key, ""];
  if (!single) {
    byId("from").value = state.from; byId("to").value = state.to; byId("only").value = state.only;
    byId("view-" + state.view).checked = true;
  }
  draw();
  show();
}
// The page opens with a pair: the newest target, and the newest release from which one bounce is not simply safe.
function opening() {
  const newest = [...cells.values()].filter(cell => cell.across === data.across.length - 1).sort((a, b) => b.down - a.down);
  const older = newest.filter(cell => cell.down < data.down.length - 1 || data.down.length === 1);
  return older.find(cell => planOf.one_bounce(cell)?.verdict !== "safe") ?? older[0] ?? newest[0] ?? cells.values().next().value;
}

// -- the frame: a pair, and below it the matrix, from which another one is chosen; a sweep of one pair has no matrix --

const options = entries => entries.map(([value, label]) => el("option", {value}, label));
// A pair can be chosen without hitting a small square.
const pairChooser = side => el("label", `${side} `, el("select", {id: "pair-" + side, change: () => {
  const key = `${byId("pair-from").value}-to-${byId("pair-to").value}`;
  byId("no-pair").textContent = cells.has(key) ? "" : "not part of this sweep";
  if (cells.has(key)) go({cell: key, plan: ""});
}}, options((side === "from" ? data.down : data.across).map(([line]) => [line, line]))));
const drill = el("section.part", {id: "drill", "aria-labelledby": "pair-title"},
  el("div.bar", el("h2", {id: "pair-title", "aria-live": "polite"}), single ? null : el("a", {href: "#matrix-title", click: event => { event.preventDefault(); byId("matrix-title").scrollIntoView(); byId("matrix-title").focus(); }}, "all pairs, below")),
  single ? null : el("div.filters", pairChooser("from"), pairChooser("to"), el("span.soft", {id: "no-pair", role: "status"})),
  el("div", {id: "shown"}));
const searched = (side, label, placeholder) => el("label", `${label} `, el("input", {id: side, placeholder, autocomplete: "off", spellcheck: "false", input: event => go({[side]: event.target.value})}));
const view = ([value, label]) => [el("input", {type: "radio", name: "view", id: "view-" + value, value, change: () => go({view: value})}), el("label", {for: "view-" + value}, label)];
const pairs = single ? null : el("section.part", {"aria-labelledby": "matrix-title"},
  el("div.bar", el("h2", {id: "matrix-title", tabindex: "-1"}, "From release to release"), el("fieldset", {id: "views"}, el("legend.unseen", "Show"), Object.entries(views).map(view))),
  el("div.filters", searched("from", "rows", "all, or 2. 3.9"), searched("to", "columns", "all, or 4."), el("label", "only ", el("select", {id: "only", change: event => go({only: event.target.value})}, options(Object.entries(filters).map(([value, [label]]) => [value, label])))), el("span.soft", {id: "count", role: "status"})),
  el("p.soft", "A square is a pair of releases, from the row to the column. Choose one to see its plans and its trace above."),
  el("div.scroll", {id: "matrix", tabindex: "0", role: "region", "aria-label": "Matrix", click: chosen, keydown: moved}), el("p.key", {id: "key"}));

function chosen(event) {
  const button = event.target.closest(".cell");
  if (!button) return;
  go({cell: button.dataset.cell, plan: planOf[state.view] ? nameOf(planOf[state.view](cells.get(button.dataset.cell))) : ""});
  drill.scrollIntoView({block: "start", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth"});
}
function moved(event) {
  const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[event.key], button = event.target.closest(".cell");
  if (!step || !button) return;
  const td = button.parentElement, row = td.parentElement.parentElement.rows[td.parentElement.sectionRowIndex + step[0]];
  row?.cells[td.cellIndex + step[1]]?.querySelector("button")?.focus();
  event.preventDefault();
}

if (large) document.querySelector("main").classList.add("many");
document.querySelector("main").append(el("p.verdict." + data.judgement.verdict, {role: "status"}, `${{...MARK, unknown: "–"}[data.judgement.verdict]} ${data.judgement.text}`), cells.size ? drill : "", pairs ?? "");
addEventListener("hashchange", come);
if (cells.size) come();
