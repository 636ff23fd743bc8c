// The plan of an upgrade, from the JSON of `plan --json`.
import { banner, el, folded, list, part, said, table } from "./dom.mjs";

const OPTIONS = { config: "--config", app: "--app", topology: "--topology" };
const SINGLE = { config: "configuration", topology: "topology" };

/** Return the arguments of `plan`; files are named as in the folder that Python sees. */
export function planArguments({ from, to, offline, without }, items) {
  for (const [role, text] of Object.entries(SINGLE)) {
    const same = items.filter((each) => each.role === role);
    if (same.length > 1) throw new Error(`expected one ${text}, got ${same.map((each) => each.name).join(" and ")}: say what each file is, or remove one`);
  }
  const files = items.flatMap((each) => [OPTIONS[each.role], `./${each.name}`]);
  return [...(offline ? ["--offline"] : []), ...(without ? ["--without", without] : []), ...files, "--", from, to];
}

const quoted = (text) => (/^[\w./,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

/** Return the same command for a shell, in the folder with the files. */
export function commandLine(args) {
  return `streams-assignor plan ${args.filter((each) => each !== "--").map((each) => quoted(each.replace(/^\.\//, ""))).join(" ")}`;
}

/** Return the names of conditions that no file decides: those of the plan, and those that were answered. */
export function questions(plan, answered) {
  const open = (plan?.conditions ?? []).map((each) => each.replace(/^no /, ""));
  return [...new Set([...answered, ...open])];
}

const fact = (label, text) => text && el("p", {}, el("span", { class: "label" }, label), " ", text);

function step(each) {
  const back = each.way_back;
  return el("div", {},
    el("strong", {}, each.do),
    (each.commands ?? []).map((command) => el("pre", { tabindex: "0" }, command)),
    el("div", { class: "facts" },
      fact("why", each.why),
      fact("if skipped", each.if_skipped),
      back && fact("way back", `${back.verdict}: ${back.how}`),
      fact("source", each.source)));
}

function setting(each) {
  const client = each.config && each.config !== "streams" ? ` (${each.config})` : "";
  const place = [...(each.line ? [`line ${each.line}`] : []), ...each.conditions].map((text) => `, ${text}`).join("");
  return [el("b", {}, each.status), ": ", el("code", {}, each.key), `${client}${place}: ${each.text}`];
}

function missing(each) {
  const where = each.referred_by.map((by) => [by.library, by.class ?? by.name].filter(Boolean).join(" ")).join(", ");
  const what = [each.class, each.member].filter(Boolean).join("#");
  return [el("b", {}, each.error), ": ", el("code", {}, what), `: ${each.reason}${where && `; referred to by ${where}`}${each.replacement ? `; instead: ${each.replacement.instead}` : ""}`];
}

function hazard(each, link) {
  return el("details", { class: "hazard", id: hazardId(each.name) },
    el("summary", {}, el("span", { class: `sign ${each.severity}` }, each.severity), ` ${each.applies_to}: ${each.symptom}`),
    el("div", { class: "facts" }, fact("shown by", (each.because ?? []).join("; ")), fact("decided by", (each.decided_by ?? []).join("; ")), fact("remedy", each.remedy), fact("from, to", `${each.from}; ${each.to}`), fact("source", each.source), fact("evidence", each.evidence), el("p", {}, el("a", { href: link(each.name) }, "link to this hazard"))));
}

/** The groups of hazards, by what they are about. */
const GROUPS = { settings: ["configuration", "membership"], code: ["code", "java"], brokers: ["brokers"], data: ["stores", "changelogs", "memory", "task ids"] };

function closed(title, hazards, link) {
  if (!hazards.length) return null;
  const counts = Object.entries(Object.groupBy(hazards, (each) => each.severity)).map(([severity, those]) => [" ", el("span", { class: `sign ${severity}` }, `${severity} ${those.length}`)]);
  return el("details", { class: "hazards" }, el("summary", {}, el("b", {}, title), `: ${hazards.length}`, counts), hazardList(hazards, link));
}

const hazardList = (hazards, link) => list(hazards.map((each) => hazard(each, link)), "ul", { class: "plain" });

/** Return a box that hides the hazards below `place` without its text, and opens the groups of the others. */
function search(place) {
  const status = el("span", { class: "soft", role: "status" });
  const input = ({ target }) => {
    const pattern = target.value.trim().toLowerCase();
    const items = [...place.querySelectorAll(".hazard")].map((each) => each.closest("li"));
    for (const each of items) each.hidden = !each.textContent.toLowerCase().includes(pattern);
    for (const group of place.querySelectorAll(".hazards")) {
      group.hidden = !group.querySelector("li:not([hidden])");
      group.open = Boolean(pattern) && !group.hidden;
    }
    status.textContent = pattern && `${items.filter((each) => !each.hidden).length} of ${items.length}`;
  };
  return el("div", { class: "fields" }, el("label", {}, "Find a hazard ", el("input", { type: "search", input })), status);
}

/** Return the hazards: those of this application, those that no file decides, those that do not concern it, and bugs of both releases. */
function hazards(plan, link) {
  const those = (answer) => (plan.hazards ?? []).filter((each) => (each.concerns ?? "unknown") === answer && !each.in_both);
  const [yes, unknown, no] = ["yes", "unknown", "no"].map(those);
  const groups = Object.entries(GROUPS).map(([title, subjects]) => closed(title, unknown.filter((each) => subjects.includes(each.about)), link));
  const place = el("div", {}, [
    yes.length > 0 && [el("h4", {}, `They concern this application: ${yes.length}`), hazardList(yes, link)],
    unknown.length > 0 && [el("h4", {}, `${plan.concerns ? "The files cannot tell" : "Your application and brokers decide"}: ${unknown.length}`), groups],
    closed("They do not concern it", no, link),
    closed("Known bugs of both releases", (plan.hazards ?? []).filter((each) => each.in_both && each.concerns !== "no"), link),
  ]);
  return (plan.hazards ?? []).length > 0 && part("Hazards beyond the metadata", search(place), place);
}

/** Return the id of the element of a hazard. */
export const hazardId = (name) => `hazard-${name}`;

/** Open a hazard with all around it, and show it. */
export function showHazard(name) {
  const found = document.getElementById(hazardId(name));
  for (let each = found; each; each = each.parentElement) if (each.localName === "details") each.open = true;
  found?.scrollIntoView();
}

function application(plan) {
  const app = plan.application;
  if (!app) return null;
  const artifacts = Object.entries(app.kafka ?? {}).map(([name, versions]) => `${name} ${versions.join(", ")}`);
  return [
    el("p", {}, `${app.classes} classes with ${app.references} references to Kafka were read.`),
    list([...artifacts, ...(app.damaged ?? []).map((each) => `cannot be read: ${each}`), ...(app.not_seen ?? []).map((each) => `not seen: ${each}`)]),
  ];
}

const STATUSES = { met: "safe", open: "if", blocked: "unsafe" };

function requirement(row) {
  const status = el("span", { class: `sign ${STATUSES[row.status] ?? "unsafe"}` }, row.status);
  const because = row.because.join("; ");
  if (row.status === "met") return [status, ` ${row.condition}${because && ` (${because})`}`];
  return el("details", {}, el("summary", {}, status, ` ${row.condition}`),
    el("div", { class: "facts" }, fact("else", row.symptom), fact("shown by", because), fact("decided by", row.decided_by.join("; ")), fact("remedy", row.remedy), fact("source", `${row.source}; ${row.evidence}`)));
}

/** Return what becomes of the settings that a change of the protocol makes ineffective. */
function settingsOfProtocol({ settings = [], ignored = [] }) {
  return list([
    ...settings.map((row) => `${row.setting}${row.where ? ` (${row.where})` : ""}: ${row.group_configuration}=${row.applied ?? "its value"} replaces it`),
    ...ignored.map((row) => `${row.setting} (${row.where}): nothing replaces it: ${row.consequence}`),
  ]);
}

function liveGroup(group) {
  return group && [
    el("p", {}, `Group ${group.group}: ${group.type}, ${group.state}; ${group.members.length} members.`),
    list([
      ...group.members.map((member) => `member ${member.label}: ${member.releases || `release cannot be told: ${member.problem}`}${member.group_instance_id ? `, static ${member.group_instance_id}` : ""}`),
      ...group.brokers.map((broker) => `broker ${broker.broker}: ${broker.release || "release not known"}`),
    ]),
  ];
}

/** Return what was simulated of a group of this size. */
function ownGroup(group) {
  if (!group) return null;
  const rows = (group.measured ?? []).map((row) => [`${row.origin} to ${row.target}`, row.how, row.rebalances, row.moved, row.task_seconds, row.longest_s]);
  return [
    el("p", {}, `${group.members} members with ${group.tasks} tasks.`),
    list((group.explored ?? []).map((row) => `${row.from_release} to ${row.to_release}: ${row.verdict} ${row.groups}${row.property ? `, violates ${row.property}` : ""}`)),
    rows.length > 0 && table("What the group sees", ["upgrade", "how", "rebalances", "tasks moved", "seconds without an owner, of all tasks", "longest of one task"], rows),
  ];
}

/** Return the parts of a plan, its headline first; `args` are those of the command, if it is to be shown; `link` returns the address of a hazard. */
export function planParts(answer, args, link = (name) => `#${hazardId(name)}`) {
  if (!answer.stdout) return [said(answer)];
  const plan = JSON.parse(answer.stdout);
  const steps = plan.steps ?? [];
  const concern = (plan.configuration?.settings ?? []).filter((each) => each.status !== "fine");
  return [
    banner(plan.verdict ?? "unknown", plan.headline),
    said(answer),
    part("Settle before the first step", list([...(plan.blocked ?? []), ...(plan.reasons ?? [])])),
    part("What must hold", list((plan.requirements ?? []).map(requirement), "ul", { class: "plain" })),
    part("The live group", list((plan.preflight ?? []).map((check) => `${check.level}: ${check.text}`)), liveGroup(plan.live_group)),
    part("Steps", list(steps.map(step), "ol", { class: "steps" }), plan.alternative && el("p", {}, plan.alternative)),
    part("Your group", ownGroup(plan.group)),
    part("Settings of the members", settingsOfProtocol(plan)),
    part("What survives", list((plan.survives ?? []).map((row) => `${row.what}: ${row.survives ? "yes" : "no"}: ${row.how} (${row.evidence})`))),
    part("Configuration", plan.configuration && [
      list(concern.map(setting)) ?? el("p", {}, "Nothing in the configuration changes its meaning."),
      plan.configuration.left_out > 0 && el("p", {}, `${plan.configuration.left_out} further keys are not of Kafka Streams.`),
    ]),
    part("Code", list((plan.missing ?? []).map(missing)), application(plan)),
    hazards(plan, link),
    part("Notes", list([...(plan.patch_levels ?? []), ...(plan.notes ?? []), ...(plan.warnings ?? [])].map(String))),
    part("Checked", list(plan.checked ?? [])),
    part("Not checked", list(plan.not_checked ?? [])),
    part("To keep", folded("runbook", answer.runbook, "runbook"), args && folded("command", commandLine(args), "command"), folded("JSON", answer.stdout, "json")),
  ];
}
