// A start for the launch and the reference of a CUDA or HIP kernel, from its signature. The sizes are guesses.

// Elements of each buffer.
const ELEMENTS = 1024;

const DTYPES = {
  float: "float32", double: "float64", bool: "bool",
  half: "float16", __half: "float16", _Float16: "float16", half2: "float16", __half2: "float16", "at::Half": "float16",
  __nv_bfloat16: "bfloat16", nv_bfloat16: "bfloat16", __hip_bfloat16: "bfloat16", hip_bfloat16: "bfloat16", "at::BFloat16": "bfloat16",
  float2: "float32", float4: "float32", int2: "int32", int4: "int32",
  char: "int8", "signed char": "int8", int8_t: "int8", "unsigned char": "uint8", uint8_t: "uint8",
  short: "int16", int16_t: "int16", "unsigned short": "uint16", uint16_t: "uint16",
  int: "int32", int32_t: "int32", unsigned: "uint32", "unsigned int": "uint32", uint32_t: "uint32", uint: "uint32",
  long: "int64", "long long": "int64", "long int": "int64", "long long int": "int64", int64_t: "int64", ptrdiff_t: "int64",
  "unsigned long": "uint64", "unsigned long long": "uint64", uint64_t: "uint64", size_t: "uint64",
};
const QUALIFIERS = /\b(?:const|volatile|__restrict__|__restrict|restrict|__grid_constant__|typename)\b|std::|&/g;

// The first kernel with a body: its name, its parameters and its text up to the next kernel. `undefined` if there is none.
export function findKernel(source) {
  const code = source.replace(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, " ");
  for (const part of code.split(/\b__global__\b/).slice(1)) {
    const head = part.slice(0, part.search(/[{;]/));
    if (part[head.length] !== "{") continue;
    const plain = head.replace(/\b(?:__launch_bounds__|__attribute__|__cluster_dims__)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)/g, " ");
    const found = /(\w+)\s*\(([\s\S]*)\)\s*$/.exec(plain);
    if (!found) continue;
    const bound = /__launch_bounds__\s*\(\s*(\d+)/.exec(head);
    const isTemplate = new RegExp(`template\\s*<[^{};]*>\\s*(?:extern[^{};]*|static\\s*)?__global__[^{};]*\\b${found[1]}\\s*\\(`).test(code);
    return { name: found[1], parameters: split(found[2]).map(parameter), bound: bound ? Number(bound[1]) : undefined, isTemplate, body: part };
  }
  return undefined;
}

// The texts between the commas of a list.
function split(list) {
  const parts = [""];
  let depth = 0;
  for (const character of list) {
    if ("(<[".includes(character)) depth += 1;
    if (")>]".includes(character)) depth -= 1;
    if (character === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "" && part !== "void");
}

function parameter(text) {
  const declared = text.split("=")[0].trim();
  const [, before, name, array] = /^([\s\S]*?)(\w+)\s*((?:\[[^\]]*\])*)$/.exec(declared) ?? [undefined, declared, declared, ""];
  const isPointer = before.includes("*") || array !== "";
  const type = before.replace(QUALIFIERS, " ").replaceAll("*", " ").replace(/\s+/g, " ").trim();
  return { name, type, isPointer, isConst: /\bconst\b/.test(before), dtype: DTYPES[type] };
}

// The launch in TOML, as `hipward run --args` reads it.
export function suggestLaunch(source) {
  const kernel = findKernel(source);
  if (!kernel) return "";
  const { parameters, body } = kernel;
  const isInteger = ({ isPointer, dtype }) => !isPointer && /^u?int/.test(dtype ?? "");
  const sizes = parameters.filter(isInteger).length;
  const side = sizes > 1 ? Math.sqrt(ELEMENTS) : ELEMENTS;
  const isFlat = !/threadIdx\s*\.\s*y/.test(body);
  const block = kernel.bound ?? (isFlat ? 256 : 16);
  const oneRowEach = isFlat && !/blockIdx\s*\.\s*x\s*\*/.test(body) && !/\*\s*blockIdx\s*\.\s*x/.test(body) && /blockIdx/.test(body);
  const groups = oneRowEach ? Math.sqrt(ELEMENTS) : Math.ceil(ELEMENTS / block);
  const tiles = Math.ceil(Math.sqrt(ELEMENTS) / 16);
  const lines = ["# A start from the kernel's signature. Correct the sizes as your host code sets them."];
  if (kernel.isTemplate) lines.push("# A template has machine code only if the source instantiates it: template __global__ void …");
  lines.push(`kernel = "${kernel.name}"`);
  lines.push(isFlat ? `grid = ${groups}` : `grid = [${tiles}, ${tiles}]`, isFlat ? `block = ${block}` : "block = [16, 16]");
  if (/extern\s+__shared__/.test(body)) lines.push("lds = 4096");
  const hasConst = parameters.some(({ isPointer, isConst }) => isPointer && isConst);
  for (const given of parameters) lines.push("", "[[argument]]", `name = "${given.name}"`, ...argument(given, side, hasConst));
  return `${lines.join("\n")}\n`;
}

function argument({ type, isPointer, isConst, dtype }, side, hasConst) {
  const unknown = dtype ? "" : `  # a guess for ${type || "an unnamed type"}`;
  if (!isPointer) {
    if (dtype === undefined) return [`bytes = "00000000"${unknown}: its bytes in hexadecimal`];
    const value = dtype.includes("float") ? "1.0" : dtype === "bool" ? "true" : String(dtype.endsWith("8") ? 1 : side);
    return [`dtype = "${dtype}"`, `value = ${value}`];
  }
  const known = dtype ?? "float32";
  const lines = [`dtype = "${known}"${unknown}`, `shape = [${ELEMENTS}]`];
  // What the kernel cannot write is an input.
  if (hasConst && !isConst) lines.push('data = "zeros"');
  else if (known.includes("int")) lines.push("low = 0", "high = 100");
  return lines;
}

// A Python file with the function that `hipward run --check` calls.
export function suggestReference(source) {
  const kernel = findKernel(source);
  const names = kernel?.parameters.map(({ name }) => name) ?? [];
  const written = kernel?.parameters.filter(({ isPointer, isConst }) => isPointer && !isConst).map(({ name }) => name) ?? [];
  const returned = written.map((name) => `"${name}": ${name}`).join(", ");
  return `import numpy as np


def reference(${names.join(", ")}):
    # Return what the kernel must write, computed from the arguments as they were before the launch.
    return {${returned}}
`;
}
