// Runs pytest in Pyodide: node in_node.mjs PYODIDE SITE_PACKAGES ROOT ARGUMENTS...
const [pyodideFolder, packages, root, ...args] = process.argv.slice(2);
const { loadPyodide } = await import(`${pyodideFolder}/pyodide.mjs`);
const pyodide = await loadPyodide({ indexURL: `${pyodideFolder}/` });
for (const [inside, outside] of [["/packages", packages], ["/root", root]]) {
  pyodide.FS.mkdirTree(inside);
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: outside }, inside);
}
pyodide.globals.set("arguments", pyodide.toPy(args));
process.exitCode = pyodide.runPython(`
import os, sys
sys.dont_write_bytecode = True
sys.path[:0] = ["/root", "/packages"]
os.chdir("/root")
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = "/tmp/hypothesis"
print("Python", sys.version, flush=True)
import pytest
int(pytest.main(list(arguments)))
`);
