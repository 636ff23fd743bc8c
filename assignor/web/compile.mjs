// Compiles the modules that a first plan loads: node compile.mjs PYODIDE CODE OUT
// They go to OUT/stdlib and OUT/code. Pyodide of the page compiles nothing then before it answers.
import { pathToFileURL } from "node:url";

const [pyodideFolder, code, out] = process.argv.slice(2);
try {
  const { loadPyodide } = await import(pathToFileURL(`${pyodideFolder}/pyodide.mjs`).href);
  const pyodide = await loadPyodide({ indexURL: `${pyodideFolder}/` });
  for (const [inside, outside] of [["/python", code], ["/out", out]]) {
    pyodide.FS.mkdirTree(inside);
    pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: outside }, inside);
  }
  pyodide.runPython(`
import marshal, sys, tarfile  # the last one unpacks the code in the page
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "/python")
from streams_assignor.cli.in_browser import plan

result = plan(["2.8", "4.3"])
if result["status"]:
    raise RuntimeError(result["stderr"])
roots = {next(path for path in sys.path if path.endswith(".zip")): "stdlib", "/python": "code"}
UNCHECKED = (1).to_bytes(4, "little")  # a hash, which nothing compares: there is no source beside it
for module in list(sys.modules.values()):
    file, loader = getattr(module, "__file__", None) or "", getattr(module, "__loader__", None)
    root = next((root for root in roots if file.startswith(f"{root}/")), None)
    if root and file.endswith(".py") and hasattr(loader, "get_data"):  # frozen modules have none
        source = loader.get_data(file)
        compiled = compile(source, file, "exec", dont_inherit=True, optimize=2)
        path = Path("/out", roots[root], file.removeprefix(f"{root}/")).with_suffix(".pyc")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(MAGIC_NUMBER + UNCHECKED + source_hash(source) + marshal.dumps(compiled))
`);
} catch (error) {
  console.error(error.message.trim().split("\n").at(-1));
  process.exitCode = 1;
}
