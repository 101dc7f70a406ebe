// What one token costs to compute: rows of numbers, attention with queries, keys and values, and why these are kept.
"use strict";
(() => {
  const models = { "llama-3.2-1b": "Llama 3.2 1B", "llama-3.1-8b": "Llama 3.1 8B", "qwen3-32b": "Qwen3 32B" };
  // A toy of two numbers for each query, key and value, made up so that "it" asks for what "cat" offers.
  const toy = [{ word: "The", query: [0.2, 0.4], key: [0.3, 0.1], value: [0.1, 0.2] }, { word: "cat", query: [0.5, 0.6], key: [1.9, 0.4], value: [2.0, 0.6] }, { word: "sat", query: [1.4, 0.3], key: [0.2, 1.5], value: [0.4, 1.6] },
    { word: "because", query: [0.1, 1.2], key: [0.4, 0.6], value: [0.3, 0.9] }, { word: "it", query: [1.6, 0.2], key: [0.7, 0.3], value: [0.8, 0.2] }, { word: "slept", query: [1.1, 0.5], key: [0.3, 1.7], value: [0.5, 1.9] }];

  // shares are how much the word i heeds each word up to itself: the softmax of its query times their keys.
  function shares(i) {
    const scores = toy.slice(0, i + 1).map(({ key }) => key[0] * toy[i].query[0] + key[1] * toy[i].query[1]), all = scores.reduce((a, s) => a + Math.exp(s), 0);
    return scores.map((score) => ({ score, share: Math.exp(score) / all }));
  }

  // heeds draws the words, the query of one, the keys and values of all before it, how much it heeds each, and what it receives.
  function heeds(canvas, look) {
    const pen = machine.pad(canvas), { of, em, c } = pen, i = toy.findIndex((t) => t.word === look.h.word), list = shares(i);
    const each = pen.width / toy.length, x = (k) => (k + 0.5) * each, size = each < 5 * em ? 0.85 : 1.1, top = pen.height * 0.34, row = (k) => top + 1.9 * em + k * Math.min(2.3 * em, (pen.height - top - 2.4 * em) / 9);
    list.forEach(({ share }, k) => {
      const peak = top - 2 * em - (i - k + 0.6) / toy.length * (top - 3 * em);
      c.strokeStyle = of.arithmetic;
      c.globalAlpha = 0.75;
      c.lineWidth = 1 + share * 2.2 * em;
      c.beginPath();
      c.moveTo(x(i), top - 1.2 * em);
      c.bezierCurveTo(x(i), peak, x(k), peak, x(k) + (k === i ? 0.1 : 0), top - 1.2 * em);
      c.stroke();
      c.globalAlpha = 1;
    });
    toy.forEach(({ word, key, query, value }, k) => {
      const seen = k <= i;
      pen.text(word, x(k), top, { colour: seen ? of.ink : of.soft, bold: k === i, size, align: "center" });
      if (!seen) return;
      for (const [numbers, at] of [[key, 1], [value, 7]]) {
        pen.box(x(k) - each * 0.45, row(at) - 1.1 * em, each * 0.9, 1.5 * em, of.kvfill, 0.25);
        pen.text(numbers.map((v) => v.toFixed(1)).join(" "), x(k), row(at), { colour: of.kv, size, align: "center" });
      }
      pen.text(list[k].score.toFixed(2), x(k), row(3), { colour: of.ink, size, align: "center" });
      pen.text(`${Math.round(100 * list[k].share)} %`, x(k), row(5), { colour: of.arithmetic, bold: true, size: size * 1.15, align: "center" });
      if (k !== i) return;
      const name = `query ${query.map((v) => v.toFixed(1)).join(" ")}`, half = pen.wide(name, 1, true) / 2;
      pen.text(name, Math.max(half, Math.min(x(k), pen.width - half)), em, { colour: of.weights, bold: true, size: 1, align: "center" });
    });
    const mean = [0, 1].map((n) => list.reduce((sum, { share }, k) => sum + share * toy[k].value[n], 0));
    pen.text(mean.map((v) => v.toFixed(1)).join(" "), x(i), row(9), { colour: of.ink, bold: true, size: size * 1.15, align: "center" });
    ["keys", "scores: query times key", "shares: what it heeds", "values", "mean of the values, by the shares"].forEach((label, k) => pen.text(label, 0, row(2 * k), { size }));
    return { word: look.h.word, list, mean };
  }

  // rows draws what a token is to the model: a row of numbers, here six shades, after each layer that it has passed.
  function rows(canvas, look) {
    const pen = machine.pad(canvas), { of, em } = pen, count = look.get("kept.layers"), i = toy.findIndex((t) => t.word === look.h.word);
    if (!count) return undefined;
    const each = (pen.width - 5 * em) / toy.length, low = pen.height - 2.2 * em, high = (low - 2.4 * em) / count, front = look.still ? count : look.at * 1.3 * count;
    const top = "to the chances of the next token", wide = pen.wide(top, 1, true);
    pen.text(top, Math.max(0, Math.min(pen.width - wide, 4.6 * em + (i + 0.5) * each - wide / 2)), 1.1 * em, { colour: of.ink, bold: true, size: 1 });
    toy.forEach(({ word }, k) => {
      const x = 4.6 * em + k * each, seen = k <= i;
      pen.text(word, x + each / 2, pen.height - 0.6 * em, { colour: seen ? of.ink : of.soft, bold: k === i, size: each < 4.4 * em ? 0.85 : 1, align: "center" });
      for (let layer = 0; seen && layer < count; layer++) for (let n = 0; n < 6; n++) {
        const shade = 0.5 + 0.5 * Math.sin(k * 7 + n * 2.3 + layer * (0.2 + 0.07 * n)), now = Math.floor(front) === layer;
        pen.box(x + each * (0.1 + n * 0.135), low - (layer + 1) * high, each * 0.12, Math.max(1, high * 0.8), now ? of.arithmetic : of.weights, layer > front ? 0.07 : now ? 1 : 0.15 + 0.8 * shade);
      }
    });
    for (const layer of [1, count]) pen.text(`layer ${layer}`, 0, low - (layer - 0.5) * high + 0.35 * em, { size: 1 });
    return { word: look.h.word, count };
  }

  // sums draws what the next token takes of each model, at this context.
  const modelsOf = (look) => Object.keys(models).map((m) => { const l = look.with("model", m); return { name: models[m], on: m === look.h.model, parts: [["products with weights", l.value("flop.matmul"), "weights"], ["attention", l.value("flop.attention"), "kv"]] }; });
  const sums = Object.assign((canvas, look) => {
    const list = modelsOf(look);
    return list.some((r) => r.parts.some(([, v]) => !Number.isFinite(v))) ? undefined : { sums: bars(canvas, "Sums for the next token", list, "FLOP") };
  }, { asks: modelsOf });

  // triangle draws an answer as it grows: each row is a token more; filled is computed in it, hatched is kept from before.
  function triangle(canvas, look) {
    const pen = machine.pad(canvas), { of, em } = pen, rows = 10, cell = Math.min((pen.height - 4.4 * em) / rows, pen.width / (rows + 1)), anew = look.h.keeping === "anew";
    pen.text(anew ? "Nothing kept: each token computes all again" : "Kept: each token computes only itself", 0, em, { colour: of.ink, bold: true, size: pen.width < 30 * em ? 0.8 : 1 });
    let computed = 0;
    for (let t = 0; t < rows; t++) for (let k = 0; k <= t; k++) {
      const x = k * cell, y = 1.8 * em + t * cell, now = anew || k === t;
      if (now) { computed++; pen.box(x + 1, y + 1, cell - 3, cell - 3, of.arithmetic); } else machine.hatched(pen, x + 1, y + 1, cell - 3, cell - 3, of.kvfill);
    }
    pen.text(`${computed} squares computed for ${rows} tokens`, 0, 1.8 * em + rows * cell + 1.4 * em, { colour: of.arithmetic, bold: true, size: 1 });
    return { anew, computed };
  }

  chapter({
    id: "token", number: 1, title: "What does one token cost?", ideas: "attention: queries, keys, values; why a KV cache", short: "Token", picture: "Words and their rows of numbers, or the sums that the next token takes", lasts: 8, draw: sums,
    question: "A model writes one token at a time. What does it compute for each, and what does it keep?",
    handles: {
      word: { label: "The word that asks", stops: toy.map((t) => t.word), at: "it", tone: "weights", show: (w) => `“${w}”` },
      model: { label: "Model", stops: Object.keys(models), at: "llama-3.1-8b", tone: "weights", show: (m) => models[m] },
      past: { label: "Tokens before it", stops: [3, 16, 64, 256, 1024, 4096, 8192], at: 1024, tone: "kv", show: (n) => `${n.toLocaleString("en")} tokens` },
      keeping: { label: "Keys and values", stops: ["kept", "anew"], at: "kept", tone: "kv", show: (m) => m === "kept" ? "kept" : "computed again" },
    },
    runs(h) {
      const server = [`model=${h.model}`, "hardware=h100-sxm"], kept = ledger.step(server, { decodes: 1, context: h.past }), anew = ledger.step(server, { prompts: [h.past + 1] });
      return { here: h.keeping === "kept" ? kept : anew, kept, anew };
    },
    figures: {
      sums: "flop.matmul + flop.attention + flop.other", keptsums: "kept.flop.matmul + kept.flop.attention + kept.flop.other", anewsums: "anew.flop.matmul + anew.flop.attention + anew.flop.other",
      numbers: "kept.memory.kv_token / layers / 4", all: "kept.memory.kv_token * past", parameters: "kept.bytes.weights / 2",
    },
    steps: [
      { title: "A token is a row of numbers", set: { model: "llama-3.1-8b", word: "it" }, draw: rows,
        lead: "Text is cut into tokens, and a table turns each into a row of numbers. {model} sends that row through {=layers n} layers.",
        text: ["A token is a word or a piece of one; here each word is one. Every layer adds to the row: first what it takes from other tokens (attention), then what it works out alone (products with weights).",
          "From the row that leaves the last layer, the model computes a chance for every token it knows, and one of them is drawn. That is the next token."],
        board: [["{=layers n big} layers", "one after the other, for each token"]] },
      { title: "Query, key, value", set: { model: "llama-3.1-8b", word: "it" }, draw: heeds,
        lead: "A layer makes three rows of each token's row: a query, which says what it looks for; a key, which says what it offers; and a value, which it passes on.",
        text: ["In the picture {word} asks. Its query meets the key of each word up to itself, and their product is a score. Queries, keys and values have two numbers there, made up for the picture; in {model}, keys have {=numbers n kv} in each layer, over all of its heads, and values as many.",
          "Words that come later are not asked: a model learns to write without them, and reads a prompt alike."],
        board: [["{=numbers n} + {=numbers n} = {=2 * numbers n big} numbers", "a key and a value, for a token in a layer"]] },
      { title: "Attention is a weighted mean", set: { model: "llama-3.1-8b", word: "it", past: 1024 }, draw: heeds,
        lead: "The scores become shares that sum to one, and {word} receives the mean of the values, weighted by its shares: the last row.",
        text: ["Change the word, and see whom it heeds. The shares are computed as you drag: each is e to the power of its score, divided by the sum of these.",
          "With {past} before it, a token of {model} has that many scores in each head of each layer, and its own: {=kept.flop.attention FLOP arithmetic} of attention for one token. Twice the tokens, about twice the sums."],
        board: [["{=kept.flop.attention FLOP big}", "of attention, for a token after {=past n}"]] },
      { title: "Most sums are products with weights", set: { model: "llama-3.1-8b", past: 1024, keeping: "kept" },
        lead: "Besides, each of the {=parameters billion weights} parameters that a token passes is used for one multiplication and one addition.",
        text: ["For {model} that is {=kept.flop.matmul FLOP}, {=kept.flop.matmul / keptsums %} of the sums of a token that comes after {past}. {if kept.flop.attention > 0.3 * kept.flop.matmul: So long a context makes attention a large part.; elif kept.flop.attention > 0.03 * kept.flop.matmul: Attention is a small part, and grows with the context.; else: Attention hardly counts for so short a context.}",
          "Every parameter has to come out of memory for that. How long this takes is the next chapter."],
        board: [["2 × {=parameters billion} = {=kept.flop.matmul FLOP big}", "of products with weights, for a token"]] },
      { title: "Why keys and values are kept", set: { model: "llama-3.1-8b", past: 1024, keeping: "anew" }, draw: triangle,
        lead: "A new token needs the keys and values of all before it. With these {keeping}, it costs {=sums FLOP arithmetic}.",
        text: ["They do not change any more, since no token heeds a later one. Kept, the next token after {past} costs {=keptsums FLOP}; computed again, {=anewsums FLOP}: {=anewsums / keptsums ×} as much, for the same token.",
          "That is the cache of keys and values, the KV cache. It exists to save sums, and is paid for in memory."],
        board: [["{over: {=anewsums FLOP} | {=keptsums FLOP}} = {=anewsums / keptsums × big}", "as many sums without the cache"]] },
      { title: "What keeping costs", set: { model: "llama-3.1-8b", past: 1024, keeping: "kept" }, draw: triangle,
        lead: "One token's keys and values take {=kept.memory.kv_token B kv}. Those of {past} take {=all B kv}.",
        text: ["Each has {=2 * numbers n} numbers of two bytes in each of {=layers n} layers of {model}. And each further token reads them all: {=kept.bytes.kv_read B kv} beside {=kept.bytes.weights B weights} of weights.",
          "Much of serving is about that memory: who gets it, when it is full, and what makes it smaller."],
        board: [["2 × {=numbers n} × {=layers n} × 2 bytes = {=kept.memory.kv_token B big}", "a token"]] },
    ],
    ask: {
      at: { model: "llama-3.1-8b", past: 1024, keeping: "kept", word: "it" },
      text: "After 1,024 tokens, the next token of Llama 3.1 8B takes {=sums FLOP}. Which change makes it take the most?", best: { most: "sums" },
      shows: "{=sums FLOP} for the next token",
      answers: [
        { say: "8,192 tokens before it", set: { past: 8192 }, reply: "{=sums FLOP}, {=sums / before(sums) ×} as many. It tempts, since eight times as many tokens are heeded: attention takes {=flop.attention FLOP}, from {=before(flop.attention) FLOP}. But products with weights, {=flop.matmul FLOP}, do not depend on the context." },
        { say: "A model of 32 billion parameters", set: { model: "qwen3-32b" }, reply: "{=sums FLOP}, {=sums / before(sums) ×} as many: the sums of a token grow with the parameters. That is much, and still less than forgetting." },
        { say: "Keys and values are not kept", set: { keeping: "anew" }, right: true, reply: "Right: {=sums FLOP}, {=sums / before(sums) ×} as many. All {=past n} tokens go through all layers again, to give the very keys and values that were there." },
        { say: "8,192 tokens and the 32B model", set: { model: "qwen3-32b", past: 8192 }, reply: "{=sums FLOP}, {=sums / before(sums) ×} as many. Two changes at once tempt, and each counts; but as long as keys and values are kept, only one token passes through the layers." },
      ],
    },
    check: {
      at: { model: "llama-3.1-8b", past: 1024, keeping: "kept" },
      text: "{model} keeps {=numbers n} numbers for keys and as many for values in each of {=layers n} layers, two bytes each. How many megabytes do {past} take?",
      formula: "all / 1e6", unit: "x", says: "MB", within: 0.06, right: "Right: 2 × {=numbers n} × {=layers n} × 2 bytes × {=past n} = {=all B}.",
      wrong: "Multiply: keys and values (2), numbers, layers, bytes for a number (2), tokens. A megabyte is 10⁶ bytes.",
      near: [["all / 2e6", "That counts keys or values alone, or one byte for a number: there are both, with two bytes."], ["all / layers / 1e6", "That is one layer; each layer keeps its own."], ["kept.memory.kv_token / 1e6", "That is one token; there are {=past n}."]],
    },
    measured: {
      text: "An RTX 3090 with Llama 3 8B in 16 bits reads a prompt of 1,024 tokens at 4,240 tokens a second: 242 ms. With keys and values kept, it writes 46.5 tokens a second: 21.5 ms each. Without them, a token after these 1,024 would cost what the prompt does, and each further one more.",
      source: "XiongjieDai/GPU-Benchmarks-on-LLM-Inference (llama.cpp, May 2024), as in llama_cpp_devices.csv", url: "https://github.com/XiongjieDai/GPU-Benchmarks-on-LLM-Inference",
    },
    paper: { title: "Vaswani and others, Attention Is All You Need (2017)", url: "https://arxiv.org/abs/1706.03762" },
    command: (h) => `llmsim roofline ${h.model} h100-sxm --batch 1 --context ${h.past}`,
  });
})();
