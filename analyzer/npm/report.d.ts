// Generated from the analyzer's Rust types by tests/tests/report_formats.rs.

/** Whether a fix can be applied without a review. */
export type Applicability =
  /** Behavior does not change. */
  | "safe"
  /** Valid code, but behavior may change or a comment may be removed. */
  | "unsafe"
  /** To be done by hand. */
  | "display-only";

/** Architectures of AMD GPUs, from `gpus.toml`. */
export type Arch =
  /** RDNA 3: Radeon PRO W7900, PRO W7800 48GB. */
  | "gfx1100"
  /** RDNA 3: Radeon RX 7800 XT, PRO W7700. */
  | "gfx1101"
  /** RDNA 4: Radeon RX 9060 XT. */
  | "gfx1200"
  /** RDNA 4: Radeon AI PRO R9700, RX 9070 XT. */
  | "gfx1201"
  /** CDNA 5: MI455X. */
  | "gfx1250"
  /** CDNA: MI100. */
  | "gfx908"
  /** CDNA 2: MI250X, MI250. */
  | "gfx90a"
  /** CDNA 3: MI325X, MI300X. */
  | "gfx942"
  /** CDNA 4: MI355X, MI350X. */
  | "gfx950";

/** The parts of the snippet contract in a source (`Model`, `get_inputs`, `get_init_inputs`). */
export interface Contract {
  /** `def get_init_inputs()`. */
  get_init_inputs: boolean;
  /** `def get_inputs()`. */
  get_inputs: boolean;
  /** `class Model(nn.Module)`. */
  model: boolean;
  /** `class ModelNew(nn.Module)`. */
  model_new: boolean;
  /** Other classes that derive from `nn.Module`, in order. */
  modules: string[];
}

/** The kind of change of a line. */
export type DiffKind =
  /** In both. */
  | "equal"
  /** Only before. */
  | "removed"
  /** Only after. */
  | "added"
  /** Represents omitted equal lines. */
  | "gap";

/** A line of a diff. */
export interface DiffLine {
  /** The kind of change. */
  kind: DiffKind;
  /** The line number after. */
  new: number | null;
  /** The line number before, from 1. */
  old: number | null;
  /** The text, without the line break. */
  text: string;
}

/** Replace `span` by `text`. */
export interface Edit {
  /** The range to replace; empty for an insertion. */
  span: Span;
  /** The replacement. */
  text: string;
}

/** An estimate of a port's effort: a range, and the table it is computed from. */
export interface Effort {
  /** The parts of the sum. */
  items: EffortItem[];
  /** The minimum and maximum, in minutes. */
  minutes: [number, number];
  /** A description of the figures and their limits. */
  note: string;
}

/** One kind of work. */
export interface EffortItem {
  /** The number of findings; 0 for work that no finding represents. */
  findings: number;
  /** A description of the work. */
  kind: string;
  /** The minimum and maximum for all of them. */
  minutes: [number, number];
  /** The minimum and maximum for one finding. */
  minutes_each: [number, number];
}

/** Findings of one family by severity. */
export interface FamilyCount {
  /** Performance. */
  advice: number;
  /** Does not run. */
  error: number;
  /** Its heading: `Vendor libraries`. */
  family: string;
  /** For information. */
  info: number;
  /** Runs, but with wrong results or slowly. */
  warning: number;
}

/** A finding. */
export interface Finding {
  /** The fix, if there is one. */
  fix: Fix | null;
  /** Who has to handle it. */
  handled_by: HandledBy;
  /** `HW` and three digits, or the id of a team rule. */
  id: string;
  /** The URL of a team rule's documentation; Hipward's rules have pages. */
  link: string | null;
  /** One sentence: the effect on the target. */
  message: string;
  /** The rule's name, as in suppression comments: `pynvml`. */
  rule: string;
  /** The severity on the target. */
  severity: Severity;
  /** The range in the source. */
  span: Span;
}

/** A change that removes a finding. */
export interface Fix {
  /** Whether it can be applied without a review. */
  applicability: Applicability;
  /** Edits, sorted, not overlapping. Empty for a display-only fix. */
  edits: Edit[];
  /** Imperative: `Import amdsmi instead of pynvml`. */
  title: string;
}

/** Who has to handle a finding. */
export type HandledBy =
  /** The author of the port. */
  | "you"
  /** PyTorch's hipify, at build time. */
  | "hipify"
  /** The ROCm build of PyTorch, at run time. */
  | "rocm-wheel";

/** One condition of an exercise. */
export interface JudgedCondition {
  /** The problem while it is not met, as a sentence. */
  message: string;
  /** Whether the condition is met. */
  met: boolean;
  /** A sentence that is true once the condition is met. */
  title: string;
}

/** The progress of a source towards an exercise's solution: the result of each condition, in order. */
export interface Judgement {
  /** A sentence that is true once every condition is met. */
  conditions: JudgedCondition[];
}

/** A source language, or a kind of file that matters in a port. */
export type Language =
  /** Python, including `setup.py`. */
  | "python"
  /** A Jupyter notebook: the Python in its code cells. */
  | "notebook"
  /** CUDA C++, its headers, and C++ that calls CUDA. */
  | "cuda-cpp"
  /** pip's requirements and constraints. */
  | "requirements"
  /** `pyproject.toml`. */
  | "pyproject"
  /** A Dockerfile. */
  | "dockerfile"
  /** `CMakeLists.txt` and `.cmake` files. */
  | "cmake"
  /** A makefile, or a `.mk` file. */
  | "makefile"
  /** A shell script, or a file of `NAME=value` lines. */
  | "shell"
  /** A conda environment, or continuous integration with containers. */
  | "yaml"
  /** A document in Markdown or reStructuredText: the commands in its code blocks and sentences. */
  | "document";

/** A note about the whole source. */
export interface Note {
  /** Stable: `not-python`, `syntax-error`, `too-large`, `binary`, `counterpart`. */
  code: string;
  /** The first line it refers to, if any. */
  line: number | null;
  /** One sentence. */
  message: string;
}

/** A file and its ported version. */
export interface PortedFile {
  /** The number of findings in the file for CUDA. */
  findings: number;
  /** The file for CUDA. */
  path: string;
  /** The one for ROCm. */
  port: string;
}

/** A position in the source. */
export interface Position {
  /** UTF-8 bytes from the start. */
  byte: number;
  /** Column in Unicode scalar values, from 1. */
  column: number;
  /** Line, from 1. */
  line: number;
  /** UTF-16 code units from the start: JavaScript's and CodeMirror's offset. */
  utf16: number;
}

/** The result of analyzing one source. */
export interface Report {
  /** The parts of the snippet contract in the source. */
  contract: Contract;
  /** Sorted by position, then rule. */
  findings: Finding[];
  /** The language of the source. */
  language: Language;
  /** Notes about the whole source: not Python, incomplete, too large. */
  notes: Note[];
  /** Version of this format; increased when a field changes its meaning or is removed. */
  schema: 1;
  /** The number of findings suppressed by a `# hipward: ignore[…]` comment. */
  suppressed: number;
  /** The target of the analysis. */
  target: Target;
}

/** The severity of a finding on the target. */
export type Severity =
  /** Does not run. */
  | "error"
  /** Runs, but with wrong results or slowly. */
  | "warning"
  /** Performance. */
  | "advice"
  /** For information. */
  | "info";

/** A half-open range of the source, in all units. */
export interface Span {
  /** One past the last. */
  end: Position;
  /** First position. */
  start: Position;
}

/** The summary of a project's reports. */
export interface Summary {
  /** Findings that PyTorch's hipify handles at build time. */
  by_hipify: number;
  /** Findings that the ROCm build of PyTorch handles. */
  by_rocm_wheel: number;
  /** Findings that have to be fixed by hand. */
  by_you: number;
  /** The estimated time of a port. */
  effort: Effort;
  /** Findings by family, in the order of their ids, without files that have a ported version. */
  families: FamilyCount[];
  /** The number of files. */
  files: number;
  /** The number of files with findings. */
  files_with_findings: number;
  /** Files with a ported version; their findings are not counted elsewhere. */
  ported: PortedFile[];
}

/** The machine and versions for which the code is analyzed. */
export interface Target {
  /** GPU architecture. */
  arch: Arch;
  /** Python version. */
  python: Version;
  /** ROCm version. */
  rocm: Version;
  /** PyTorch version. */
  torch: Version;
}

/** A `major.minor` version. */
export type Version = string;
