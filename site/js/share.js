// Text to a short string for an address, and back: deflate, then base64url. It stays behind the
// address's #, so it never reaches a server.

// A small address can unpack to gigabytes. Shared code is smaller than this.
const limit = 4 << 20;

export async function pack(text) {
  const deflated = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(deflated).arrayBuffer());
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

export async function unpack(packed) {
  try {
    const binary = atob(packed.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (char) => char.charCodeAt(0));
    const inflated = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const decoder = new TextDecoder("utf-8", { fatal: true });
    let text = "";
    const reader = inflated.getReader();
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) {
      text += decoder.decode(chunk.value, { stream: true });
      if (text.length > limit) throw new Error("too long");
    }
    return text + decoder.decode();
  } catch {
    throw new Error("The share link is damaged or cut short; ask for it again.");
  }
}
