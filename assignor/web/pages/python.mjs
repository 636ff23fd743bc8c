// Python in a worker: the page always answers, and a worker that is ended forgets all.

export class Cancelled extends Error {}

// A worker and a service worker take their address as a trusted one; these two are the only ones that the page has.
const trusted = globalThis.trustedTypes?.createPolicy("own-files", {
  createScriptURL(name) {
    if (!["./worker.mjs", "./sw.js"].includes(name)) throw new TypeError(`expected an own file, got ${name}`);
    return new URL(name, import.meta.url).href;
  },
});

/** Return the address of a script of the site. */
export function scriptAddress(name) {
  return trusted ? trusted.createScriptURL(name) : new URL(name, import.meta.url).href;
}

export class Python {
  #worker = null;
  #waiting = new Map();
  #number = 0;
  #onStep;

  /** `onStep(text, done, all)` hears what Python does; an empty text: nothing. */
  constructor(onStep) {
    this.#onStep = onStep;
  }

  /** Begin to load; a call does that, too. */
  start() {
    if (this.#worker) return;
    this.#onStep("loading Python");
    this.#worker = new Worker(scriptAddress("./worker.mjs"), { type: "module" });
    this.#worker.onmessage = ({ data }) => this.#receive(data);
    this.#worker.onerror = (event) => this.#end(new Error(`Python cannot be loaded: ${event.message ?? "is the server there?"}`));
  }

  /** Ask for a call of `in_browser`; `files` are pairs of path and File. */
  ask(call, args = [], files = []) {
    this.start();
    const id = ++this.#number;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, request: JSON.stringify({ call, arguments: args }), files });
    });
  }

  /** End what runs; the next call loads Python again, from the browser's cache. */
  cancel() {
    this.#end(new Cancelled("cancelled"));
  }

  #receive(data) {
    if (data.step !== undefined) {
      this.#onStep(data.step, data.done, data.all);
    } else if (data.failed) {
      this.#end(new Error(data.failed));
    } else {
      const { resolve, reject } = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      if (!this.#waiting.size) this.#onStep("");
      if (data.error === undefined) resolve(JSON.parse(data.answer));
      else reject(new Error(data.error));
    }
  }

  #end(error) {
    this.#worker?.terminate();
    this.#worker = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#onStep("");
    for (const { reject } of waiting) reject(error);
  }
}
