// FlashAttention: the scores of attention as bytes of their own, on a GPU with much arithmetic and on one with little.
"use strict";
(() => {
  const lengths = [128, 256, 512, 1024, 2048, 4096, 6000, 8192, 16384, 32768];
  const names = { "h100-sxm": "H100", h20: "H20" };
  const ways = { naive: "scores in memory", flash: "FlashAttention" };
  const moves = (s) => [["weights", s.bytes.weights, "weights"], ["activations", s.bytes.activations, "soft"], ["keys and values", s.bytes.kv_read + s.bytes.kv_write, "kv"], ["scores", s.bytes.scores, "alarm"]];
  const times = (s) => [["weights", s.parts.weights, "weights"], ["activations", s.parts.activations, "soft"], ["keys and values", s.parts.kv, "kv"], ["scores", s.parts.scores, "alarm"],
    ["arithmetic", s.parts.arithmetic, "arithmetic"], ["fixed", s.parts.fixed + s.parts.host + s.parts.exchange + s.parts.rest, "ink"]];

  // pipes draws what a step moves through the pipe of one GPU, with scores in memory and without.
  function pipes(canvas, look) {
    const runs = ["naive", "flash"].map((w) => [w, look.get(w)]);
    if (runs.some(([, s]) => !s || s.error)) return undefined;
    const rows = runs.map(([w, step]) => ({ name: `${names[look.h.gpu]}, ${ways[w]}`, parts: moves(step), on: w === look.h.kernel }));
    return { bytes: bars(canvas, `Through the pipe: ${look.h.length.toLocaleString("en")} tokens`, rows, "B") };
  }

  // clocks draws how long the step takes on both GPUs, by what it waits for.
  function clocks(canvas, look) {
    const runs = ["h100naive", "h100flash", "h20naive", "h20flash"].map((n) => [n, look.get(n)]);
    if (runs.some(([, s]) => !s || s.error)) return undefined;
    const rows = runs.map(([n, step]) => {
      const gpu = n.startsWith("h100") ? "h100-sxm" : "h20", way = n.endsWith("naive") ? "naive" : "flash";
      return { name: `${names[gpu]}, ${ways[way]}`, parts: times(step), on: gpu === look.h.gpu && way === look.h.kernel };
    });
    return { times: bars(canvas, `Time by what is waited for: ${look.h.length.toLocaleString("en")} tokens`, rows, "ms") };
  }

  chapter({
    id: "flash", number: 9, title: "FlashAttention on two GPUs", ideas: "FlashAttention, scores", short: "Flash", picture: "Bars to scale: what a step moves or waits for, with scores in memory and with FlashAttention",
    question: "Attention compares all tokens of a prompt with each other. Where do the results of those comparisons live meanwhile?",
    handles: {
      length: { label: "Length of the prompt", stops: lengths, at: 6000, tone: "prompt", show: (n) => `a prompt of ${n.toLocaleString("en")} tokens` },
      kernel: { label: "Attention", stops: ["naive", "flash"], at: "naive", show: (k) => ways[k] },
      gpu: { label: "GPU", stops: ["h100-sxm", "h20"], at: "h100-sxm", tone: "arithmetic", show: (g) => names[g] },
    },
    runs(h) {
      const on = (gpu, kernel) => ledger.step(["model=llama-3.1-8b", `hardware=${gpu}`, `attention=${kernel}`], { prompts: [h.length] });
      return { here: on(h.gpu, h.kernel), naive: on(h.gpu, "naive"), flash: on(h.gpu, "flash"),
        h100naive: on("h100-sxm", "naive"), h100flash: on("h100-sxm", "flash"), h20naive: on("h20", "naive"), h20flash: on("h20", "flash") };
    },
    figures: {
      pairs: "length * length", heads: "32", table: "pairs * heads * 2", all: "table * 4 * layers", other: "naive.bytes.weights + naive.bytes.activations + naive.bytes.kv_read + naive.bytes.kv_write",
      saved: "naive.ms - flash.ms", gain: "naive.ms / flash.ms", gain100: "h100naive.ms / h100flash.ms", gain20: "h20naive.ms / h20flash.ms",
      rate: "bandwidth / 1000", moved: "bytes.weights + bytes.activations + bytes.kv_read + bytes.kv_write + bytes.scores", use: "(flop.matmul + flop.attention + flop.other) / ms * 1000 / peak",
    },
    draw: pipes,
    steps: [
      { title: "A score for every pair", set: { length: 6000, kernel: "naive", gpu: "h100-sxm" },
        lead: "In {length}, each token is compared with each: {=pairs n} scores, in one head of one layer.",
        text: ["A score says how much one token heeds another: the product of its query with the other's key. Llama 3.1 8B has {=heads n} heads with scores of their own, so the tables of one layer take {=table B alarm}, at two bytes for each score.",
          "Drag the length. Twice as many tokens are four times as many scores; weights, {=bytes.weights B weights}, stay as they are."],
        board: [["{=length n} × {=length n} × {=heads n} heads × 2 bytes = {=table B big}", "of scores in one layer"]],
        notes: "Let the class compute the table for 6,000 tokens before you show it." },
      { title: "As in the textbook", set: { length: 6000, kernel: "naive", gpu: "h100-sxm" },
        lead: "The textbook writes those tables to memory and reads them again: {=naive.bytes.scores B alarm} in all {=layers n} layers.",
        text: ["Four times through the pipe: scores are written, read for the softmax, written as shares, and read to weigh the values. {if naive.bytes.scores > other: That is {=naive.bytes.scores / other ×} as much as all the rest: weights, keys, values and activations together.; else: All the rest, weights, keys, values and activations, is {=other B}, still more than that.}",
          "The space that the tables need is not counted here: the simulator charges their way through the pipe alone."],
        board: [["4 × {=layers n} layers × {=table B} = {=all B big}", "of scores through the pipe"]] },
      { title: "Keep them on the chip", set: { length: 6000, kernel: "flash", gpu: "h100-sxm" },
        lead: "FlashAttention computes a small square of scores at a time, uses it, and forgets it: {=flash.bytes.scores B} go through the pipe.",
        text: ["A running maximum and a running sum make the softmax exact, square by square, so the answer is the same. With {kernel}, the step moves {=moved B}{if kernel = 'flash': , where scores in memory make it {=naive.bytes.scores + other B}; else: , of which {=bytes.scores B alarm} are scores}.",
          "It also skips squares that the mask hides: a token heeds only those before it. So attention takes {=flash.flop.attention FLOP}, where the textbook computes {=naive.flop.attention FLOP}."],
        board: [["{=naive.bytes.scores + other B} − {=naive.bytes.scores B alarm} = {=other B big}", "through the pipe with FlashAttention"]] },
      { title: "What that saves", draw: clocks, set: { length: 6000, kernel: "flash", gpu: "h100-sxm" },
        lead: "On {gpu}, {length} takes {=naive.ms ms} with scores in memory, and {=flash.ms ms} with FlashAttention.",
        text: ["{if gain > 1.5: That is {=gain ×} as fast, and nothing was approximated.; elif gain > 1.1: That is {=gain ×} as fast: a part of the step, not most of it.; else: That is little: {=saved ms} of this step.} {if rises(gain, length): The longer the prompt, the more it saves, since scores grow with its square, and the other bytes at most with its length.}",
          "{if flash.bound = 'compute': With FlashAttention, arithmetic sets the pace here; else: Even with FlashAttention, arithmetic does not set the pace here}{if naive.bound = 'memory': ; with scores in memory, memory does.; elif naive.bound = 'compute': ; with scores in memory, it does too.; else: .}"],
        board: [["{=naive.ms ms} − {=flash.ms ms} = {=saved ms big}", "saved of one prompt"]] },
      { title: "On another GPU", draw: clocks, set: { length: 6000, kernel: "flash", gpu: "h20" },
        lead: "An H20 has {=h20flash.peak / h100flash.peak % arithmetic} of the arithmetic of an H100, and {=h20flash.bandwidth / h100flash.bandwidth ×} its bandwidth. FlashAttention makes it {=gain20 ×} as fast, the H100 {=gain100 ×}.",
        text: ["{if gain100 > 1.05 * gain20: The same bytes are saved on both. They count for more where arithmetic waits for memory: on the H100. The H20 is busy with sums most of the time anyhow.; else: With {length}, there is little to save on either.}",
          "Look at the parts of the bars: scores take {=h100naive.parts.scores ms alarm} on the H100 and {=h20naive.parts.scores ms alarm} on the H20; arithmetic takes {=h100naive.parts.arithmetic ms arithmetic} and {=h20naive.parts.arithmetic ms arithmetic}."],
        board: [["H100: {=h100flash.peak FLOP/s} / {=h100flash.bandwidth B/s} = {=h100flash.peak / h100flash.bandwidth n big} FLOP for each byte", "balance them"], ["H20: {=h20flash.peak FLOP/s} / {=h20flash.bandwidth B/s} = {=h20flash.peak / h20flash.bandwidth n big}", "FLOP for each byte"]] },
    ],
    ask: {
      at: { length: 6000, kernel: "naive", gpu: "h20" }, draw: clocks,
      text: "An H20 takes {=ms ms} for a prompt of 6,000 tokens with scores in memory. Which change saves the most time?", best: { least: "ms" },
      shows: "{=ms ms}, {=bytes.scores B} of scores",
      answers: [
        { say: "FlashAttention on the H20", set: { kernel: "flash" }, reply: "{=ms ms}: {=before(ms) / ms ×} as fast. It tempts, since {=before(bytes.scores) B} of bytes vanish. But the H20 waits for arithmetic more than for memory, and {=parts.arithmetic ms} of sums remain." },
        { say: "An H100, scores in memory", set: { gpu: "h100-sxm" }, right: true, reply: "Right: {=ms ms}, {=before(ms) / ms ×} as fast, although its pipe is narrower: scores take {=parts.scores ms} here, and took {=before(parts.scores) ms}. The sums were what the H20 waited for. (With FlashAttention too, it would be {=flash.ms ms}.)" },
        { say: "A prompt of 4,096 tokens", set: { length: 4096 }, reply: "{=ms ms}: {=before(ms) / ms ×} as fast. The scores fall by more than the tokens, to {=bytes.scores B} from {=before(bytes.scores) B}, so it tempts; but most of the H20's time is for products with weights, and these only fall as the tokens do." },
        { say: "FlashAttention and 4,096 tokens", set: { kernel: "flash", length: 4096 }, reply: "{=ms ms}: {=before(ms) / ms ×} as fast, with two changes. Together they still save less than arithmetic does, which an H100 has {=h100flash.peak / h20flash.peak ×} as much of." },
      ],
    },
    check: {
      at: { length: 8192, kernel: "naive", gpu: "h100-sxm" },
      text: "Take {length} in a model with {=heads n} heads: how many gigabytes do the scores of one layer take, at two bytes each, before any are masked?",
      formula: "table / 1e9", unit: "x", says: "GB", within: 0.02, right: "Right: {=length n} × {=length n} × {=heads n} × 2 bytes = {=table B}.",
      wrong: "Multiply: tokens × tokens × heads × 2 bytes, in units of 10⁹ bytes.",
      near: [["table / 32 / 1e9", "That is one head; there are 32."], ["table / 2 / 1e9", "That is one byte for each score, or half of the pairs; here are two bytes, and all pairs."], ["all / 1e9", "That is all layers, four times through the pipe; the question is for one layer's tables."], ["length * heads * 2 / 1e9", "That has one score for each token: each token has one for every token."]],
    },
    measured: {
      text: "A kernel that keeps scores on the chip, measured on an H100, took 0.318 ms for the attention of one layer: 4,096 tokens, 32 heads, keys and values of 8. Scores in memory would take {=at(length, 4096, 4 * table / h100naive.bandwidth * 1000) ms} for their way through the pipe alone, were it always full.",
      source: "ai-dynamo/aiconfigurator, kernels under vLLM 0.14, as in h100_sxm__context_attention.csv", url: "https://github.com/ai-dynamo/aiconfigurator",
    },
    paper: { title: "Dao and others, FlashAttention (2022)", url: "https://arxiv.org/abs/2205.14135" },
    command: (h) => `llmsim roofline llama-3.1-8b ${h.gpu} --prompt ${h.length} --set attention=${h.kernel}`,
  });
})();
