/** A GPU architecture. */
export type Arch = "gfx90a" | "gfx942" | "gfx950";

/** A source language, or a kind of file that a port touches. */
export type Language =
  | "python"
  | "notebook"
  | "cuda-cpp"
  | "requirements"
  | "pyproject"
  | "dockerfile"
  | "cmake"
  | "shell"
  | "yaml";

/** The machine and versions that the code is meant for; versions are `major.minor`. */
export interface Target {
  arch: Arch;
  rocm: string;
  torch: string;
  python: string;
}

/** Which rules to run, and for what. The default is every rule, for the default target. */
export interface ProjectOptions {
  target?: Partial<Target>;
  /** Run only these rules: names, ids, or the beginning of an id such as `HW1`. */
  select?: readonly string[];
  /** Leave these rules out. */
  ignore?: readonly string[];
  /** A team's own rules. */
  rules?: readonly TeamRule[];
}

/** How to analyze one source. What is not said is what the source reads like. */
export interface Options extends ProjectOptions {
  language?: Language;
  /** Whether C++ is built as a PyTorch extension, whose names PyTorch's hipify changes. */
  pytorchExtension?: boolean;
  /** Modules that the source's own project holds or builds. */
  firstPartyModules?: readonly string[];
  /** Whether AMD has a file of its own beside this one: what is found is then information. */
  hasAmdSibling?: boolean;
  /** Whether a header of the project's gives CUDA's names for HIP to this file: `using cudaError_t = hipError_t`. */
  hasHipNames?: boolean;
}

export type Severity = "error" | "warning" | "advice" | "info";

export type Applicability = "safe" | "unsafe" | "display-only";

/** A place in the source. */
export interface Position {
  /** UTF-8 bytes from the start. */
  byte: number;
  /** UTF-16 code units from the start: an index into a JavaScript string. */
  utf16: number;
  /** From 1. */
  line: number;
  /** From 1, in Unicode characters. */
  column: number;
}

/** Half open. */
export interface Span {
  start: Position;
  end: Position;
}

export interface Edit {
  span: Span;
  text: string;
}

export interface Fix {
  title: string;
  applicability: Applicability;
  /** Sorted, not overlapping; empty for a fix that only describes. */
  edits: Edit[];
}

export interface Finding {
  /** `HW101`, or a team's own. */
  id: string;
  /** The rule's name. */
  rule: string;
  severity: Severity;
  message: string;
  span: Span;
  /** Who deals with it. */
  handled_by: "you" | "hipify" | "rocm-wheel";
  /** Where a team explains its own rule. */
  link: string | null;
  fix: Fix | null;
}

/** Something to say about the source as a whole. */
export interface Note {
  code: string;
  message: string;
  line: number | null;
}

export interface Report {
  schema: 1;
  language: Language;
  target: Target;
  /** By position, then by rule. */
  findings: Finding[];
  /** Findings that a comment silenced. */
  suppressed: number;
  notes: Note[];
  /** Which parts of a benchmark's snippet the source has. */
  contract: {
    model: boolean;
    model_new: boolean;
    get_inputs: boolean;
    get_init_inputs: boolean;
    modules: string[];
  };
}

/** A file of a project; the path is relative to its root, with `/` between its parts. */
export interface SourceFile {
  path: string;
  source: string;
}

export interface FamilyCount {
  family: string;
  error: number;
  warning: number;
  advice: number;
  info: number;
}

/** A file whose port lies beside it. */
export interface PortedFile {
  path: string;
  port: string;
  findings: number;
}

export interface EffortItem {
  kind: string;
  findings: number;
  /** Least and most. */
  minutes_each: [number, number];
  minutes: [number, number];
}

/** Reckoned from what was found, not measured. */
export interface Effort {
  minutes: [number, number];
  items: EffortItem[];
  note: string;
}

/** What a project's reports come to. */
export interface Summary {
  files: number;
  files_with_findings: number;
  families: FamilyCount[];
  by_you: number;
  by_hipify: number;
  by_rocm_wheel: number;
  /** Not counted in the numbers above. */
  ported: PortedFile[];
  effort: Effort;
}

export interface Project {
  files: { path: string; report: Report }[];
  summary: Summary;
}

export interface DiffLine {
  kind: "equal" | "removed" | "added" | "gap";
  old: number | null;
  new: number | null;
  text: string;
}

export interface Rule {
  id: string;
  name: string;
  title: string;
  family: string;
  severity: Severity;
  languages: Language[];
  targets: string;
  applicability: Applicability;
  lesson: string | null;
}

/** A team's own rule. */
export interface TeamRule {
  id: string;
  name: string;
  message: string;
  severity?: Severity;
  link?: string;
  when?: { arch?: Arch | readonly Arch[]; rocm?: string; torch?: string; python?: string };
  match: {
    import?: string | readonly string[];
    use?: string | readonly string[];
    call?: string | readonly string[];
    pattern?: string | readonly string[];
    arguments?: Readonly<Record<string, string | number | boolean>>;
    cuda?: string | readonly string[];
    include?: string | readonly string[];
    package?: string | readonly string[];
    image?: string | readonly string[];
    variable?: string | readonly string[];
  };
  fix?: { title: string; replace?: string; applicability?: Applicability; import?: string };
}

/** The analyzer. Its functions throw an `Error` with a sentence when a request makes no sense, never for a source. */
export interface Analyzer {
  analyze(source: string, options?: Options): Report;
  /** Applies the fixes of the findings at `indices` of the report of the same source and options. */
  apply(source: string, indices: readonly number[], options?: Options): { source: string; applied: number[] };
  /** Applies every fix up to `upTo`, again and again until nothing is left to apply. */
  fixAll(source: string, options?: Options & { upTo?: "safe" | "unsafe" }): { source: string; applied: number };
  /**
   * Analyzes files together: what lies around a file says whether PyTorch's hipify deals with it, and which modules are
   * the project's own. Files of kinds that are not read are left out of the answer.
   */
  project(files: readonly SourceFile[], options?: ProjectOptions): Project;
  diff(before: string, after: string): DiffLine[];
  /** A patch that `git apply` takes; empty when nothing changed. */
  patch(path: string, before: string, after: string): string;
  /** The source, completed to what a benchmark runs. */
  skeleton(source: string, options?: Options): string;
  language(source: string, path?: string): Language;
  rules(): Rule[];
}

/** Where the WebAssembly module comes from. */
export type Module = string | URL | Request | Response | BufferSource | WebAssembly.Module;

/** Starts the analyzer, once. Without `module` it is the file of this package. */
export function load(module?: Module | Promise<Response>): Promise<Analyzer>;
