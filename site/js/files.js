// Reads a file a person chose or dropped, or says in a sentence why not.

// The same as TEXT_LIMIT in src/playground/update.rs.
export const textLimit = 2 << 20;

export function tooLarge(what, size) {
  const megabytes = (size / (1 << 20)).toFixed(1);
  return `${what} has ${megabytes} MB; the playground reads up to 2 MB. Paste one module at a time, or run hipward check on the folder.`;
}

export async function readFile(file) {
  if (file.size > textLimit) throw new Error(tooLarge(file.name, file.size));
  const bytes = await file.arrayBuffer();
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // Falls through: not UTF-8.
  }
  throw new Error(`${file.name} is not a text file in UTF-8.`);
}
