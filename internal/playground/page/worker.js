// The simulator, beside the page: it answers one call after another. wasm_exec.js of the Go
// distribution and fzstd.js come before this text.
"use strict";
const ready = new Promise((resolve) => {
  addEventListener("message", async ({ data }) => {
    const go = new Go(), text = atob(data.trim()), packed = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) packed[i] = text.charCodeAt(i);
    const { instance } = await WebAssembly.instantiate(fzstd.decompress(packed), go.importObject);
    go.run(instance);
    resolve();
  }, { once: true });
});
addEventListener("message", async ({ data }) => {
  if (typeof data === "string") return;
  await ready;
  const began = performance.now();
  const ran = () => postMessage({ id: data.id, ran: true }); // for calls that take seconds
  const answer = globalThis.llmsim(data.call, JSON.stringify(data.args), ran);
  postMessage({ id: data.id, took: performance.now() - began, ...JSON.parse(answer) });
});
