// Annotated bytes, from what `userdata explain` prints.
import { el, folded, part, said, table } from "./dom.mjs";

/** Return the arguments of `userdata explain`; hex may have spaces and line ends. */
export function explainArguments({ bytes, kind, supported }) {
  const text = bytes.trim().startsWith("{") ? bytes.trim() : bytes.replace(/\s+/g, "");
  return ["userdata", "explain", ...(kind ? ["--kind", kind] : []), ...(supported ? ["--supported", supported] : []), "--", text];
}

/** Return what the command printed as headings and rows, and the lines around its table. */
export function annotated(text) {
  const lines = text.split("\n");
  const head = lines.findIndex((line) => /^ *offset +bytes +field +value$/.test(line));
  if (head < 0) return { before: lines, headings: [], rows: [], after: [] };
  const headings = lines[head].trim().split(/ +/);
  const [, bytes, field, value] = headings.map((each) => lines[head].indexOf(each));
  const isRow = (line) => /^ *\d+ {2}/.test(line);
  const end = lines.findIndex((line, place) => place > head && !isRow(line));
  const rows = lines.slice(head + 1, end).map((line) => [line.slice(0, bytes), line.slice(bytes, field), line.slice(field, value), line.slice(value)].map((each) => each.trim()));
  return { before: lines.slice(0, head), headings, rows, after: lines.slice(end).filter(Boolean) };
}

/** Return the parts of an explanation. */
export function userdataParts(answer) {
  const { before, headings, rows, after } = annotated(answer.stdout);
  return [
    said(answer),
    before.filter(Boolean).map((line) => el("p", {}, line)),
    [...(answer.status && rows.length ? [rows.at(-1)[3]] : []), ...after].map((line) => el("p", { class: "verdict unsafe", role: "alert" }, line)),
    rows.length > 0 && table("Annotated bytes", headings, rows.map(([offset, bytes, field, value]) => [offset, el("code", {}, bytes), field, value]), { class: "bytes" }),
    rows.length > 0 && part("To keep", folded("text", answer.stdout, "json")),
  ];
}
