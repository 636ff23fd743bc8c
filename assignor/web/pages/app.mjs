// The views: what a link holds fills a form, and a form that is sent becomes a link. Files are in neither.
import { auditParts } from "./audit.mjs";
import { el } from "./dom.mjs";
import { FileArea } from "./files.mjs";
import { shownReleases, showMatrix } from "./matrix.mjs";
import { Cancelled, Python, scriptAddress } from "./python.mjs";
import { EXAMPLES, replayParts } from "./replay.mjs";
import { planArguments, planParts, questions, showHazard } from "./plan.mjs";
import { BYTES, sampleFiles } from "./samples.mjs";
import { explainArguments, userdataParts } from "./userdata.mjs";

const $ = (selector, root = document) => root.querySelector(selector);
const python = new Python(showStep);
const areas = {
  upgrade: new FileArea($("[data-files=upgrade]"), { label: "Drop the application here, if you like: configuration (properties, YAML, JSON), jars or a folder of classes, the text of Topology#describe().", roles: true, onChange: () => runAgain("upgrade") }),
  audit: new FileArea($("[data-files=audit]"), { label: "Drop the folders, or the file of a dump, here.", onChange: () => runAgain("audit") }),
};

function showStep(text, done, all) {
  $("#working").hidden = !text;
  const [shown, total, unit] = all > 1e4 ? [(done / 1e6).toFixed(0), (all / 1e6).toFixed(0), "MB"] : [done, all, "rows"];
  $("#step").textContent = text && all ? `${text}: ${shown} of ${total} ${unit}` : text;
  const bar = $("#progress");
  if (all) [bar.value, bar.max] = [done, all];
  else bar.removeAttribute("value");
}

/** The views by name: `run(values, place)` shows what it finds in `place`; `ready` says whether a link has enough to run. */
const VIEWS = {
  upgrade: {
    ready: ({ from, to }) => from && to,
    async run(values, place) {
      const { items, pairs } = areas.upgrade;
      const args = planArguments(values, items);
      const answer = await python.ask("plan", [args], pairs);
      place.replaceChildren(...planParts(answer, args, (hazard) => hashOf("upgrade", { ...values, hazard })).flat(Infinity).filter(Boolean));
      showConditions(answer.stdout ? JSON.parse(answer.stdout) : null, values.without);
    },
  },
  matrix: {
    ready: () => true,
    async run({ all }, place) {
      const names = shownReleases(await python.ask("releases"), all);
      await showMatrix(place, names, (from) => python.ask("matrix_row", [from, names]), (from, to) => go("upgrade", { from, to }), (done, total) => showStep("planning", done, total));
      showStep("");
    },
  },
  replay: {
    ready: ({ scenario }) => scenario,
    async run({ scenario }, place) {
      const answer = await python.ask("replay", [scenario]);
      place.replaceChildren(...replayParts(answer).flat(Infinity).filter(Boolean));
    },
  },
  userdata: {
    ready: ({ bytes }) => bytes,
    async run(values, place) {
      const answer = await python.ask("run", [explainArguments(values)]);
      place.replaceChildren(...userdataParts(answer).flat(Infinity).filter(Boolean));
    },
  },
  audit: {
    ready: () => areas.audit.items.length > 0,
    async run(_, place) {
      if (!areas.audit.items.length) throw new Error("expected folders __consumer_offsets-N or a dump, got no files");
      const answer = await python.ask("audit", [], areas.audit.pairs);
      place.replaceChildren(...auditParts(answer).flat(Infinity).filter(Boolean));
    },
  },
};

/** Show the questions that no file decides; an answer is a part of the link. */
function showConditions(plan, without = "") {
  const answered = without.split(",").filter(Boolean);
  const names = questions(plan, answered);
  const place = $("#conditions");
  place.hidden = !names.length;
  place.replaceChildren($("legend", place), ...names.map((name) => el("label", { class: "check" },
    el("input", { type: "checkbox", name: "without", value: name, checked: answered.includes(name), change: () => place.form.requestSubmit() }),
    `the ${name === "second-thread" ? "application" : "topology"} has no ${name.replaceAll("-", " ")}`)));
}

/** Return the values of a form; what is chosen several times is joined with commas. */
function valuesOf(form) {
  const values = {};
  for (const [name, value] of new FormData(form)) if (value) values[name] = values[name] ? `${values[name]},${value}` : value;
  return values;
}

function fill(form, values) {
  for (const field of form.elements) {
    if (!field.name || field.name === "without") continue;
    if (field.type === "checkbox") field.checked = values[field.name] === field.value;
    else field.value = values[field.name] ?? "";
  }
}

/** The values whose answer each view shows, and its last address, to which its tab leads. */
const answered = {};
const tab = (view) => [...document.querySelectorAll("nav a")].find((each) => each.hash.split("?")[0] === `#${view}`);

const keyOf = ({ hazard, ...values }) => JSON.stringify(values);

/** Say that the answer is of other values than those in the form, and of which. */
function showStale(view) {
  const form = $(`#${view} form`);
  const [now, before] = [valuesOf(form), answered[view]];
  const names = before ? [...new Set([...Object.keys(now), ...Object.keys(before)])].filter((name) => name !== "hazard" && now[name] !== before[name]) : [];
  $(`#${view}`).classList.toggle("stale", names.length > 0);
  $(".before", $(`#${view}`)).textContent = names.length ? `The answer below is of before: ${names.map((name) => `${name} was ${before[name] ?? "empty"}`).join(", ")}. Press ${$("button.main", form).textContent}.` : "";
}

/** Answer anew after a change of files, if there is an answer to be replaced. */
function runAgain(view) {
  if (answered[view]) run(view, view === "audit" ? {} : answered[view]);
}

const hashOf = (view, values) => `#${view}${Object.keys(values).length ? `?${new URLSearchParams(values)}` : ""}`;

function go(view, values) {
  const hash = hashOf(view, values);
  delete answered[view];
  if (location.hash === hash) show();
  else location.hash = hash;
}

let turn = 0;

async function run(name, values) {
  const own = ++turn;
  const section = $(`#${name}`);
  const place = $(".result", section);
  section.dataset.state = "busy";
  place.replaceChildren();
  answered[name] = values;
  showStale(name);
  try {
    await VIEWS[name].run(values, place);
    if (own === turn) section.dataset.state = "done";
  } catch (error) {
    if (error instanceof Cancelled) delete answered[name];
    const text = error instanceof Cancelled ? "Cancelled." : error.message;
    place.replaceChildren(el("p", { class: error instanceof Cancelled ? "note" : "verdict unsafe", role: "alert" }, text));
    section.dataset.state = "failed";
  }
}

function show() {
  const [name, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const view = name in VIEWS ? name : "upgrade";
  const values = Object.fromEntries(new URLSearchParams(query));
  for (const each of Object.keys(VIEWS)) $(`#${each}`).hidden = each !== view;
  for (const link of document.querySelectorAll("nav a")) {
    if (link === tab(view)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  tab(view).setAttribute("href", location.hash || `#${view}`);
  document.title = `${$(`#${view} h2`).textContent} · streams-assignor`;
  const { hazard, ...own } = values;
  const isShown = answered[view] && keyOf(answered[view]) === keyOf(own);
  if (view !== "audit" && !isShown) {
    fill($(`#${view} form`), own);
    if (view === "upgrade") showConditions(null, own.without);
    if (VIEWS[view].ready(own)) shown = run(view, own);
    else clear(view);
  }
  if (hazard) shown.then(() => showHazard(hazard));
}

let shown = Promise.resolve();

function clear(view) {
  delete answered[view];
  $(`#${view} .result`).replaceChildren();
  showStale(view);
}

/** Take the files of a sample in the place of those that are there. */
async function trySample(view) {
  areas[view].items = [];
  const pairs = await sampleFiles(view);
  delete answered[view];
  areas[view].add(pairs);
  if (view === "upgrade") go(view, { from: "2.8", to: "4.3" });
  else run(view, {});
}

for (const view of Object.keys(VIEWS)) {
  const form = $(`#${view} form`);
  form.addEventListener("input", () => showStale(view));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const values = valuesOf(form);
    if (view === "audit") run(view, values);
    else go(view, values);
  });
}
$("#cancel").addEventListener("click", () => python.cancel());
for (const button of document.querySelectorAll("[data-sample]")) button.addEventListener("click", () => trySample(button.dataset.sample));
$("#bytes").append(el("option", { value: "" }, "choose one"), ...Object.entries(BYTES).map(([name, bytes]) => el("option", { value: bytes }, name)));
$("#bytes").addEventListener("change", ({ target }) => target.value && go("userdata", { bytes: target.value }));
$("#examples").append(el("option", { value: "" }, "choose one"), ...Object.entries(EXAMPLES).map(([name, scenario]) => el("option", { value: scenario }, name)));
$("#examples").addEventListener("change", ({ target }) => target.value && go("replay", { scenario: target.value }));
addEventListener("hashchange", show);

// On loopback each start has another port, so what a browser kept would never be found again.
async function keepOffline() {
  if (location.hostname !== "127.0.0.1" && "serviceWorker" in navigator) await navigator.serviceWorker.register(scriptAddress("./sw.js"));
}

show();
python.ask("releases").then((names) => {
  $("#releases").append(...names.toReversed().map((name) => el("option", { value: name })));
  return keepOffline();
}).catch((error) => error instanceof Cancelled || showStep(error.message));
