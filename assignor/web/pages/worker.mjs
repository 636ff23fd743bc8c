// The worker in which Python runs. It loads files of this site and nothing else, and hands over files of the user as a
// folder that Python reads piece by piece.

const say = (step, done, all) => postMessage({ step, done, all });

// CRC-32C of a batch: the compiled library of the command line is not there.
const TABLE = Int32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value;
});

function crc32c(bytes) {
  const buffer = bytes.getBuffer("u8");
  try {
    let value = -1;
    for (const byte of buffer.data) value = TABLE[(value ^ byte) & 0xff] ^ (value >>> 8);
    return (value ^ -1) >>> 0;
  } finally {
    buffer.release();
    bytes.destroy();
  }
}

async function content(name) {
  const response = await fetch(new URL(name, import.meta.url));
  if (!response.ok) throw new Error(`expected ${name} from the server of this page, got status ${response.status}`);
  return response.arrayBuffer();
}

async function load() {
  say("loading Python (1 of 3)");
  const archive = content("./python.tar.xz");
  archive.catch(() => {}); // awaited below
  // Pyodide would try it, to learn what kind of worker this is, and the content security policy would say so.
  globalThis.importScripts = undefined;
  const { loadPyodide } = await import("./pyodide/pyodide.mjs");
  const pyodide = await loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href });
  say("loading streams-assignor (2 of 3)");
  pyodide.unpackArchive(await archive, "xztar", { extractDir: "/python" });
  pyodide.registerJsModule("crc32c", { crc32c });
  say("starting streams-assignor (3 of 3)");
  pyodide.runPython("import sys; sys.path.insert(0, '/python')");
  return { pyodide, bridge: pyodide.pyimport("streams_assignor.cli.in_browser") };
}

const ready = load();
ready.catch((error) => postMessage({ failed: `Python cannot be loaded: ${error.message}` }));

/** Return a path without steps upwards: names come from outside. */
function inside(path) {
  return path.split("/").filter((each) => !["", ".", ".."].includes(each)).join("/");
}

let number = 0;

async function answer({ id, request, files }) {
  const { pyodide, bridge } = await ready;
  const { FS } = pyodide;
  const folder = `/files/${++number}`;
  FS.mkdirTree(folder);
  const blobs = files.map(([path, data]) => ({ name: inside(path), data }));
  if (blobs.length) FS.mount(FS.filesystems.WORKERFS, { blobs }, folder);
  const { call } = JSON.parse(request);
  const working = call === "audit" ? "reading" : "working";
  say(working);
  let last = 0;
  const progress = (done, all) => {
    const now = performance.now();
    if (now - last > 100) {
      last = now;
      say(working, done, all);
    }
  };
  try {
    postMessage({ id, answer: bridge.answer(request, folder, progress) });
  } catch (error) {
    if (error.pyodide_fatal_error) postMessage({ failed: "Python has ended: the input is nested too deeply, or too large" });
    // What the command line would end with a traceback.
    const lines = String(error.message).trim().split("\n");
    postMessage({ id, error: lines.at(-1) });
  } finally {
    if (blobs.length) FS.unmount(folder);
    FS.rmdir(folder);
  }
}

let turn = Promise.resolve();
addEventListener("message", ({ data }) => {
  turn = turn.then(() => answer(data)).catch((error) => postMessage({ id: data.id, error: error.message }));
});
