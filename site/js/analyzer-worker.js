// The analyzer's worker. Its first message says where the module is; every later one is a
// question {id, method, request}, answered in order with {id, answer} or {id, error}.

let analyzer;

self.addEventListener("message", async ({ data }) => {
  if (data.module) {
    analyzer = load(data);
    return;
  }
  const { id, method, request } = data;
  try {
    const answer = (await analyzer)[method](request);
    self.postMessage({ id, answer });
  } catch (error) {
    // A request that was refused is an Error of the module; anything else (a trap) leaves the
    // module in an unknown state.
    const broken = error instanceof WebAssembly.RuntimeError;
    self.postMessage({ id, error: broken ? "The analyzer stopped on this text." : error.message, broken });
  }
});

async function load({ module, wasm }) {
  const analyzer = await import(module);
  await analyzer.default({ module_or_path: wasm });
  self.postMessage({ ready: true });
  return analyzer;
}
