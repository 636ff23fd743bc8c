// An audit: all groups over one time axis and as a table, and each group with its timeline, members and rebalances.
import { el, svg } from "./dom.mjs";

const byId = id => document.getElementById(id), PAGE = 50;

const set = (node, properties) => Object.assign(node, properties);
const button = (text, onclick, label) => { const node = set(el("button.plain", text), {type: "button", onclick}); if (label) node.setAttribute("aria-label", label); return node; };
const number = value => Number(value).toLocaleString("en");
const plural = (value, noun) => `${number(value)} ${noun}${value === 1 ? "" : "s"}`;
const iso = time => new Date(time).toISOString();
const moment = time => time === null || time === undefined || time <= 0 ? "?" : iso(time).slice(0, 19).replace("T", " ");
const precise = time => iso(time).slice(0, 23).replace("T", " ");
function lasting(ms) {
  if (ms < 1000) return `${ms} ms`;
  for (const [size, unit] of [[86400000, "d"], [3600000, "h"], [60000, "min"]]) if (ms >= 2 * size) return `${Math.round(ms / size)} ${unit}`;
  return `${ms < 10000 ? (ms / 1000).toFixed(1) : Math.round(ms / 1000)} s`;
}

// -- data: gzipped JSON. A column of names is [distinct names, places]; times of a group are relative to its base --

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text.trim()), each => each.charCodeAt(0));
  return JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text());
}
const named = ([names, places]) => places.map(place => names[place]);
const rowsOf = (columns, length) => Array.from({length}, (_, row) => Object.fromEntries(Object.entries(columns).map(([name, values]) => [name, values[row]])));
const lengthOf = columns => Object.values(columns)[0].length;
const opened = new Map();
function block(place) {
  if (!opened.has(place)) opened.set(place, unpack(document.querySelectorAll("script.block")[place].textContent));
  while (opened.size > 4) opened.delete(opened.keys().next().value);
  return opened.get(place);
}
async function detailsOf(group) {
  const [place, within] = group.place;
  const found = place < 0 ? {base: 0, generations: null, members: null, intervals: null, all: [0, 0], cut: false, findings: [], more_findings: 0} : (await block(place))[within];
  const absolute = value => value === null ? null : value + found.base;
  let generations = [], members = [], intervals = [];
  if (found.generations) {
    const columns = {...found.generations};
    for (const name of ["protocol", "leader", "cause", "confidence", "state"]) columns[name] = named(columns[name]);
    let time = found.base;
    columns.time = columns.time.map(each => time += each);
    generations = rowsOf(columns, columns.time.length);
    generations.forEach((each, at) => { each.at = at; each.until = generations[at + 1]?.time ?? Math.max(end, each.time); });
  }
  const timed = (columns, ...names) => rowsOf({...columns, ...Object.fromEntries(names.map(name => [name, columns[name].map(absolute)]))}, lengthOf(columns));
  if (found.members) members = timed(found.members, "first_time", "last_time");
  for (const each of members) each.versions = each.versions.map(([from, ...sent]) => [from + found.base, ...sent]);
  if (found.intervals) intervals = timed(found.intervals, "from_time", "until_time");
  for (const each of intervals) each.until_time ??= Math.max(end, each.from_time);
  members.sort((a, b) => a.first_time - b.first_time || (a.client_id + a.member_id < b.client_id + b.member_id ? -1 : 1));
  return {...group, generations, members, intervals, findings: found.findings, moreFindings: found.more_findings, all: found.all, cut: found.cut};
}
let estate = [], end = 0, compared = null;

// -- the frame: what the audit says of the whole, the axis of all groups, their table; or one group --

const summary = JSON.parse(byId("summary").textContent);
function frame() {
  const filter = (label, input) => el("label", el("span", label), " ", input);
  const choice = id => el("select", {id, change: event => go({[id]: event.target.value, page: "1"})});
  document.querySelector("main").append(
    el("p.verdict.unknown", {id: "broken", role: "alert", hidden: true}),
    el("section", {id: "all-groups", "aria-labelledby": "estate-title", hidden: true},
      el("p.verdict." + summary.judgement.verdict, {role: "status"}, summary.judgement.text), el("div", {id: "overview"}),
      el("div.card", el("div.bar", el("h2", {id: "estate-title"}, "Groups"), el("span.soft", {id: "count", role: "status"})),
        el("div.filters", {role: "search"}, filter("group", el("input", {id: "q", type: "search", placeholder: "part of its name", autocomplete: "off", spellcheck: "false"})), filter("type", choice("type")), filter("finding", choice("finding")), filter("cause", choice("cause")), el("label", {id: "sort-by"}, el("span", "order"), " ", choice("sort"))),
        el("table.rows.estate", el("thead", {id: "heads"}), el("tbody", {id: "rows"})), el("div.pages", {id: "pages"})),
      el("div", {id: "bounces"})),
    el("section", {id: "one-group", "aria-labelledby": "group-title", hidden: true}),
    el("div.card", el("h2", "What was read"), summary.notes.map(note => el("p.text", note)),
      el("details", el("summary", "Records"), el("dl", Object.entries(summary.records).flatMap(([kind, records]) => [el("dt.text", kind), el("dd", number(records))]))),
      summary.problems.length ? el("details", {open: true}, el("summary", "Damaged places of the source"), el("ul", summary.problems.map(problem => el("li.text", problem)))) : null),
    el("div.tip", {id: "tip", role: "tooltip", hidden: true}));
}

// -- the table of groups: one page of it is in the document at a time --

const COLUMNS = {
  group: ["group", (a, b) => a.group < b.group ? -1 : a.group > b.group ? 1 : 0],
  attention: ["needs attention", (a, b) => a.rank - b.rank],
  rebalances: ["rebalances", (a, b) => b.rebalances - a.rebalances],
  cause: ["most frequent cause", (a, b) => (a.top < b.top ? -1 : a.top > b.top ? 1 : 0)],
  members: ["members", (a, b) => b.members - a.members],
  type: ["type", (a, b) => a.type < b.type ? -1 : a.type > b.type ? 1 : 0],
  state: ["state", (a, b) => a.state < b.state ? -1 : a.state > b.state ? 1 : 0],
  last: ["last record", (a, b) => b.last_time - a.last_time],
};
const DEFAULTS = {at: "", q: "", type: "", finding: "", cause: "", sort: "attention", page: "1", group: "", axis: "time"};
const FILTERS = ["q", "type", "finding", "cause", "sort"];
let state = {...DEFAULTS}, shownGroups = [];

function cell(label, kind, ...content) {
  const shown = content.filter(each => each !== null && each !== undefined && each !== "");
  const node = el("td" + kind, ...(shown.length > 1 ? [el("div", ...shown)] : shown));
  node.dataset.label = label;
  return node;
}
const addressOf = changes => "#" + Object.entries({...state, ...changes}).filter(([key, value]) => value !== DEFAULTS[key]).map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
function groupLink(group, text) {
  const link = el("a.text", text ?? (group.group || "(no name)"));
  link.href = addressOf({group: "=" + group.group});
  return link;
}
function estateRow(group) {
  const notices = Object.values(group.codes).reduce((sum, each) => sum + each, 0) - group.problems;
  const share = group.top && `${group.top} (${number(group.causes[group.top])})`;
  return el("tr",
    cell("group", ".name", groupLink(group)),
    cell("attention", ".needs", group.problems ? el("span.tag.bad", `✗ ${plural(group.problems, "problem")}`) : null, group.problems && notices ? " " : null, notices ? el("span.tag.warn", `▲ ${plural(notices, "notice")}`) : null, group.text ? el("span.sub.text", group.text) : null),
    cell("rebalances", ".number", number(group.rebalances)),
    cell("cause", "", share),
    cell("members", ".number", number(group.members)),
    cell("type", "", group.type),
    cell("state", "", group.state),
    cell("last record", ".when", moment(group.last_time)));
}
function matches(group) {
  const wanted = state.q.trim().toLowerCase();
  return within(group) && (!wanted || group.folded.includes(wanted)) && (!state.type || group.type === state.type) && (!state.cause || state.cause in group.causes)
    && (!state.finding || (state.finding === "any" ? group.text !== "" : state.finding === "problem" ? group.problems > 0 : state.finding === "none" ? group.text === "" : state.finding in group.codes));
}
function drawEstate() {
  const [key, back] = state.sort.startsWith("-") ? [state.sort.slice(1), -1] : [state.sort, 1];
  shownGroups = estate.filter(matches).sort((a, b) => back * COLUMNS[key][1](a, b) || a.rank - b.rank);
  const pages = Math.max(1, Math.ceil(shownGroups.length / PAGE)), page = Math.min(pages, Math.max(1, Number(state.page) || 1));
  byId("rows").replaceChildren(...shownGroups.slice((page - 1) * PAGE, page * PAGE).map(estateRow));
  byId("count").textContent = shownGroups.length === estate.length ? plural(estate.length, "group") : `${number(shownGroups.length)} of ${plural(estate.length, "group")}`;
  byId("heads").replaceChildren(el("tr", ...Object.entries(COLUMNS).map(([name, [label]]) => {
    const sorted = name === key, head = el("th" + (["rebalances", "members"].includes(name) ? ".number" : ""), set(el("button", label + (sorted ? (back === 1 ? " ▾" : " ▴") : "")), {type: "button", onclick: () => { go({sort: sorted && back === 1 ? "-" + name : name, page: "1"}); byId("heads").querySelectorAll("button")[Object.keys(COLUMNS).indexOf(name)].focus(); }}));
    head.scope = "col";
    if (sorted) head.setAttribute("aria-sort", (back === 1) === ["group", "cause", "type", "state"].includes(name) ? "ascending" : "descending");
    return head;
  })));
  drawOverview();
  byId("pages").replaceChildren(...pager(page, pages, to => { go({page: String(to)}); byId("estate-title").scrollIntoView({block: "nearest"}); }));
}
function pager(page, pages, to) {
  if (pages < 2) return [];
  const turn = (text, target, label) => set(button(text, () => to(target), label), {disabled: target < 1 || target > pages || target === page});
  return [turn("«", 1, "first page"), turn("‹ previous", page - 1, "previous page"), el("span.soft", `page ${number(page)} of ${number(pages)}`), turn("next ›", page + 1, "next page"), turn("»", pages, "last page")];
}
function paged(kind, heads, rows, draw) {
  const body = el("tbody"), pages = el("div.pages"), count = Math.ceil(rows.length / PAGE);
  const turn = page => {
    body.replaceChildren(...rows.slice((page - 1) * PAGE, page * PAGE).map(each => el("tr", ...draw(each).map(([kind_, ...content], at) => cell(heads[at], kind_, ...content)))));
    pages.replaceChildren(...pager(page, count, turn));
  };
  turn(1);
  return el("div", el("table.rows." + kind, el("thead", el("tr", ...heads.map(text => set(el("th", text), {scope: "col"})))), body), pages);
}

// -- one group --

const CAUSES = {
  "group-started": ["★", "come"], "member-joined": ["+", "come"], "partitions-added": ["p", "change"], "subscription-changed": ["s", "change"], "metadata-changed": ["m", "change"],
  "topology-changed": ["t", "change"], "settings-changed": ["c", "change"], "topics-changed": ["p", "change"],
  "member-left": ["−", "go"], "member-gone": ["−", "go"], "all-members-left": ["∅", "go"], "member-timed-out": ["×", "go"], "member-restarted": ["↻", "again"], "static-member-restarted": ["↻", "again"],
  "version-probing": ["v", "agree"], "follow-up": ["»", "agree"], "probing-rebalance": ["w", "agree"], "error-code": ["!", "fault"],
};
const causeOf = code => CAUSES[code] ?? ["?", "unclear"];
const versions = list => list.length ? "v" + list.join(", v") : "";
function sinceUntil(from, until) { return until === null ? `since ${moment(from)}` : until <= from ? `at ${moment(from)}` : `${moment(from)} to ${moment(until)} (${lasting(until - from)})`; }

async function showGroup(name, focus) {
  const panel = byId("one-group"), group = estate.find(each => each.group === name);
  if (!group) { panel.replaceChildren(el("p.judgement.warn", "This audit has no group ", el("b.text", name), ".")); return; }
  const found = await detailsOf(group);
  if (state.group !== "=" + name) return;
  const place = shownGroups.indexOf(group), title = set(el("h2.text", name || "(no name)"), {id: "group-title", tabIndex: -1});
  const beside = (step, text) => { const other = place < 0 ? undefined : shownGroups[place + step]; return set(button(text, () => go({group: "=" + other.group})), {disabled: !other}); };
  const protocols = [...new Set(found.generations.map(each => each.protocol).filter(Boolean))].join(", "), facts = [
    ["type", group.type], ["state", group.state], ["protocol", protocols], ["members", number(group.members)], ["rebalances", number(group.rebalances)],
    ["that did not complete", number(found.generations.reduce((sum, each) => sum + each.skipped, 0))], ["last record", moment(group.last_time)]];
  const list = el("ul.findings", ...found.findings.map(([code, severity, text, generation, from, until]) => el("li" + (severity === "problem" ? ".bad" : ".warn"), el("b", severity === "problem" ? "✗ " : "▲ "), el("span.text", text), " ", el("span.tag", code), el("div.sub", `${generation ? `generation ${number(generation)}, ` : ""}${sinceUntil(from, until)}`))));
  panel.replaceChildren(
    el("div.tools", button("‹ all groups", () => go({group: ""})), beside(-1, "previous group"), beside(1, "next group")),
    el("div.card", title, el("div.facts", ...facts.filter(([, value]) => value !== "" && value !== "0").map(([term, value]) => el("span", el("span.soft", term + " "), el("b.text", value)))),
      el("h3", "Findings"), found.findings.length ? list : el("p.soft", "No finding."), found.moreFindings ? el("p.soft", `${number(found.moreFindings)} more are in the table findings.`) : null),
    ...(found.generations.length || found.members.length ? [timeline(found), ...bouncesOf(name), membersCard(found), rebalancesCard(found)] : [el("div.card", el("p.soft", "The records have no rebalance of this group: it only commits offsets, or is older than the records."))]));
  panel.querySelector(".tools").style.margin = "16px 0";
  if (focus) { title.focus({preventScroll: true}); scrollTo(0, 0); }
}
function membersCard(group) {
  const hidden = group.all[1] - group.members.length;
  return el("div.card", el("h2", "Members"), el("p.soft", plural(group.all[1], "member") + (hidden > 0 ? `; the last ${number(group.members.length)} are shown, the table members has all` : "")),
    paged("members", ["member", "host", "from", "until", "present for", "generations", "metadata", "releases"], group.members, each => [
      [".name", el("b.mono.text", each.name), el("span.sub.text", each.member_id), each.instance_id ? el("span.sub", "static member") : null, each.process_id ? el("span.sub.text", "process " + each.process_id) : null],
      [".host.text", el("span", each.host, each.end_point ? el("span.sub.text", each.end_point) : null, each.rack ? el("span.sub.text", "rack " + each.rack) : null)],
      [".when", el("span", moment(each.first_time), el("span.sub", each.began))],
      [".when", el("span", each.last_time === null ? "the last record" : moment(each.last_time), el("span.sub", each.ended))],
      [".when", lasting((each.last_time ?? Math.max(end, each.first_time)) - each.first_time)],
      [".when", each.first_generation === each.last_generation ? number(each.first_generation) : `${number(each.first_generation)} to ${number(each.last_generation)}`],
      ["", each.used_version === null ? "" : el("span", `uses v${each.used_version}` + (each.supported_version === null ? "" : `, supports v${each.supported_version}`), each.versions.length ? el("span.sub", "used " + each.versions.map(([, used]) => `v${used}`).join(", ")) : null)],
      ["", el("span", each.releases ?? "", each.topology_epoch ? el("span.sub", `topology ${each.topology_epoch}`) : null, each.is_classic ? el("span.sub", "classic protocol") : null)]]));
}
// The next epoch began before all members had come to the target assignment.
const PENDING_STATES = new Set(["NotReady", "Assigning", "Reconciling"]);
function rebalancesCard(group) {
  const hidden = group.all[0] - group.generations.length;
  return el("div.card", el("h2", "Rebalances"), el("p.soft", `${plural(group.all[0], "rebalance")}, the last one first` + (hidden > 0 ? `; the last ${number(group.generations.length)} are shown, the table generations has all` : "")),
    paged("rebalances", ["generation", "complete at", "took", "cause", "members", "metadata", "tasks", "moved", "without owner"], [...group.generations].reverse(), each => [
      [".name", el("b", number(each.generation))], [".when", moment(each.time)], [".when", el("span", each.duration_ms === null ? "" : lasting(each.duration_ms), PENDING_STATES.has(each.state) ? el("span.sub", `${each.state}: ${plural(each.pending, "member")} pending`) : null)],
      ["", el("span", el("b." + causeOf(each.cause)[1], `${causeOf(each.cause)[0]} ${each.cause}`), ` ${each.confidence === each.cause ? "" : each.confidence}`, el("span.sub.text", each.detail))],
      [".when", `${number(each.members)}${each.joined ? ` +${each.joined}` : ""}${each.gone ? ` −${each.gone}` : ""}`],
      ["", versions(each.used_versions)], [".number", each.tasks ? number(each.tasks) : ""], [".number", each.tasks_moved ? number(each.tasks_moved) : ""], [".number", each.tasks_revoked ? number(each.tasks_revoked) : ""]]));
}
// -- rolling bounces, compared with the simulator --

const RESULTS = new Map([[false, ["bad", "✗ differs"]], [null, ["warn", "– cannot be said"]], [true, ["good", "✓ agrees"]]]);
function bounceResult(each) {
  const [kind, text] = RESULTS.get(each.conforms), messages = `${plural(each.subscriptions, "subscription")} and ${plural(each.assignments, "assignment")} compared`;
  const why = each.conforms === false ? `generation ${number(each.differs_in)}${each.member ? `, ${each.member}` : ""}: ${each.fact}: expected ${each.expected}, observed ${each.observed}` : each.reason || messages;
  return el("div", el("span.tag." + kind, text), el("span.sub.text", why));
}
function bouncesCard(rows, note) {
  return el("div.card", el("h2", "Rolling bounces and the simulator"), el("p.soft", note),
    paged("bounces", ["group", "generations", "from", "took", "releases", "simulator"], rows, each => [
      [".name", groupLink({group: each.group})], [".when", `${number(each.first_generation)} to ${number(each.last_generation)}`], [".when", moment(each.from_time)], [".when", lasting(each.until_time - each.from_time)],
      ["", each.from_releases === each.to_releases ? each.from_releases : `${each.from_releases} → ${each.to_releases}`], ["", bounceResult(each)]]));
}
function allBouncesCard({bounces, differ, comparable, rows}) {
  const hidden = bounces - rows.length;
  return bouncesCard(rows, `${plural(bounces, "rolling bounce")}; ${number(comparable)} comparable, ${number(differ)} differ` + (hidden > 0 ? `; ${number(rows.length)} are shown, the table conformance has all` : ""));
}
function bouncesOf(name) {
  const rows = compared ? compared.rows.filter(each => each.group === name) : [];
  return rows.length ? [bouncesCard(rows, plural(rows.length, "rolling bounce"))] : [];
}

// -- the timeline: time from left to right, a lane for each member; a restarted member keeps its lane --

function lanesOf(members) {
  const lanes = [], free = new Map();
  for (const member of members) {
    const identity = member.instance_id ? "i" + member.instance_id : `c${member.client_id}\n${member.host}`;
    const lane = (free.get(identity) ?? []).find(each => { const last = each.members.at(-1).last_time; return last !== null && last <= member.first_time; });
    if (lane) { lane.members.push(member); continue; }
    const fresh = {members: [member]};
    lanes.push(fresh);
    free.set(identity, [...(free.get(identity) ?? []), fresh]);
  }
  for (const lane of lanes) { const last = lane.members.at(-1); lane.label = last.instance_id ?? ((last.client_id || last.member_id).replace(/([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "$1")); }
  const [begin, rest] = commonEnds(lanes.map(lane => lane.label)), taken = new Map();
  for (const lane of lanes) {
    lane.label = lane.label.slice(begin, lane.label.length - rest);
    taken.set(lane.label, (taken.get(lane.label) ?? 0) + 1);
  }
  for (const lane of lanes) if (taken.get(lane.label) > 1) lane.label = `${lane.members.at(-1).name} ${lane.label}`;
  return lanes;
}
// What all names begin and end with does not identify a member: up to a dash, a dot or an underscore it is left out.
function commonEnds(names) {
  const [one, ...others] = names, part = /[-._]/;
  if (!others.length || others.every(each => each === one)) return [0, 0];
  let begin = 0, rest = 0;
  while (begin < one.length && others.every(each => each[begin] === one[begin])) begin++;
  while (begin && !part.test(one[begin - 1])) begin--;
  const shortest = Math.min(...names.map(each => each.length)) - begin - 1;
  while (rest < shortest && others.every(each => each.at(-1 - rest) === one.at(-1 - rest))) rest++;
  while (rest && !part.test(one.at(-rest))) rest--;
  return [begin, rest];
}
function firstAt(generations, time) {
  let [low, high] = [0, generations.length];
  while (low < high) { const middle = (low + high) >> 1; if (generations[middle].time < time) low = middle + 1; else high = middle; }
  return low;
}
// The intervals in which a member used one version; a member that never changed it has none but its last one.
function segmentsOf(member) {
  const until = member.last_time ?? Math.max(end, member.first_time), sent = member.versions.length ? member.versions : [[member.first_time, member.used_version, member.supported_version]];
  return sent.map(([from, version, supported], place) => ({from: place ? from : member.first_time, to: sent[place + 1]?.[0] ?? until, version, supported, mixed: false}));
}
const STEPS = [1, 10, 100, 1000, 5000, 15000, 60000, 300000, 900000, 3600000, 10800000, 21600000, 43200000, 86400000, 172800000, 604800000, 2592000000, 7776000000, 31536000000];
const tickText = (time, step) => step >= 86400000 ? iso(time).slice(0, 10) : step >= 60000 ? (time % 86400000 ? iso(time).slice(11, 16) : iso(time).slice(5, 10)) : step >= 1000 ? iso(time).slice(11, 19) : iso(time).slice(14, 23);
const LANE = 22, BANDS = {"no owner": "without an owner", "two owners": "with two owners", "awaited": "that a member is to get and does not have yet"};

function timeline(group) {
  const {generations, intervals} = group, lanes = lanesOf(group.members);
  for (const lane of lanes) for (const member of lane.members) member.segments = segmentsOf(member);
  const shown = [...new Set([...generations.flatMap(each => each.used_versions), ...group.members.map(each => each.used_version).filter(each => each !== null)])].sort((a, b) => a - b);
  const colour = version => version === null ? "var(--plain)" : `var(--v${shown.indexOf(version) % 6})`;
  const isWhole = generations.length === group.all[0], first = Math.min(...generations.slice(0, 1).map(each => each.time), ...(isWhole ? group.members.map(each => each.first_time) : []));
  const last = Math.max(first + 1000, end, generations.at(-1)?.time ?? 0);
  const times = generations.map(each => each.time);
  // A position is a time, or the place of a generation: then all generations are equally wide.
  const steps = () => state.axis === "steps" && times.length > 1;
  const before = time => { let [low, high] = [0, times.length]; while (low < high) { const middle = (low + high) >> 1; if (times[middle] <= time) low = middle + 1; else high = middle; } return low - 1; };
  const position = time => {
    if (!steps()) return time;
    const at = before(time);
    if (at < 0) return 0;
    const next = times[at + 1] ?? last;
    return at + (next > times[at] ? Math.min(1, (time - times[at]) / (next - times[at])) : 0);
  };
  let whole, view, hits = [], focused = 0;
  const reset = () => { whole = steps() ? [0, times.length] : [first - (last - first) * .01, last + (last - first) * .01]; view = [...whole]; };
  const plot = el("div.plot"), list = kind => intervals.filter(each => each.role === kind), bands = [["no owner", list("unowned")], ["two owners", list("owned-twice")], ["awaited", list("awaited")]].filter(([, rows]) => rows.length);
  const zoom = (factor, at = (view[0] + view[1]) / 2) => {
    const least = steps() ? 3 : 20, width = Math.min(whole[1] - whole[0], Math.max(least, (view[1] - view[0]) * factor)), share = (at - view[0]) / (view[1] - view[0]);
    look(at - share * width, width);
  };
  const look = (from, width = view[1] - view[0]) => { const begin = Math.max(whole[0], Math.min(from, whole[1] - width)); view = [begin, begin + width]; draw(); };
  const pan = share => look(view[0] + share * (view[1] - view[0]));

  function draw() {
    const width = Math.max(280, plot.clientWidth || 900), left = width < 600 ? 104 : 210, inner = width - left - 12;
    const x = value => left + (value - view[0]) / (view[1] - view[0]) * inner, at = time => x(position(time)), clip = value => Math.min(left + inner, Math.max(left, value));
    const marksY = 24, top = 58, bandY = index => top + index * 18, lanesY = top + bands.length * 18 + 4, height = lanesY + lanes.length * LANE + 6;
    const under = [], over = [], name = (text, y, kind = ".label") => { const room = Math.floor((left - 14) / 7), cut = text.length > room ? text.slice(0, Math.ceil(room / 2) - 1) + "…" + text.slice(text.length - Math.floor(room / 2)) : text; return svg("text" + kind, {x: 8, y}, cut); };
    hits = [];
    // Segments too narrow to see are one: a thousand changes of three hundred members are too much for any browser.
    const narrow = Math.max(2.5, lanes.length / 8);
    const coarse = (segments, at) => {
      const found = [];
      for (const each of segments) {
        if (at(each.to) < left || at(each.from) > left + inner) continue;
        const last = found.at(-1);
        if (last && at(last.to) - at(last.from) < narrow) found[found.length - 1] = {...each, from: last.from, mixed: each.mixed || (last.version !== each.version && at(each.to) - at(each.from) < narrow)}; else found.push(each);
      }
      return found;
    };
    const hit = (node, tell) => { node.dataset.hit = hits.push(tell) - 1; return node; };
    const box = (kind, from, to, y, tall, tell, least = 2) => {
      const [a, b] = [clip(at(from)), clip(at(to))];
      if (at(to) < left - 1 || at(from) > left + inner + 1) return null;
      const node = svg("rect." + kind, {x: a, y, width: Math.max(least, b - a), height: tall});
      return tell ? hit(node, tell) : node;
    };
    // 1. Time.
    if (steps()) {
      let free = left;
      times.forEach((time, index) => { const here = x(index); if (here >= free && here <= left + inner - 60) { under.push(svg("text.tick", {x: here, y: 14}, moment(time).slice(5))); free = here + 120; } });
    } else {
      const step = STEPS.find(each => each / (view[1] - view[0]) * inner >= 84) ?? STEPS.at(-1);
      for (let time = Math.ceil(view[0] / step) * step; time <= view[1]; time += step) {
        under.push(svg("line.grid", {x1: x(time), x2: x(time), y1: 18, y2: height}));
        if (x(time) < left + inner - 58) under.push(svg("text.tick", {x: x(time) + 3, y: 14}, tickText(time, step)));
      }
    }
    lanes.forEach((_, row) => { if (row % 2) under.push(svg("rect.odd", {x: 0, y: lanesY + row * LANE, width, height: LANE})); });
    for (const each of generations.filter(({members}) => !members)) {
      const node = box("none", each.time, each.until, lanesY, height - lanesY - 4, () => ["no members", sinceUntil(each.time, each.until)]);
      if (node) under.push(node);
      if (node && Number(node.getAttribute("width")) > 80) over.push(svg("text.tick", {x: Number(node.getAttribute("x")) + 8, y: lanesY + 15}, "no members"));
    }
    // 2. A lane for each member.
    lanes.forEach((lane, row) => {
      const y = lanesY + row * LANE;
      over.push(hit(name(lane.label, y + 15), () => memberTip(lane.members.at(-1))));
      for (const member of lane.members) for (const {from, to, version, supported, mixed} of coarse(member.segments, at)) {
        const node = box("lane", from, to, y + 3, LANE - 6, () => memberTip(member, from, to, version, supported, mixed));
        if (!node) continue;
        node.setAttribute("fill", colour(version));
        node.setAttribute("rx", 2);
        under.push(node);
        const wide = Number(node.getAttribute("width"));
        if (mixed) under.push(svg("rect", {x: node.getAttribute("x"), y: y + 3, width: wide, height: LANE - 6, fill: "url(#mixed)", "pointer-events": "none"}));
        if (version !== null && wide > 30) over.push(svg("text.inside", {x: Number(node.getAttribute("x")) + 5, y: y + 15}, "v" + version));
      }
    });
    // 3. Who leads.
    const rowOf = new Map(lanes.flatMap((lane, row) => lane.members.map(member => [member.member_id, row])));
    let open = null;
    const lead = () => { if (open) { const node = box("lead", open.from, open.to, lanesY + open.row * LANE + LANE - 5, 2.5); if (node) over.push(node); } };
    for (const each of generations) {
      const row = rowOf.get(each.leader);
      if (open && open.row === row && open.to === each.time) { open.to = each.until; continue; }
      lead();
      open = row === undefined ? null : {row, from: each.time, to: each.until};
    }
    lead();
    // 4. Tasks without an owner, and tasks with two.
    bands.forEach(([label, rows], index) => {
      over.push(name(label, bandY(index) + 12, ".tick"));
      for (const each of rows) {
        const tell = () => [`${plural(each.tasks, "task")} ${BANDS[label]}`, each.tasks === 1 ? each.first : `${each.first} … ${each.last}`, each.owners, sinceUntil(each.from_time, each.until_time)];
        const node = box("band", each.from_time, each.until_time, bandY(index) + 1, 14, tell, 3);
        if (!node) continue;
        under.push(node);
        const shade = box("shade", each.from_time, each.until_time, lanesY, height - lanesY - 4);
        if (shade && label !== "awaited") under.push(shade);
        if (label === "two owners") under.push(svg("rect", {x: node.getAttribute("x"), y: bandY(index) + 1, width: node.getAttribute("width"), height: 14, fill: "url(#mixed)", "pointer-events": "none"}));
        if (Number(node.getAttribute("width")) > 26) over.push(svg("text.band-text", {x: Number(node.getAttribute("x")) + 5, y: bandY(index) + 12}, number(each.tasks)));
      }
    });
    // 5. Boundaries of generations with their causes; what would overlap is one mark with a number.
    const marks = [];
    let drawn = -9;
    for (const each of generations) {
      const here = x(steps() ? each.at : each.time);
      if (here < left - 1 || here > left + inner + 1) continue;
      if (here - drawn >= 1.5) { under.push(svg("line.boundary", {x1: here, x2: here, y1: marksY + 12, y2: height})); drawn = here; }
      const cluster = marks.at(-1);
      if (cluster && here - cluster.x < 21) cluster.all.push(each); else marks.push({x: here, all: [each]});
    }
    focused = Math.min(focused, Math.max(0, marks.length - 1));
    marks.forEach(({x: here, all}, index) => {
      const counted = Object.entries(grouped(all)).sort((a, b) => b[1].length - a[1].length);
      const one = all.length === 1 ? all[0] : null, [sign, kind] = one ? causeOf(one.cause) : [all.length > 99 ? "99+" : String(all.length), causeOf(counted[0][0])[1]];
      const tell = () => one ? generationTip(one) : [`${number(all.length)} rebalances`, `generations ${number(all[0].generation)} to ${number(all.at(-1).generation)}, ${sinceUntil(all[0].time, all.at(-1).time)}`, ...counted.map(([code, rows]) => `${causeOf(code)[0]} ${code}: ${rows.length}`), "Choose it to look closer."];
      const node = hit(svg(`g.mark.${kind}.${one ? one.confidence : "many"}`, {tabindex: index === focused ? 0 : -1, role: one ? "img" : "button"}, svg("circle", {cx: here, cy: marksY + 4, r: 9.5}), svg("text" + (sign.length > 2 ? ".long" : ""), {x: here, y: marksY + (sign.length > 2 ? 7 : 8)}, sign)), tell);
      node.setAttribute("aria-label", one ? tell().filter(Boolean).join("; ") : spoken(node, tell()));
      node.onfocus = () => { focused = index; tip(node, tell()); };
      node.onblur = () => hide();
      const closer = () => { const [a, b] = [position(all[0].time), position(all.at(-1).time)], room = Math.max((b - a) * .2, steps() ? 1 : 10); view = [Math.max(whole[0], a - room), Math.min(whole[1], b + room)]; focused = 0; draw(); plot.querySelector(".mark")?.focus(); };
      node.onclick = () => one ? tip(node, tell()) : closer();
      node.onkeydown = event => {
        const to = {ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: marks.length - 1}[event.key];
        if (to !== undefined) { plot.querySelectorAll(".mark")[to]?.focus(); event.preventDefault(); }
        if ((event.key === "Enter" || event.key === " ") && !one) { closer(); event.preventDefault(); }
        if (event.key === "Escape") hide();
      };
      over.push(node);
    });
    over.push(name("rebalances", marksY + 8, ".tick"));
    const hatch = svg("pattern", {id: "mixed", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)"}, svg("rect", {width: 2, height: 6, fill: "#10151d", "fill-opacity": .45}));
    const picture = svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Timeline of ${plural(generations.length, "rebalance")} and ${plural(lanes.length, "lane")} of members. Arrow keys lead from mark to mark.`}, svg("defs", {}, hatch), ...under, ...over);
    let from = null;
    picture.onpointerdown = event => { if (!event.target.closest(".mark")) from = {x: event.clientX, at: view[0]}; };
    picture.onpointermove = event => {
      if (from && event.buttons) { const moved = (event.clientX - from.x) / inner * (view[1] - view[0]); if (Math.abs(event.clientX - from.x) > 3) { const start = from; look(start.at - moved); dragging = start; } return; }
      const target = event.target.closest("[data-hit]");
      if (target) tip(target, hits[target.dataset.hit](), event); else hide();
    };
    picture.onclick = event => { const target = event.target.closest("[data-hit]"); if (target && !target.matches(".mark")) tip(target, hits[target.dataset.hit](), event); };
    picture.onpointerleave = () => { from = null; if (!document.activeElement?.matches?.(".mark")) hide(); };
    if (dragging) { from = dragging; dragging = null; }
    plot.replaceChildren(picture);
    const visible = generations.filter(each => { const here = position(each.time); return here >= view[0] && here <= view[1]; }).length;
    extent.textContent = `${plural(visible, "rebalance")} of ${number(generations.length)}${generations.length < group.all[0] ? `, the last of ${number(group.all[0])}` : ""}`;
  }
  let dragging = null;
  const grouped = all => all.reduce((found, each) => { (found[each.cause] ??= []).push(each); return found; }, {});
  const extent = el("span.soft"), axis = el("fieldset", el("legend.unseen", "Axis"));
  for (const [value, label] of [["time", "time"], ["steps", "one step per rebalance"]]) {
    const input = set(el("input"), {type: "radio", name: "axis", id: "axis-" + value, value, checked: state.axis === value, onchange: () => { state.axis = value; history.replaceState(null, "", addressOf({})); reset(); draw(); }});
    axis.append(input, set(el("label", label), {htmlFor: input.id}));
  }
  const tools = el("div.tools", axis, button("−", () => zoom(2), "zoom out"), button("+", () => zoom(.5), "zoom in"), button("‹", () => pan(-.5), "earlier"), button("›", () => pan(.5), "later"), button("all", () => { reset(); draw(); }, "all, the whole time"), extent);
  const swatch = (fill, kind) => svg("svg", {width: 22, height: 14}, svg("rect" + (kind ?? ""), {width: 22, height: 14, rx: 3, ...(fill ? {fill} : {})}));
  const used = new Set(generations.map(each => each.cause)), sign = code => { const [text, kind] = causeOf(code); return el("span", el("b." + kind, text), code); };
  const key = el("p.key", ...shown.map(version => el("span", swatch(colour(version)), `uses metadata v${version}`)), group.members.some(each => each.used_version === null) ? el("span", swatch("var(--plain)"), "member without userdata of Kafka Streams") : null,
    group.members.some(each => each.versions.length) ? el("span", swatch("var(--v0)", ".mixed"), "hatched: several versions, too short to show") : null,
    generations.some(each => each.leader) ? el("span", "▁ leader") : null, bands.length ? el("span", swatch("var(--red)"), "tasks without an owner, or with two") : null, ...[...used].sort().map(sign), el("span", "filled: certain, outlined: likely, dashed: unknown"));
  for (const each of key.querySelectorAll("rect.mixed")) each.after(svg("rect", {width: 22, height: 14, fill: "url(#mixed)"}));
  const hidden = group.all[1] - group.members.length;
  const card = el("div.card", el("div.bar", el("h2", "Timeline"), tools), el("p.soft", `A circle is a completed rebalance with its cause, a lane is a member${hidden > 0 ? ` (the last ${number(group.members.length)} of ${number(group.all[1])})` : ""}; a member that restarts keeps its lane. Circles can be focused; drag or zoom to look closer.${group.cut ? ` Only the last ${number(intervals.length)} intervals of tasks without one owner are drawn.` : ""}`), plot, key);
  reset();
  new ResizeObserver(() => { if (plot.isConnected && plot.clientWidth !== drawnWidth) { drawnWidth = plot.clientWidth; draw(); } }).observe(plot);
  let drawnWidth = 0;
  return card;

  function memberTip(member, from, to, version, supported, mixed) {
    return [member.member_id, `${member.client_id} on ${member.host}`, `${member.began} ${moment(member.first_time)}; ${member.last_time === null ? "there at the last record" : `${member.ended} ${moment(member.last_time)}`}`,
      version === undefined || version === null ? "" : mixed ? `used several metadata versions, at last ${version}` : `used metadata version ${version}` + (supported === null ? "" : `, supported ${supported}`), member.releases ? `releases ${member.releases}` : "", from === undefined ? "" : sinceUntil(from, to)];
  }
}
function generationTip(each) {
  return [`generation ${number(each.generation)}: ${each.cause}${each.confidence === each.cause ? "" : ` (${each.confidence})`}`, each.detail, precise(each.time) + (each.duration_ms === null ? "" : `, took ${lasting(each.duration_ms)}`),
    `${plural(each.members, "member")}${each.joined ? `, ${each.joined} new` : ""}${each.gone ? `, ${each.gone} gone` : ""}${each.skipped ? `; ${plural(each.skipped, "generation")} before it did not complete` : ""}`,
    `${plural(each.tasks, "task")}${each.tasks_moved ? `, ${number(each.tasks_moved)} moved` : ""}${each.tasks_moved_without_state ? ` (${number(each.tasks_moved_without_state)} without state)` : ""}${each.tasks_revoked ? `, ${number(each.tasks_revoked)} without owner` : ""}`,
    each.used_versions.length ? `uses ${versions(each.used_versions)}, supports ${versions(each.supported_versions)}${each.probing ? ", probing" : ""}` : "", each.record_bytes ? `${number(each.record_bytes)} bytes` : ""];
}

// -- one time axis over all groups: a dot is a rebalance; the first row has those of all groups that the filters leave --

let drawOverview = () => {};
const firstNotBefore = (times, time) => { let [low, high] = [0, times.length]; while (low < high) { const middle = (low + high) >> 1; if (times[middle] < time) low = middle + 1; else high = middle; } return low; };
const interval = () => { const [, from, until] = /^(\d+)-(\d+)$/.exec(state.at) ?? []; return from === undefined ? null : [Number(from), Number(until)]; };
const rebalancesWithin = (group, [from, until]) => { const times = group.times ?? []; return [firstNotBefore(times, from), firstNotBefore(times, until)]; };
function within(group) {
  const chosen = interval();
  if (!chosen) return true;
  const [first, last] = rebalancesWithin(group, chosen);
  return last > first;
}
// Each block of groups has one beside it with the second, the cause and the members of each rebalance.
async function readRebalances() {
  const blocks = await Promise.all([...document.querySelectorAll("script.times")].map(node => unpack(node.textContent)));
  for (const group of estate) {
    const [place, at] = group.place;
    if (place < 0) continue;
    const {causes, groups} = blocks[place], [base, deltas, kinds, empty] = groups[at];
    let time = base;
    group.times = Float64Array.from(deltas, delta => 1000 * (time += delta));
    group.causeOf = index => causes[kinds[index]];
    group.empty = new Set(empty);
  }
}
// Where a group has members, and where it has none: [from, until, has members].
function presence(group) {
  const spans = [];
  group.times.forEach((time, index) => {
    const has = !group.empty.has(index), last = spans.at(-1);
    if (last) last[1] = time;
    if (!last || last[2] !== has) spans.push([time, time, has]);
  });
  if (spans.length) spans.at(-1)[1] = Math.max(end, spans.at(-1)[1]);
  return spans;
}
const MOST_ROWS = 40, MOST_NAMED = 12, ROW = 20, TALL = 30;

function overview(begin) {
  const plot = el("div.plot"), extent = el("span.soft"), then = el("div.then", {"aria-live": "polite"});
  const whole = [begin - (end - begin) * .01 - 1000, end + (end - begin) * .01 + 1000];
  let view = [...whole], focused = [0, 0], marks = [], hits = [], width = 0;
  const look = (from, wide = view[1] - view[0]) => { const span = Math.min(whole[1] - whole[0], Math.max(20_000, wide)), start = Math.max(whole[0], Math.min(from, whole[1] - span)); view = [start, start + span]; draw(); };
  const zoom = factor => { const wide = (view[1] - view[0]) * factor; look((view[0] + view[1] - wide) / 2, wide); };
  const counted = causes => Object.entries(causes).sort((a, b) => b[1] - a[1]);

  function draw() {
    const left = plot.clientWidth < 600 ? 104 : 230;
    width = Math.max(280, plot.clientWidth || 900);
    const inner = width - left - 14, x = time => left + (time - view[0]) / (view[1] - view[0]) * inner, chosen = interval();
    const page = Math.max(1, Number(state.page) || 1), rows = shownGroups.slice((page - 1) * PAGE, page * PAGE).filter(group => group.times?.length).slice(0, MOST_ROWS);
    const top = 22 + TALL, height = top + rows.length * ROW + 8, under = [], over = [];
    [marks, hits] = [[[]], []];
    const hit = (node, tell) => { node.dataset.hit = hits.push(tell) - 1; return node; };
    const step = STEPS.find(each => each / (view[1] - view[0]) * inner >= 84) ?? STEPS.at(-1);
    for (let time = Math.ceil(view[0] / step) * step; time <= view[1]; time += step) {
      under.push(svg("line.grid", {x1: x(time), x2: x(time), y1: 18, y2: height}));
      if (x(time) < left + inner - 58) under.push(svg("text.tick", {x: x(time) + 3, y: 14}, tickText(time, step)));
    }
    // 1. All groups: as many marks as fit, each with the number of its rebalances.
    const wide = (view[1] - view[0]) * 22 / inner, bins = new Map();
    for (const group of shownGroups) {
      const [first, last] = rebalancesWithin(group, view);
      for (let index = first; index < last; index++) {
        const key = Math.floor((group.times[index] - view[0]) / wide);
        let bin = bins.get(key);
        if (!bin) bins.set(key, bin = {count: 0, groups: 0, group: null, causes: {}, from: Infinity, until: 0});
        bin.count++;
        if (bin.group !== group) [bin.group, bin.groups] = [group, bin.groups + 1];
        [bin.from, bin.until] = [Math.min(bin.from, group.times[index]), Math.max(bin.until, group.times[index])];
        const cause = group.causeOf(index);
        bin.causes[cause] = (bin.causes[cause] ?? 0) + 1;
      }
    }
    const all = [...bins].sort((a, b) => a[0] - b[0]);
    for (const [key, bin] of all) {
      const causes = counted(bin.causes), text = bin.count > 999 ? `${Math.round(bin.count / 1000)}k` : String(bin.count), here = x(view[0] + (key + .5) * wide);
      const isChosen = chosen && bin.from >= chosen[0] && bin.until < chosen[1];
      const tell = () => [`${plural(bin.count, "rebalance")} of ${bin.groups === 1 ? bin.group.group || "(no name)" : plural(bin.groups, "group")}`, sinceUntil(bin.from, bin.until), ...causes.map(([code, times]) => `${causeOf(code)[0]} ${code}: ${number(times)}`), "Choose it to see whom."];
      mark(0, svg(`g.mark.many.${causeOf(causes[0][0])[1]}${isChosen ? ".chosen" : ""}`, {role: "button", "aria-pressed": String(Boolean(isChosen))}, svg("circle", {cx: here, cy: 20 + TALL / 2, r: 10}), svg("text" + (text.length > 2 ? ".long" : ""), {x: here, y: (text.length > 2 ? 23 : 24) + TALL / 2}, text)), here, tell, () => go({at: isChosen ? "" : `${bin.from}-${bin.until + 1000}`, page: "1"}));
    }
    over.push(svg("text.label", {x: 8, y: 24 + TALL / 2}, left < 200 ? "all groups" : `all ${plural(shownGroups.length, "group")}`));
    // 2. The groups of this page of the table.
    rows.forEach((group, row) => {
      const y = top + row * ROW + ROW / 2, room = Math.floor((left - 14) / 7), name = group.group || "(no name)";
      if (row % 2) under.push(svg("rect.odd", {x: 0, y: y - ROW / 2, width, height: ROW}));
      for (const [from, until, has] of presence(group)) {
        const [a, b] = [Math.max(left, x(from)), Math.min(left + inner, x(until))];
        if (b > left && a < left + inner) under.push(svg(has ? "rect.has" : "rect.none", {x: a, y: y - 3, width: Math.max(1, b - a), height: 6, rx: 3}));
      }
      const short = name.length > room ? name.slice(0, Math.ceil(room / 2) - 1) + "…" + name.slice(name.length - Math.floor(room / 2)) : name;
      over.push(svg("a", {href: addressOf({group: "=" + group.group}), "aria-label": `${short === name ? "" : `${short}, `}${name}: ${plural(group.times.length, "rebalance")}`}, svg("text.label", {x: 8, y: y + 4}, short)));
      const [first, last] = rebalancesWithin(group, view), clusters = [];
      for (let index = first; index < last; index++) {
        const here = x(group.times[index]), cluster = clusters.at(-1);
        if (cluster && here - cluster.x < 9) cluster.all.push(index); else clusters.push({x: here, all: [index]});
      }
      marks.push([]);
      for (const {x: here, all: some} of clusters) {
        const causes = {};
        for (const index of some) causes[group.causeOf(index)] = (causes[group.causeOf(index)] ?? 0) + 1;
        const [[code, times]] = counted(causes);
        const tell = () => [name, some.length === 1 ? `${causeOf(code)[0]} ${code}, ${moment(group.times[some[0]])}` : `${plural(some.length, "rebalance")}, ${sinceUntil(group.times[some[0]], group.times[some.at(-1)])}: ${counted(causes).map(([each, count]) => `${each} ${count}`).join(", ")}`, group.empty.has(some.at(-1)) ? "then without members" : "", "Choose it to open the group."];
        mark(marks.length - 1, svg(`g.mark.${causeOf(code)[1]}`, {role: "button"}, svg("circle.dot", {cx: here, cy: y, r: times > 1 || some.length > 1 ? 5.5 : 4})), here, tell, () => go({group: "=" + group.group}));
      }
    });
    function mark(row, node, here, tell, choose) {
      hit(node, tell);
      const column = marks[row].push({node, x: here}) - 1;
      node.setAttribute("tabindex", -1);
      node.setAttribute("aria-label", spoken(node, tell()));
      node.onfocus = () => { marks[focused[0]]?.[focused[1]]?.node.setAttribute("tabindex", -1); focused = [row, column]; node.setAttribute("tabindex", 0); tip(node, tell()); };
      node.onblur = () => hide();
      node.onclick = choose;
      node.onkeydown = event => {
        const beside = {ArrowRight: column + 1, ArrowLeft: column - 1, Home: 0, End: marks[row].length - 1}[event.key];
        if (beside !== undefined) marks[row][beside]?.node.focus();
        const other = {ArrowUp: -1, ArrowDown: 1}[event.key];
        if (other) for (let to = row + other; marks[to]; to += other) if (marks[to].length) { marks[to].reduce((best, each) => Math.abs(each.x - here) < Math.abs(best.x - here) ? each : best).node.focus(); break; }
        if (event.key === "Enter" || event.key === " ") choose();
        if (event.key === "Escape") hide();
        if (beside !== undefined || other || event.key === "Enter" || event.key === " ") event.preventDefault();
      };
      over.push(node);
    }
    const had = plot.contains(document.activeElement), picture = svg("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Rebalances of ${plural(shownGroups.length, "group")} over time. Arrow keys lead from mark to mark.`}, ...under, ...over);
    picture.onpointermove = event => { const target = event.target.closest("[data-hit]"); if (target) tip(target, hits[target.dataset.hit](), event); else hide(); };
    picture.onpointerleave = () => hide();
    plot.replaceChildren(picture);
    const start = (marks[focused[0]]?.[focused[1]] ?? marks.flat()[0])?.node;
    start?.setAttribute("tabindex", 0);
    if (had) { start?.focus(); hide(); }
    extent.textContent = `${moment(view[0])} to ${moment(view[1])}`;
    drawThen(chosen);
  }
  function drawThen(chosen) {
    if (!chosen) { then.replaceChildren(); return; }
    const some = shownGroups.map(group => ({group, range: rebalancesWithin(group, chosen)})).filter(({range}) => range[1] > range[0]);
    const line = ({group, range: [first, last]}) => {
      const causes = {};
      for (let index = first; index < last; index++) causes[group.causeOf(index)] = (causes[group.causeOf(index)] ?? 0) + 1;
      return el("li", groupLink(group), ` ${moment(group.times[first]).slice(11)}: ${counted(causes).map(([code, times]) => times > 1 ? `${code} (${number(times)})` : code).join(", ")}`, group.empty.has(last - 1) ? ", then without members" : "");
    };
    then.replaceChildren(el("p", el("b", `${sinceUntil(chosen[0], chosen[1] - 1000)}: ${plural(some.reduce((sum, {range}) => sum + range[1] - range[0], 0), "rebalance")} of ${plural(some.length, "group")}. `), "The table has only these groups. ", button("look closer", () => { const room = Math.max(60_000, chosen[1] - chosen[0]); look(chosen[0] - room / 2, chosen[1] - chosen[0] + room); }), " ", button("all times", () => go({at: "", page: "1"}))),
      el("ul", some.slice(0, MOST_NAMED).map(line), some.length > MOST_NAMED ? el("li", `${plural(some.length - MOST_NAMED, "more group")} in the table below`) : null));
  }
  const causes = new Set(estate.flatMap(group => Object.keys(group.causes)));
  const key = el("p.key", el("span", el("i.has"), "has members"), el("span", el("i.none"), "without members"), [...causes].sort().map(code => el("span", el("b." + causeOf(code)[1], causeOf(code)[0]), code)));
  const hidden = estate.reduce((sum, group) => sum + group.rebalances - (group.times?.length ?? 0), 0);
  const card = el("div.card.overview", el("div.bar", el("h2", "What happened when, and to whom"), el("div.tools", button("−", () => zoom(2), "zoom out"), button("+", () => zoom(.5), "zoom in"), button("‹", () => look(view[0] - (view[1] - view[0]) / 2), "earlier"), button("›", () => look(view[0] + (view[1] - view[0]) / 2), "later"), button("all", () => look(whole[0], whole[1] - whole[0]), "all, the whole time"), extent)),
    el("p.soft", `A dot is a rebalance; each row is a group of the table below, in its order. A number counts the rebalances of all groups at that time: choose it to see whom.${hidden > 0 ? ` ${plural(hidden, "earlier rebalance")} of groups with many are not drawn.` : ""}`), plot, then, key);
  drawOverview = () => { if (!byId("all-groups").hidden && plot.isConnected) draw(); };
  new ResizeObserver(() => { if (plot.isConnected && plot.clientWidth && plot.clientWidth !== width) draw(); }).observe(plot);
  return card;
}

// What a screen reader says of a mark begins with what stands in it, as voice control asks for that: "2k; 1,946 rebalances".
function spoken(node, lines) {
  const text = lines.filter(Boolean).join("; ");
  return text.includes(node.textContent) ? text : `${node.textContent}; ${text}`;
}

// -- what a mark or a lane says, beside the pointer or below the focus --

function tip(target, lines, event) {
  const node = byId("tip"), [head, ...others] = lines.filter(Boolean), frame = target.getBoundingClientRect();
  node.replaceChildren(el("b.text", head), ...others.map(each => el("div.text", each)));
  node.hidden = false;
  const [x, y] = event ? [event.clientX + 14, event.clientY + 16] : [frame.left, frame.bottom + 8], size = node.getBoundingClientRect();
  node.style.left = Math.max(8, Math.min(x, innerWidth - size.width - 8)) + "px";
  node.style.top = (y + size.height > innerHeight - 8 ? Math.max(8, (event ? event.clientY : frame.top) - size.height - 12) : y) + "px";
}
const hide = () => { byId("tip").hidden = true; };

// -- what is shown stands in the address, so that it can be passed on --

function go(changes) {
  const opens = "group" in changes;
  Object.assign(state, changes);
  history[opens ? "pushState" : "replaceState"](null, "", addressOf({}) === "#" ? "#" : addressOf({}));
  show(opens);
}
function come() {
  state = {...DEFAULTS};
  for (const part of location.hash.slice(1).split("&")) {
    const [, key, value] = /^([a-z]+)=(.*)$/.exec(part) ?? [];
    if (key in DEFAULTS) try { state[key] = decodeURIComponent(value); } catch { /* not an address of this page */ }
  }
  if (!(state.sort.replace(/^-/, "") in COLUMNS)) state.sort = DEFAULTS.sort;
  for (const key of FILTERS) {
    byId(key).value = state[key].replace(key === "sort" ? /^-/ : "", "");
    if (!byId(key).value) state[key] = DEFAULTS[key];
  }
  show(true);
}
function show(focus) {
  hide();
  const one = state.group !== "";
  byId("all-groups").hidden = one;
  byId("one-group").hidden = !one;
  drawEstate();
  document.title = `${one ? state.group.slice(1) : "Audit of consumer groups"} · streams-assignor`;
  if (one) showGroup(state.group.slice(1), focus).catch(fail); else byId("one-group").replaceChildren();
}
function options(id, entries) {
  byId(id).append(...entries.map(([value, label]) => el("option", {value}, label)));
}
function counts(rows) {
  const found = new Map();
  for (const each of rows) found.set(each, (found.get(each) ?? 0) + 1);
  return [...found].sort((a, b) => b[1] - a[1]).map(([value, groups]) => [value, `${value} (${number(groups)})`]);
}
function fail(error) {
  byId("broken").hidden = false;
  byId("broken").textContent = typeof DecompressionStream === "undefined" ? "This browser cannot read compressed data; browsers from 2024 on can." : `This page cannot be drawn: ${error.message}`;
}
async function begin() {
  frame();
  const data = await unpack(byId("table").textContent), columns = data.groups;
  end = data.until ?? 0;
  compared = data.bounces;
  for (const name of ["type", "state", "causes"]) columns[name] = named(columns[name]);
  estate = rowsOf(columns, columns.group.length);
  estate.forEach((each, rank) => Object.assign(each, {rank, folded: each.group.toLowerCase(), top: Object.keys(each.causes)[0] ?? ""}));
  options("type", [["", "all"], ...counts(estate.map(each => each.type))]);
  options("finding", [["", "all groups"], ["problem", "any problem"], ["any", "any finding"], ["none", "no finding"], ...counts(estate.flatMap(each => Object.keys(each.codes)))]);
  options("cause", [["", "all"], ...counts(estate.flatMap(each => Object.keys(each.causes)))]);
  options("sort", Object.entries(COLUMNS).map(([value, [label]]) => [value, label]));
  if (compared && compared.bounces) byId("bounces").replaceChildren(allBouncesCard(compared));
  byId("q").oninput = event => go({q: event.target.value, page: "1"});

  addEventListener("popstate", come);
  come();
  await readRebalances();
  if (estate.some(group => group.times?.length)) byId("overview").replaceChildren(overview(data.from));
  if (state.at) show(false);
}
begin().catch(fail);
