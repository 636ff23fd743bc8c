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
    el("label", { class: "check" }, el("input", { type: "checkbox" }), el("strong", {}, each.do)),
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

function hazard(each) {
  return el("details", {},
    el("summary", {}, el("span", { class: `sign ${each.severity}` }, each.severity), ` ${each.applies_to}: ${each.symptom}`),
    el("div", { class: "facts" }, fact("shown by", (each.because ?? []).join("; ")), fact("decided by", (each.decided_by ?? []).join("; ")), fact("remedy", each.remedy), fact("from, to", `${each.from}; ${each.to}`), fact("source", each.source), fact("evidence", each.evidence)));
}

/** Return the hazards: those of this application, those that no file decides, and those that do not concern it. */
function hazards(plan) {
  const those = (answer) => (plan.hazards ?? []).filter((each) => (each.concerns ?? "unknown") === answer).map(hazard);
  const no = those("no");
  return [
    part("Hazards that concern this application", list(those("yes"), "ul", { class: "plain" })),
    part(plan.concerns ? "Hazards of which the files cannot tell" : "Hazards beyond the metadata", list(those("unknown"), "ul", { class: "plain" })),
    no.length > 0 && part("Hazards that do not concern it", el("details", {}, el("summary", {}, `${no.length} of the table`), list(no, "ul", { class: "plain" }))),
  ];
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

/** Return the parts of a plan, the verdict first; `args` are those of the command, if it is to be shown. */
export function planParts(answer, args) {
  if (!answer.stdout) return [said(answer)];
  const plan = JSON.parse(answer.stdout);
  const steps = plan.steps ?? [];
  const verdict = answer.runbook.split("\n").find((line) => line.startsWith("Verdict: ")) ?? plan.verdict ?? `${steps.length} steps`;
  const concern = (plan.configuration?.settings ?? []).filter((each) => each.status !== "fine");
  return [
    banner(plan.verdict ?? "unknown", el("b", {}, `${plan.from} to ${plan.to}`), `: ${verdict.replace(/^Verdict: /, "").replaceAll("**", "")}${[...(plan.blocked ?? []), ...(plan.reasons ?? [])].map((reason) => `; ${reason}`).join("")}`),
    said(answer),
    part("What must hold", list((plan.requirements ?? []).map(requirement), "ul", { class: "plain" })),
    part("The live group", list((plan.preflight ?? []).map((check) => `${check.level}: ${check.text}`)), liveGroup(plan.live_group)),
    part("Steps", list(steps.map(step), "ol", { class: "steps" })),
    part("Your group", ownGroup(plan.group)),
    part("Settings of the members", settingsOfProtocol(plan)),
    part("What survives", list((plan.survives ?? []).map((row) => `${row.what}: ${row.survives ? "yes" : "no"}: ${row.how} (${row.evidence})`))),
    part("Configuration", plan.configuration && [
      list(concern.map(setting)) ?? el("p", {}, "Nothing in the configuration changes its meaning."),
      plan.configuration.left_out > 0 && el("p", {}, `${plan.configuration.left_out} further keys are not of Kafka Streams.`),
    ]),
    part("Code", list((plan.missing ?? []).map(missing)), application(plan)),
    hazards(plan),
    part("Notes", list([...(plan.patch_levels ?? []), ...(plan.notes ?? []), ...(plan.warnings ?? [])].map(String))),
    part("Checked", list(plan.checked ?? [])),
    part("Not checked", list(plan.not_checked ?? [])),
    part("To keep", folded("runbook", answer.runbook, "runbook"), args && folded("command", commandLine(args), "command"), folded("JSON", answer.stdout, "json")),
  ];
}
