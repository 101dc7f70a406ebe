// The simulator, beside the page: it answers one call after another. wasm_exec.js of the Go
// distribution and fzstd.js come before this text.
"use strict";
const ready = new Promise((resolve) => {
  addEventListener("message", async ({ data }) => {
    const go = new Go();
    const { instance } = await WebAssembly.instantiate(fzstd.decompress(new Uint8Array(data)), go.importObject);
    go.run(instance);
    resolve();
  }, { once: true });
});
addEventListener("message", async ({ data }) => {
  if (data instanceof ArrayBuffer) return;
  await ready;
  const began = performance.now();
  const ran = () => postMessage({ id: data.id, ran: true }); // for calls that take seconds
  const answer = globalThis.llmsim[data.call](...data.args, ran);
  postMessage({ id: data.id, took: performance.now() - began, ...answer });
});
