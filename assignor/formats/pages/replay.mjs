// A scenario that was run again: its verdict and its trace.
import { banner, el, folded, part, said } from "./dom.mjs";
import { traceView } from "./trace.mjs";

export const EXAMPLES = {
  "two bounces, 1.1 to 2.0": "A@1.1 B@1.1 C@1.1 | bounce A>2.0,upgrade.from=1.1 B>2.0,upgrade.from=1.1 C>2.0,upgrade.from=1.1 | bounce A>2.0 B>2.0 C>2.0",
  "version probing, 2.0 to 2.3": "A@2.0 B@2.0 C@2.0 | bounce A>2.3 B>2.3 C>2.3",
  "without upgrade.from, 1.1 to 2.0": "A@1.1 B@1.1 | bounce A>2.0 B>2.0",
  "KAFKA-8649": "B@2.0.1 A@2.0.1 C@2.0.1 | elect newest | bounce A>2.1.1 | bounce B>2.1.1",
  "brokers that change their level": "1@3.9 2@3.9 level 3.9 | bounce 1>4.3 2>4.3 | race finalize 4.3 3@3.9",
  "a streams group (KIP-1071)": "A@4.3.1 B@4.3.1 group 4.3.1 tasks=4 standbys=1 | start A | settle | start B | settle",
};

/** Return the parts of a run, the verdict first. */
export function replayParts(answer) {
  if (!answer.stdout) return [said(answer)];
  const trace = JSON.parse(answer.stdout);
  const broken = trace.violations.map((violation) => `${violation.property}: ${violation.member && `${violation.member}: `}${violation.text}`);
  return [
    banner(trace.verdict, el("b", {}, trace.verdict), broken.length ? `: ${broken[0]}` : ": every property holds"),
    said(answer),
    part("Trace", traceView(answer.view)),
    part("To keep", folded("command", `streams-assignor replay "${trace.scenario}"`, "command"), folded("JSON", answer.stdout, "json")),
  ];
}
