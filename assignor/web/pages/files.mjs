// Files that were dropped or chosen: kept as the browser's File, read only by Python in the worker, and nowhere else.
import { el, list } from "./dom.mjs";

/** What a file of an application is taken for, by its name; its user may say otherwise. */
export const ROLES = { config: "configuration", app: "code", topology: "topology" };

export function roleOf(item) {
  const name = item.name.toLowerCase();
  if (item.isFolder || /\.(jar|war|ear|zip|class)$/.test(name)) return "app";
  return name.endsWith(".txt") ? "topology" : "config";
}

/** Return one item for each file or folder at the top, with pairs of path and File. */
export function items(pairs) {
  const found = new Map();
  for (const [path, file] of pairs) {
    const [name, ...rest] = path.split("/").filter(Boolean);
    const item = found.get(name) ?? { name, isFolder: rest.length > 0, pairs: [] };
    item.pairs.push([path, file]);
    found.set(name, item);
  }
  return [...found.values()];
}

async function entryPairs(entry, path = "") {
  const own = path + entry.name;
  if (entry.isFile) return [[own, await new Promise((resolve, reject) => entry.file(resolve, reject))]];
  const reader = entry.createReader();
  const pairs = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // a hundred at a time
    if (!some.length) return pairs;
    for (const each of some) pairs.push(...(await entryPairs(each, `${own}/`)));
  }
}

async function dropped(transfer) {
  const entries = [...transfer.items].map((each) => each.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => [file.name, file]);
  return (await Promise.all(entries.map((each) => entryPairs(each)))).flat();
}

/** Return a number of bytes in words. */
export const sizeText = (bytes) => (bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

const size = (pairs) => sizeText(pairs.reduce((sum, [, file]) => sum + file.size, 0));

/** An area for files in `place`; `onChange` is called with its items. With `roles` each item has one to choose. */
export class FileArea {
  items = [];
  #list = el("div");
  #onChange;
  #roles;

  constructor(place, { label, roles = false, onChange = () => {} }) {
    this.#onChange = onChange;
    this.#roles = roles;
    const chooser = (text, attributes) => el("label", { class: "button" }, text, el("input", {
      type: "file", multiple: true, class: "unseen", ...attributes,
      change: (event) => {
        this.add([...event.target.files].map((file) => [file.webkitRelativePath || file.name, file]));
        event.target.value = "";
      },
    }));
    const area = el("div", {
      class: "drop",
      dragover: (event) => { event.preventDefault(); area.classList.add("over"); },
      dragleave: () => area.classList.remove("over"),
      drop: async (event) => {
        event.preventDefault();
        area.classList.remove("over");
        this.add(await dropped(event.dataTransfer));
      },
    }, el("p", {}, label), el("div", { class: "fields" }, chooser("Choose files", {}), chooser("Choose a folder", { webkitdirectory: true })));
    place.append(area, this.#list);
  }

  /** Take pairs of path and File; an item of the same name is replaced. */
  add(pairs) {
    const added = items(pairs).map((each) => ({ ...each, role: roleOf(each) }));
    const names = new Set(added.map((each) => each.name));
    this.items = [...this.items.filter((each) => !names.has(each.name)), ...added];
    this.#show();
  }

  get pairs() {
    return this.items.flatMap((each) => each.pairs);
  }

  #show() {
    const rows = this.items.map((item) => [
      el("code", {}, item.isFolder ? `${item.name}/` : item.name),
      ` ${size(item.pairs)} `,
      this.#roles && el("label", {}, "is ", el("select", { "aria-label": `what ${item.name} is`, change: (event) => { item.role = event.target.value; this.#onChange(); } },
        Object.entries(ROLES).map(([role, text]) => el("option", { value: role, selected: role === item.role }, text)))),
      " ",
      el("button", { type: "button", "aria-label": `remove ${item.name}`, click: () => { this.items = this.items.filter((each) => each !== item); this.#show(); } }, "Remove"),
    ]);
    this.#list.replaceChildren(...[list(rows, "ul", { class: "chosen", "aria-label": "Files" })].filter(Boolean));
    this.#onChange();
  }
}
