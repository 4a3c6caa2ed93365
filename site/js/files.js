// Reads a file that was chosen or dropped, or reports why it cannot be read.

// The same as TEXT_LIMIT in src/playground/session/mod.rs.
export const textLimit = 2 << 20;

export function tooLarge(what, size) {
  const megabytes = (size / (1 << 20)).toFixed(1);
  return `${what} has ${megabytes} MB; the playground reads up to 2 MB. Paste one module at a time, or run hipward check on the folder.`;
}

// Resolves to the text; rejects with a sentence.
export async function readFile(file) {
  const { text, why } = await textOf({ read: async () => file });
  if (text !== undefined) return text;
  if (why === "large") throw new Error(tooLarge(file.name, file.size));
  throw new Error(
    why === "binary" ? `${file.name} is not a text file in UTF-8.` : `${file.name} could not be read.`,
  );
}

// The text of a file, or the reason why it is left out.
export async function textOf({ read }) {
  let file;
  try {
    file = await read();
    if (file.size > textLimit) return { why: "large" };
    // A byte order mark is part of the text: what is written back has it too.
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await file.arrayBuffer());
    return text.includes("\0") ? { why: "binary" } : { text };
  } catch (error) {
    // Only the decoder throws a TypeError; any other error is about access.
    return { why: error instanceof TypeError ? "binary" : "unreadable" };
  }
}

// Records a path that is left out in `skipped`.
export function skip(skipped, why, path) {
  if (!skipped.has(why)) skipped.set(why, []);
  skipped.get(why).push(path);
}
