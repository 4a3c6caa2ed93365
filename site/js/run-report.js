// The result of a kernel in the emulator as elements: findings, differences from the reference, and counts.

import { element } from "./element.js";

// `report`: the answer of `POST /api/v1/emulate` to `request`.
export function runReport(report, request) {
  const lines = (report.hip ?? request.source).split("\n");
  const made = [verdict(report)];
  if (report.error) {
    made.push(problem("The kernel did not run to its end", report.error, report.error.message, lines));
  }
  for (const finding of report.findings) made.push(findingOf(finding, lines));
  for (const difference of report.differences) made.push(...differenceOf(difference, lines));
  made.push(counts(report));
  if (report.hip) made.push(details(`The HIP that was compiled (${counted(report.fixes, "fix")})`, report.hip));
  if (report.output) made.push(details("What the reference printed", report.output));
  return made;
}

function verdict(report) {
  const groups = report.grid.reduce((all, size) => all * size, 1);
  const threads = report.workgroup.reduce((all, size) => all * size, 1);
  const executed = Object.values(report.counts.instructions).reduce((all, count) => all + count, 0);
  const findings = report.findings.length === 0 ? "No findings" : counted(report.findings.length, "finding");
  const compared = report.compared.length;
  const different = report.differences.length;
  const agreement =
    compared === 0
      ? "not compared with a reference"
      : different === 0
        ? `${report.compared.join(", ")} ${compared === 1 ? "agrees" : "agree"} with the reference`
        : `${different} of ${counted(compared, "buffer")} ${different === 1 ? "differs" : "differ"} from the reference`;
  const text = `${report.kernel} on ${report.arch} in the emulator: ${counted(groups, "workgroup")} of ${threads} threads, ${executed} instructions of wavefronts. ${findings}; ${agreement}.`;
  return element("p", { className: report.failed ? "failed" : "passed" }, [element("strong", { textContent: report.failed ? "Failed. " : "Passed. " }), text]);
}

function findingOf(finding, lines) {
  const lanes = BigInt(finding.lanes);
  const times = finding.occurrences === 1 ? "" : `; ${finding.occurrences} times in all`;
  const where = `Wavefront ${finding.wavefront} of workgroup ${finding.workgroup.join(", ")}, lanes ${ranges(lanes)}${times}.`;
  const made = problem(finding.kind, finding, finding.message, lines);
  made.append(element("p", { textContent: where }), strip(lanes));
  return made;
}

// A problem with the line of the source that it is about.
function problem(title, { line, source }, message, lines) {
  const number = lineOf(source);
  const place = number ? `line ${number}` : `line ${line} of the assembly text`;
  const made = element("div", { className: "run-problem" }, [
    element("h3", { textContent: `${title}, ${place}` }),
    element("p", { textContent: message }),
  ]);
  made.append(...quoted(number, lines));
  return made;
}

function quoted(number, lines) {
  const text = number && lines[number - 1];
  return text === undefined ? [] : [element("pre", { tabIndex: 0 }, [element("code", { textContent: `${number} | ${text}` })])];
}

function differenceOf(difference, lines) {
  const { name, different, elements, rtol, atol, largest } = difference;
  const title = element("h3", { textContent: `${name}: ${different} of ${elements} elements differ from the reference` });
  const tolerance = element("p", { textContent: `Largest difference ${largest}; rtol ${rtol}, atol ${atol}.` });
  const all = difference.lanes.reduce((all, { lanes }) => all | BigInt(lanes), 0n);
  const made = [title, tolerance];
  if (all !== 0n && (all & 0xffffffffn) === 0n) {
    made.push(
      element("p", { className: "report-note", textContent: "Only lanes 32 to 63 differ: the code may assume a warp of 32 threads. A wavefront has 64 lanes." }),
    );
  }
  const stored = lineOf(difference.first.find(({ source }) => source)?.source);
  made.push(...quoted(stored, lines));
  const byWavefront = difference.lanes.map(({ workgroup, wavefront, lanes }) => {
    const mask = BigInt(lanes);
    return [workgroup.join(", "), String(wavefront), ranges(mask), strip(mask)];
  });
  const columns = ["Workgroup", "Wavefront", "Lanes that differ", "Lanes 0 to 63"];
  if (byWavefront.length > 0) made.push(table(`Lanes that stored wrong elements of ${name}`, columns, byWavefront));
  const elementRows = difference.first.map((one) => [
    `${name}[${one.index}]`,
    one.result,
    one.reference,
    one.lane === null ? "never stored" : `lane ${one.lane} of wavefront ${one.wavefront} of workgroup ${one.workgroup.join(", ")}`,
  ]);
  made.push(table(`The first wrong elements of ${name}`, ["Element", "Is", "Reference", "Stored by"], elementRows));
  return made;
}

function counts({ counts }) {
  const sum = (field) => counts.accesses.reduce((all, access) => all + access[field], 0);
  const rows = [
    ...Object.entries(counts.instructions).filter(([, count]) => count > 0).map(([name, count]) => [`instructions: ${name}`, String(count)]),
    ["lanes masked in vector instructions", `${counts.masked_lanes} of ${counts.active_lanes + counts.masked_lanes}`],
    ["bytes of memory accesses", String(sum("bytes"))],
    ["segments of 64 bytes", String(sum("segments64"))],
    ["cycles that bank conflicts add", String(sum("bank_conflicts"))],
    ["cycles of matrix instructions", String(counts.matrix_cycles)],
  ];
  return element("details", {}, [element("summary", { textContent: "Counts" }), table("Counts of the run", ["Count", "Value"], rows)]);
}

function table(caption, columns, rows) {
  const head = element("thead", {}, [element("tr", {}, columns.map((name) => element("th", { scope: "col", textContent: name })))]);
  const body = rows.map(([first, ...rest]) =>
    element("tr", {}, [element("th", { scope: "row" }, [first]), ...rest.map((cell) => element("td", {}, [cell]))]),
  );
  const made = element("table", {}, [element("caption", { textContent: caption }), head, element("tbody", {}, body)]);
  const region = element("div", { className: "scroll", tabIndex: 0 }, [made]);
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", caption);
  return region;
}

// 64 marks, one for each lane. The text beside it has the same. The style is here, because the style sheet is part of every page.
function strip(mask) {
  const lanes = Array.from({ length: 64 }, (_, lane) => {
    const mark = element("span");
    mark.style.cssText = `height: 0.6rem; background: var(--${(mask >> BigInt(lane)) & 1n ? "bad" : "hover"})`;
    return mark;
  });
  const made = element("span", {}, lanes);
  made.style.cssText = "display: inline-grid; grid-template-columns: repeat(32, 0.4rem); gap: 1px";
  made.setAttribute("aria-hidden", "true");
  return made;
}

function details(summary, text) {
  return element("details", {}, [element("summary", { textContent: summary }), element("pre", { textContent: text, tabIndex: 0 })]);
}

const counted = (count, word) => `${count} ${word}${count === 1 ? "" : word.endsWith("x") ? "es" : "s"}`;

// The line of `kernel.cu:7`.
const lineOf = (source) => (source ? Number(source.slice(source.lastIndexOf(":") + 1)) : undefined);

// The lanes of a mask: `0 to 3, 63`.
export function ranges(mask) {
  const parts = [];
  for (let lane = 0; lane < 64; lane += 1) {
    if (!((mask >> BigInt(lane)) & 1n)) continue;
    const first = lane;
    while (lane < 63 && (mask >> BigInt(lane + 1)) & 1n) lane += 1;
    parts.push(first === lane ? String(lane) : `${first} to ${lane}`);
  }
  return parts.join(", ");
}
