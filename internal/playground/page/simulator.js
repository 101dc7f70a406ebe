// The simulator as the page sees it: functions that promise what the worker answers.
"use strict";
const simulator = (() => {
  const text = (id) => document.getElementById(id).textContent;
  const waiting = new Map();
  let worker, begun, next = 0;
  const begins = new Promise((resolve) => { begun = resolve; });

  async function start() {
    const url = URL.createObjectURL(new Blob([text("worker")], { type: "text/javascript" }));
    worker = new Worker(url);
    worker.onmessage = ({ data }) => {
      const { resolve, reject, ran } = waiting.get(data.id);
      if (data.ran) return ran?.();
      waiting.delete(data.id);
      if ("error" in data) reject(new Error(data.error));
      else resolve({ text: data.ok, took: data.took });
    };
    worker.postMessage(text("wasm")); // decoded there, so that this thread goes on drawing
    begun();
  }

  function call(name, ...args) { return hear(undefined, name, ...args); }

  // hear calls, once the simulator was started, and calls ran after each simulation.
  async function hear(ran, name, ...args) {
    await begins;
    return new Promise((resolve, reject) => {
      waiting.set(++next, { resolve, reject, ran });
      worker.postMessage({ id: next, call: name, args });
    });
  }

  return {
    start,
    options: async () => JSON.parse((await call("options")).text),
    result: async (settings) => {
      const { text, took } = await call("result", settings);
      return { text, took, figures: JSON.parse(text) };
    },
    plan: async (settings, curves, ran) => JSON.parse((await hear(ran, "plan", settings, curves)).text),
    yaml: async (settings) => (await call("yaml", settings)).text,
    overview: async (settings, past) => JSON.parse((await call("overview", settings, past)).text),
    // step answers one step: prompts is an array of lengths, or of {new, cached, left}.
    step: async (settings, prompts, decodes, context) => JSON.parse((await call("step", settings,
      prompts.map((p) => typeof p === "number" ? { new: p } : p), decodes, context)).text),
    open: (number, settings, past, at) => call("open", number, settings, past, at),
    next: async (number, n) => JSON.parse((await call("next", number, n)).text) ?? [],
  };
})();
