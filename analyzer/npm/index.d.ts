import type { Applicability, Arch, DiffLine, Language, Report, Severity, Summary, Target } from "./report.js";

export * from "./report.js";

/** Rules to run, and the target. The default is every rule and the default target. */
export interface ProjectOptions {
  target?: Partial<Target>;
  /** Run only these rules: names, ids, or the beginning of an id such as `HW1`. */
  select?: readonly string[];
  /** Rules that do not run. */
  ignore?: readonly string[];
  /** Team rules. */
  rules?: readonly TeamRule[];
}

/** Options for one source. */
export interface Options extends ProjectOptions {
  /** Default: determined from the source. */
  language?: Language;
  /** Whether C++ is built as a PyTorch extension, in which PyTorch's hipify renames CUDA names. */
  pytorchExtension?: boolean;
  /** First-party modules: modules that the source's project contains or builds. */
  firstPartyModules?: readonly string[];
  /**
   * Functions and constants of the project's Python modules that are false on AMD, because they need `torch.version.cuda`:
   * `acme.utils.is_nvidia`, and `.utils.is_nvidia` for relative imports, separated by
   * spaces.
   */
  falseOnAmd?: string;
  /**
   * Keys of the checkpoints that the project's Python modules save together with the parsed arguments of their command line:
   * `model` of `{"model": …, "args": args}`.
   */
  savedWithArguments?: readonly string[];
  /** The newest releases of other libraries that the project's requirements allow: `["transformers 4.36"]`. */
  releaseLimits?: readonly string[];
  /** Whether Python modules beside a requirements file import PyTorch. */
  importsTorch?: boolean;
  /**
   * Whether the other files of its folder import this Python module, each time in a `try`. Its own imports may fail then: they
   * are information.
   */
  isOptionalModule?: boolean;
  /**
   * Whether AMD hosts do not use this file: there is a version for AMD beside it, or no build of its project lists it. If so, all
   * findings are information, and no fix is safe.
   */
  isUnusedOnAmd?: boolean;
  /** Whether a header of the project defines CUDA names for HIP: `using cudaError_t = hipError_t`. */
  hasHipNames?: boolean;
  /** Macros that headers of the project define for AMD in this C++ file, separated by spaces: `__shfl_sync __ballot_sync`. */
  amdMacros?: string;
  /** Switches that this C++ file asks for and that nothing in its project sets, separated by spaces: `ACME_USE_FP8`. */
  unsetSwitches?: string;
}

/** A file of a project. The path is relative to the project's root, with `/` between its parts. */
export interface SourceFile {
  path: string;
  source: string;
}

export interface Project {
  files: { path: string; report: Report }[];
  summary: Summary;
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

/** A team rule. */
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

/** The analyzer. A function throws an `Error` if its options are invalid; it returns a result for every source. */
export interface Analyzer {
  analyze(source: string, options?: Options): Report;
  /** Applies the fixes of the findings at `indices` of the report of the same source and options. */
  apply(source: string, indices: readonly number[], options?: Options): { source: string; applied: number[] };
  /** Applies fixes up to the applicability `upTo`, repeatedly until none is left. */
  fixAll(source: string, options?: Options & { upTo?: "safe" | "unsafe" }): { source: string; applied: number };
  /**
   * Analyzes the files of a project. The project determines which sources PyTorch's hipify converts, and which modules
   * are first-party. The result does not contain files in unsupported languages.
   */
  project(files: readonly SourceFile[], options?: ProjectOptions): Project;
  diff(before: string, after: string): DiffLine[];
  /** A patch for `git apply`; empty if both texts are equal. */
  patch(path: string, before: string, after: string): string;
  /** The source, with the missing parts of the snippet contract added, so that it can be benchmarked. */
  skeleton(source: string, options?: Options): string;
  language(source: string, path?: string): Language;
  rules(): Rule[];
}

/** Source of the WebAssembly module. */
export type Module = string | URL | Request | Response | BufferSource | WebAssembly.Module;

/** Loads the analyzer, once. The default for `module` is the file in this package. */
export function load(module?: Module | Promise<Response>): Promise<Analyzer>;
