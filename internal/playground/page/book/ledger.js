// The ledger: what the simulator answers, remembered by what was asked, and made into what the machine draws.
"use strict";
const ledger = (() => {
  const known = new Map(), wanted = new Map(), most = 3000;

  // step, result and frames say what is asked of the simulator: one step of a server (see playground.Step), the result
  // of a whole run, or the frames of a run between two moments, in milliseconds.
  const step = (settings, { prompts = [], decodes = 0, context = 0 } = {}) => ({ kind: "step", settings, prompts, decodes, context });
  const result = (settings) => ({ kind: "result", settings });
  const overview = (settings) => ({ kind: "overview", settings });
  const frames = (settings, until, from = 0) => ({ kind: "frames", settings, until, from });

  const asks = {
    step: (a) => simulator.step(a.settings, a.prompts, a.decodes, a.context),
    result: async (a) => (await simulator.result(a.settings)).figures,
    // The course of a run is answered with the state at the end of each second.
    overview: async (a) => {
      const o = await simulator.overview(a.settings, []);
      const second = Array.from({ length: Math.min(120, Math.floor(o.ends / 1000) + 1) }, (_, s) => o.points.findLast((p) => p.at <= 1000 * s) ?? { waiting: 0, running: 0, used: 0 });
      return { ...o, second };
    },
    frames: async (a) => {
      const list = [];
      await simulator.open(stage, a.settings, [], a.from);
      for (let more = true; more;) {
        const next = await simulator.next(stage, 200);
        list.push(...next);
        more = next.length === 200 && next.at(-1).to < a.until;
      }
      return { list };
    },
  };
  const stage = 2; // of the worker; free play has 0 and 1

  // get returns an answer that is known, and otherwise notes what is wanted. A refusal is {error}.
  function get(asked) {
    const key = JSON.stringify(asked);
    if (known.has(key)) return known.get(key);
    wanted.set(key, asked);
  }

  // settle asks for all that is wanted, one after the other, calls heard after each, and reports whether anything was.
  async function settle(heard) {
    const list = [...wanted];
    wanted.clear();
    for (const [key, asked] of list) {
      if (known.has(key)) continue;
      let answer;
      try { answer = await asks[asked.kind](asked); } catch (error) { answer = { error: error.message }; }
      if (known.size >= most) known.delete(known.keys().next().value);
      known.set(key, answer);
      heard?.();
    }
    return list.length > 0;
  }

  // knows takes up an answer that came with the page.
  const knows = (asked, answer) => known.set(JSON.stringify(asked), answer);

  const missing = () => wanted.size > 0;
  const forget = () => wanted.clear();

  // scene makes a step into what machine() draws. more adds or replaces fields.
  function scene(s, more = {}) {
    if (!s || s.error) return undefined;
    const { weights, kv_read: kv, kv_write: written, scores, activations } = s.bytes;
    const bytes = weights + kv + written + scores + activations;
    const flop = s.flop.matmul + s.flop.attention + s.flop.other;
    return {
      memory: { capacity: s.memory.capacity, weights: s.memory.weights, kv: s.memory.kv_used, reserved: s.memory.reserved },
      read: { weights, kv, other: written + scores + activations }, layers: s.layers, fits: s.fits,
      bandwidth: s.bandwidth, peak: s.peak, ms: s.ms, use: flop / (s.ms / 1000) / s.peak,
      flows: Math.min(1, bytes / s.bandwidth / (s.ms / 1000)), gpus: s.accelerators, ...more,
    };
  }

  return { step, result, overview, frames, knows, get, settle, missing, forget, scene };
})();
