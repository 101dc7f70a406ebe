// Where to run a model: a processor for one reader, a GPU for many, and the number of readers at which their prices cross.
"use strict";
(() => {
  const crowd = [1, 2, 4, 8, 16, 32, 64, 128, 256];
  const processors = { "desktop-50gbs": "a desktop", "epyc-9654": "an EPYC 9654", "xeon-8480": "a Xeon 8480+" };
  const models = { "llama-3.2-1b": "Llama 3.2 1B", "llama-3.1-8b": "Llama 3.1 8B" };

  // bills draws what a million tokens cost for so many readers, on the processor and on the GPU, both axes over decades.
  function bills(canvas, look) {
    const pen = machine.pad(canvas), { of, em } = pen;
    const rows = crowd.map((n) => { const l = look.with("readers", n); return { n, slow: l.value("slowbill"), fast: l.value("fastbill") }; });
    if (rows.some((r) => !(r.slow > 0 && r.fast > 0))) return undefined;
    const all = rows.flatMap((r) => [r.slow, r.fast]), low = Math.log10(Math.min(...all)) - 0.25, high = Math.log10(Math.max(...all)) + 0.1;
    const box = { x: 4.6 * em, y: 2.2 * em, w: pen.width - 5.6 * em, h: pen.height - 5.2 * em };
    const x = (n) => box.x + Math.log2(n) / 8 * box.w, y = (v) => box.y + (high - Math.log10(v)) / (high - low) * box.h;
    const wide = box.w > 20 * em;
    pen.text(wide ? "Dollars for a million tokens: each line is ten times the one below" : "Dollars a million tokens (both axes logarithmic)", 0, em, { colour: of.ink, bold: true, size: wide ? 1 : 0.85 });
    for (let k = Math.ceil(low); k <= high; k++) {
      pen.path([[box.x, y(10 ** k)], [box.x + box.w, y(10 ** k)]], of.line, 1);
      pen.text(k < 0 ? `$${(10 ** k).toFixed(Math.max(2, -k))}` : `$${(10 ** k).toLocaleString("en")}`, box.x - 0.4 * em, y(10 ** k) + 0.35 * em, { size: 1, align: "right" });
    }
    for (const n of crowd.filter((_, i) => i % 2 === 0)) pen.text(String(n), x(n), box.y + box.h + 1.3 * em, { size: 1, align: "center" });
    pen.text(wide ? "readers of a step: each mark is four times the one before →" : "readers of a step →", box.x + box.w, box.y + box.h + 2.6 * em, { colour: of.ink, bold: true, size: 1, align: "right" });
    const line = (key, colour, dash) => { pen.c.setLineDash(dash); pen.path(rows.map((r) => [x(r.n), y(r[key])]), colour, 3.5); pen.c.setLineDash([]); };
    line("slow", of.kv, [9, 5]);
    line("fast", of.weights, []);
    const here = rows.find((r) => r.n === look.h.readers), ends = rows.at(-1), apart = ends.slow > ends.fast ? 1 : -1;
    // A name stands above the upper line or below the lower one, clear of it over its whole length.
    const named = (name, key, over, colour) => {
      const beside = rows.filter((r) => x(r.n) > x(256) - pen.wide(name, 1, true) - box.w / 8).map((r) => y(r[key]));
      pen.text(name, x(256), over ? Math.min(...beside) - 0.6 * em : Math.min(y(ends[key]) + 1.3 * em, box.y + box.h - 0.2 * em), { colour, bold: true, size: 1, align: "right", halo: true });
    };
    named(look.show("processor"), "slow", apart > 0, of.kv);
    named("an H100", "fast", apart < 0, of.weights);
    for (const [key, colour] of [["slow", of.kv], ["fast", of.weights]]) {
      pen.c.fillStyle = colour;
      pen.c.beginPath();
      pen.c.arc(x(here.n), y(here[key]), 0.5 * em, 0, 7);
      pen.c.fill();
    }
    return { rows, here };
  }

  const dollars = (x) => sentences.write(x, "$");
  chapter({
    id: "where", number: 13, title: "A CPU for one, a GPU for many", ideas: "dollars a million tokens, on a processor and on a GPU", short: "Where", picture: "Curves: dollars for a million tokens against readers, on a processor and on a GPU",
    question: "A desktop costs cents an hour, a GPU dollars. Which one writes the cheaper token?",
    handles: {
      model: { label: "Model", stops: Object.keys(models), at: "llama-3.1-8b", tone: "weights", grip: "weights", show: (m) => models[m] },
      processor: { label: "Processor", stops: Object.keys(processors), at: "desktop-50gbs", tone: "kv", show: (p) => processors[p] },
      readers: { label: "Readers", stops: crowd, at: 1, grip: "readers", show: (n) => n === 1 ? "1 reader" : `${n} readers` },
      keep: { label: "Price of the processor", stops: [0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4.28, 4.93], at: 0.05, tone: "kv", show: (p) => `${dollars(p)} an hour` },
      hire: { label: "Price of the GPU", stops: [0.5, 1, 1.5, 2, 2.99, 4, 6, 10], at: 2.99, tone: "weights", show: (p) => `${dollars(p)} an hour` },
    },
    runs(h) {
      const on = (hardware) => ledger.step([`model=${h.model}`, `hardware=${hardware}`], { decodes: h.readers, context: 512 });
      return { here: on(h.processor), gpu: on("h100-sxm") };
    },
    figures: {
      slowbill: "keep / 3600 * ms / 1000 / readers * 1e6", fastbill: "hire / 3600 * gpu.ms / 1000 / readers * 1e6",
      cheap: "slowbill <= fastbill", crossing: `min(${crowd.map((n) => `${n} + 1e9 * at(readers, ${n}, cheap)`).join(", ")})`,
      slowhour: "readers / ms * 3.6e6", fasthour: "readers / gpu.ms * 3.6e6", floor: "bytes.weights / bandwidth * 1000", times: "ms / gpu.ms",
    },
    scene: (look) => ledger.scene(look.get("here"), { readers: look.h.readers }),
    steps: [
      { title: "One reader, and a narrow pipe", set: { readers: 1, processor: "desktop-50gbs" },
        lead: "On {processor}, {if readers = 1: a token; else: a step of {=readers n} tokens} of {model} takes {=ms ms kv}. On an H100 it takes {=gpu.ms ms weights}.",
        text: ["The processor has no less to read: {=bytes.weights B weights}, through a pipe of {=bandwidth B/s}. So with weights of 16 bits, no program that makes one token a sweep gets one there in less than {=floor ms}. The H100 is {=times ×} as fast; its pipe is {=gpu.bandwidth / bandwidth ×} as wide.",
          "The simulator knows no measured constants for processors: it takes their bandwidth and arithmetic from data sheets, and the shares that kernels reach from other machines. Read these as orders of magnitude."],
        board: [["{over: {=bytes.weights B weights} | {=bandwidth B/s}} = {=floor ms big}", "at least, on the processor"]] },
      { title: "What a token costs", set: { readers: 1, processor: "desktop-50gbs" },
        lead: "At {keep}, a million tokens for {readers} cost {=slowbill $ kv} there. On an H100 at {hire}, they cost {=fastbill $ weights}.",
        text: ["{if cheap: The processor is slower, and cheaper still: its hour costs {=keep / hire %} of the GPU's, and it needs {=times ×} the time.; else: The processor's hour costs {=keep / hire %} of the GPU's, and it needs {=times ×} the time: the GPU's token is cheaper.}",
          "The bill is price times time: dollars an hour, by seconds a step, by the readers who share it. The prices are handles, since they change by the month."],
        board: [["{over: {=keep $} × {=ms / readers ms} | 3,600 s} × 1,000,000 = {=slowbill $ big}", "a million tokens, on the processor"]] },
      { title: "Many readers", set: { readers: 64, processor: "desktop-50gbs" }, scene: (look) => ledger.scene(look.get("gpu"), { readers: look.h.readers }),
        lead: "For {readers}, a step of the H100 takes {=gpu.ms ms weights}, and one of {processor} {=ms ms kv}.",
        text: ["Against one reader, the GPU's step takes {=gpu.ms / at(readers, 1, gpu.ms) ×} the time, and the processor's {=ms / at(readers, 1, ms) ×}. {if readers = 1: Drag the readers, and see which of the two minds.; elif ms / at(readers, 1, ms) > 1.1 * gpu.ms / at(readers, 1, gpu.ms): Sharing costs the processor more.; else: Both share the reading about as well.}",
          "{if binds(compute): On the processor, arithmetic sets the pace by now: {=peak FLOP/s arithmetic} at most, where the H100 has {=gpu.peak FLOP/s arithmetic}.; elif binds(memory): On the processor, memory still sets the pace.; else: }"],
        board: [["{over: {=gpu.ms ms} | {=readers n}} = {=gpu.ms / readers ms big}", "a token on the H100"], ["{over: {=ms ms} | {=readers n}} = {=ms / readers ms big}", "a token on the processor"]] },
      { title: "Where prices cross", set: { readers: 16, processor: "desktop-50gbs", keep: 0.05, hire: 2.99 }, draw: bills,
        lead: "{if crossing = 1: At these prices, the H100 is cheaper even for one reader.; elif crossing > 1000: At these prices, {processor} is cheaper for up to 256 readers.; else: From {=crossing n} readers on, the H100 writes the cheaper token.}",
        text: ["The processor is {processor} at {keep}, the H100 costs {hire}. For {readers}, a million tokens cost {=slowbill $ kv} and {=fastbill $ weights}.",
          "Both curves fall as readers share the weights. {if at(readers, 256, slowbill / fastbill) > 1.2 * at(readers, 1, slowbill / fastbill): The processor's flattens first, so many readers favour the GPU.; else: They fall about alike here, so the number of readers decides little, and the prices much.}"],
        board: [["{=slowbill $ kv} and {=fastbill $ weights}", "a million tokens for {readers}"]] },
      { title: "An hour is paid whole", set: { readers: 1, processor: "desktop-50gbs", keep: 0.05, hire: 2.99 }, draw: bills,
        lead: "For {readers}, {processor} writes {=slowhour n kv} tokens in an hour that is never idle, and an H100 {=fasthour n weights}.",
        text: ["The curves hold for machines that are busy all the time. Who needs fewer tokens than the processor writes in an hour pays one hour of either: {=keep $ kv} or {=hire $ weights}. {if keep < hire: Then the processor is cheaper, whatever a token costs at full use.; else: Then the GPU is cheaper too, and faster.}",
          "So the first question is not which machine is faster. It is how many read at once, and for how much of the hour."],
        board: [["{over: {=readers n} | {=ms ms}} = {=slowhour n big}", "tokens an hour at most, on the processor"]] },
    ],
    ask: {
      at: { model: "llama-3.1-8b", processor: "desktop-50gbs", readers: 64, keep: 0.05, hire: 2.99 },
      text: "64 readers of Llama 3.1 8B, and a desktop at {=keep $} an hour: {=slowbill $} for a million tokens, where an H100 at {=hire $} takes {=fastbill $}. What makes the processor's token cheapest?", best: { least: "slowbill" },
      shows: "{=slowbill $} on the processor, {=fastbill $} on the H100",
      answers: [
        { say: "A server's processor, at its price", set: { processor: "xeon-8480", keep: 4.28 }, reply: "{=slowbill $}: {=before(ms) / ms ×} as fast, for an hour that costs {=keep / before(keep) ×} as much. It tempts, since it has AMX and a pipe that is {=bandwidth / before(bandwidth) ×} as wide; but it is rented at a cloud's price, where the desktop's is its purchase over three years." },
        { say: "256 readers on the desktop", set: { readers: 256 }, reply: "{=slowbill $}, from {=before(slowbill) $}: next to nothing is gained. {if binds(compute): Arithmetic sets the pace, so four times the readers take {=ms / before(ms) ×} the time.; else: The step takes {=ms / before(ms) ×} the time.} The GPU goes on gaining: {=fastbill $}." },
        { say: "The 1B model", set: { model: "llama-3.2-1b" }, right: true, reply: "Right: {=slowbill $}, from {=before(slowbill) $}: both the weights and the sums shrink, and a step takes {=ms ms} in place of {=before(ms) ms}. But it is another model, and the H100 gains as well: {=fastbill $}." },
        { say: "8 readers on the desktop", set: { readers: 8 }, reply: "{=slowbill $}, {=slowbill / before(slowbill) ×} as much: fewer share the weights. It tempts, since here the desktop is on a par with the H100, which takes {=fastbill $} for so few. Cheaper than its rival is not cheapest." },
      ],
    },
    check: {
      at: { model: "llama-3.1-8b", processor: "desktop-50gbs", readers: 1, keep: 0.05 },
      text: "{model} has {=bytes.weights B weights} to read for a token, and the pipe of {processor} delivers {=bandwidth B/s}. How many milliseconds does a token take at least?",
      formula: "floor", unit: "ms", within: 0.02, right: "Right: {=bytes.weights B} / {=bandwidth B/s} = {=floor ms}. The simulator says {=ms ms}.",
      wrong: "Divide the bytes by the bytes a second, and count milliseconds.",
      near: [["floor / 1000", "That is in seconds; the question is for milliseconds."], ["1000 / floor", "That is how many tokens come in a second: turn the fraction over."], ["memory.weights / bandwidth * 1000", "You count all {=memory.weights B}; of the tables of embeddings and positions, a token takes one row."]],
    },
    measured: {
      text: "A pipe of 273 GB/s with a GPU's arithmetic behind it: a DGX Spark (GB10) with gpt-oss-20b and prompts of 512 tokens wrote 81.1 tokens a second for one reader, and 615 for 32 together. So a narrow pipe can be shared as well, where arithmetic stands behind it.",
      source: "ggml-org/llama.cpp, benches/dgx-spark.md, as in llama_cpp_batched.csv", url: "https://github.com/ggml-org/llama.cpp/blob/4c7e9893/benches/dgx-spark.md",
    },
    paper: { title: "Pope and others, Efficiently Scaling Transformer Inference (2022)", url: "https://arxiv.org/abs/2211.05102" },
    command: (h) => `llmsim roofline ${h.model} ${h.processor} --batch ${h.readers} --context 512`,
  });
})();
