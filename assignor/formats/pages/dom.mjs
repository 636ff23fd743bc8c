// Elements from plain values. Text is always a text node, so no name in a file becomes markup.

const SVG = "http://www.w3.org/2000/svg";

function made(create, name, content) {
  const [tag, ...classes] = name.split(".");
  const element = create(tag);
  const isPlain = content[0] && Object.getPrototypeOf(content[0]) === Object.prototype;
  const [attributes, inside] = isPlain ? [content[0], content.slice(1)] : [{}, content];
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(key, value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...inside.flat(Infinity).filter((item) => item !== null && item !== undefined && item !== false && item !== ""));
  return element;
}

/**
 * Return an element: `el("p.soft", { id: "x" }, "text", el("b", "more"))`. Classes and attributes may be left out, and so
 * are attributes that are null or false; functions listen.
 */
export const el = (name, ...content) => made((tag) => document.createElement(tag), name, content);

/** Return an element of a drawing. */
export const svg = (name, ...content) => made((tag) => document.createElementNS(SVG, tag), name, content);

/** Return what a page of one file was made with: the JSON of its element `data`. */
export const pageData = () => JSON.parse(document.getElementById("data").textContent);

/** Fill the page of one file with the parts that a view returns. */
export function fill(...parts) {
  document.querySelector("main").append(el("h2.unseen", "Result"), ...parts.flat(Infinity).filter(Boolean));
}

/** Return a part with a heading, or nothing without content. */
export function part(title, ...content) {
  const shown = content.flat(Infinity).filter(Boolean);
  return shown.length ? el("section", { class: "part" }, el("h3", {}, title), shown) : null;
}

/** Return a list, or nothing without items. */
export function list(items, name = "ul", attributes = {}) {
  const shown = [...items].filter(Boolean);
  return shown.length ? el(name, attributes, shown.map((each) => el("li", {}, each))) : null;
}

/** Return a table that scrolls in a narrow window. */
export function table(label, headings, rows, attributes = {}) {
  const head = el("thead", {}, el("tr", {}, headings.map((each) => el("th", { scope: "col" }, each))));
  const body = el("tbody", {}, rows.map((row) => el("tr", {}, row.map((each) => (each?.nodeName === "TH" ? each : el("td", {}, each ?? ""))))));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, el("table", attributes, head, body));
}

/** Return a button that copies a text, and says so. */
export function copyButton(label, text) {
  const button = el("button", { type: "button", click: async () => {
    try {
      await navigator.clipboard.writeText(text());
      button.textContent = "Copied";
    } catch {
      button.textContent = "The browser refuses to copy: select the text below";
    }
  } }, label);
  return button;
}

/** Return text that can be opened and copied; `id` names it for links and tests. */
export function folded(title, text, id) {
  return el("details", { id }, el("summary", {}, title), copyButton(`Copy ${title}`, () => text), el("pre", { tabindex: "0" }, text));
}

/** Return the line that comes first, in the colour of a verdict. */
export function banner(verdict, ...content) {
  return el("p", { class: `verdict ${verdict}` }, content);
}

/** Return what a command printed on standard error: its own sentences. */
export function said(answer) {
  const text = answer.stderr.trim();
  return text ? el("p", { class: answer.status > 1 || !answer.stdout ? "verdict unsafe" : "note", role: answer.stdout ? "note" : "alert" }, text) : null;
}
