// The emulator's worker. Its first message has the addresses of the module; every later one is a call {id, method, request},
// answered in order with {id, answer} or {id, error}.

let loading;

self.addEventListener("message", async ({ data }) => {
  if (data.script) {
    loading = load(data);
    return;
  }
  const { id, method, request } = data;
  let module;
  try {
    module = await loading;
  } catch {
    self.postMessage({ id, error: "The emulator did not load. Check the connection and try again.", broken: true });
    return;
  }
  try {
    self.postMessage({ id, answer: module.call(method, request) });
  } catch (error) {
    // A refused request is an Error of the module. Anything else (a trap) leaves the module in an unknown state.
    const broken = error instanceof WebAssembly.RuntimeError;
    self.postMessage({ id, error: broken ? "The emulator stopped on this kernel." : error.message, broken });
  }
});

async function load({ script, wasm }) {
  const module = await import(script);
  await module.default({ module_or_path: wasm });
  return module;
}
