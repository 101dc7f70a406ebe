// What training costs: what must be kept for each parameter, the way forward and back, and many accelerators.
"use strict";
(() => {
  const count = (n) => `${n.toLocaleString("en")} GPUs`;

  // kept draws the memory of a GPU, for each number of GPUs.
  const keptRows = (look) => look.of.handles.few.stops.map((n) => {
    const l = look.with("few", n);
    return { name: count(n), on: n === look.h.few, parts: [["weights", l.value("weights"), "weights"], ["gradients", l.value("gradients"), "prompt"], ["optimizer", l.value("optimizer"), "arithmetic"], ["activations and others", l.value("others"), "soft"]] };
  });
  const kept = Object.assign((canvas, look) => {
    const rows = keptRows(look);
    return rows.some((r) => r.parts.some(([, v]) => !Number.isFinite(v))) ? undefined : { rows: bars(canvas, "Memory of each GPU", rows, "B") };
  }, { asks: keptRows });

  // timed draws the time of a step by its parts, of the large model or of the small one.
  const timedOf = (handle, run, rest) => stepBars(handle, "The time of a step", [["forward", `1000 * ${run}step.forward`, "weights"], ["backward", `1000 * ${run}step.backward`, "prompt"], ["waiting and talking", `1000 * ${rest}`, "soft"]]);
  const timed = timedOf("many", "large.", "lost"), small = timedOf("few", "", "(step_s - step.forward - step.backward)");

  chapter({
    id: "training", number: 16, title: "What does training cost?", ideas: "memory, parallel training, days and dollars", short: "Training", draw: kept,
    question: "All chapters before asked what a finished model costs to use. This one asks what it cost to make.",
    picture: "Bars: the memory of each GPU or the time of a step, by part, for some numbers of GPUs",
    handles: {
      few: { label: "GPUs for Llama 3 8B", stops: [8, 16, 32, 64], at: 8, show: count },
      many: { label: "GPUs for Llama 3.1 405B", stops: [1024, 4096, 8192, 16384], at: 8192, show: count },
    },
    runs: (h) => ({ here: ledger.result(["train", "model=llama-3-8b", "hardware=h100-sxm", `gpus=${h.few}`, "zero=3", "tokens=15T"]),
      large: ledger.result(["train", "model=llama-3.1-405b", "hardware=h100-sxm", `gpus=${h.many}`, "global-batch=2048", "seq=8192", "tokens=15.6T"]), chip: ledger.step(["model=llama-3.1-8b", "hardware=h100-sxm"], { decodes: 1, context: 512 }) }),
    figures: {
      weights: "memory.lines.0.bytes", gradients: "memory.lines.1.bytes", optimizer: "memory.lines.2.bytes + memory.lines.3.bytes + memory.lines.4.bytes", states: "weights + gradients + optimizer",
      others: "memory.lines.5.bytes + memory.lines.6.bytes + memory.lines.7.bytes + memory.lines.8.bytes", each: "2 * states / weights",
      lost: "large.step_s - large.step.forward - large.step.backward", work: "large.flops_per_token", best: "work * 15.6e12 / (many * chip.peak) / 86400",
    },
    steps: [
      { title: "What must be kept", set: { few: 8 },
        lead: "To use a model, a parameter takes 2 bytes. To teach it, it takes {=each n}.",
        text: ["Llama 3 8B on {few}. Each GPU has a part of the weights, {=weights B weights}. It also has the gradients, {=gradients B prompt}: for each parameter, in which direction to change it.",
          "And it has what the optimizer remembers, {=optimizer B arithmetic}: the weights in 32 bits, a mean of the gradients, and a mean of their squares, 4 bytes each."],
        board: [["2 + 4 + 4 + 4 + 4 = {=each n big} bytes", "weight, gradient, weight in 32 bits, two means"]] },
      { title: "Share it", set: { few: 8 },
        lead: "{few} share all of that, so each keeps {=states B}. But activations and others, {=others B}, do not shrink with more GPUs.",
        text: ["To share weights, gradients and the optimizer's memory is called ZeRO, or fully sharded data parallelism. A layer's weights are gathered from all others shortly before they are needed.",
          "Activations are what the layers computed on the way forward, which the way back needs. They are as many as the tokens that a GPU computes at once, whoever else there is."],
        board: [["{=states * few B} / {=few n} = {=states B big}", "on each GPU, without activations"]] },
      { title: "Forward and back", set: { few: 8 }, draw: small,
        lead: "The way forward takes {=1000 * step.forward ms weights} of a step, the way back {=1000 * step.backward ms prompt}: {=step.backward / step.forward ×} as long.",
        text: ["Forward, the model predicts the next token at {=global_batch * seq n} places. Backward, it finds for each parameter how to predict better. Each product has two on the way back: one for its input, one for its weights.",
          "So a token costs 2 + 4 = 6 FLOP for each parameter: {=six_n FLOP arithmetic}. With attention, which has no parameters, and without the table of embeddings, it is {=flops_per_token FLOP}: here the two nearly make up for each other."],
        board: [["{over: {=flops_per_token FLOP} | {=six_n FLOP}} = {=flops_per_token / six_n x big}", "what a token costs, over 6 FLOP for a parameter"]] },
      { title: "Months, and a building", set: { many: 8192 }, draw: timed,
        lead: "Llama 3.1 405B learned from 15.6 trillion tokens. On {many} that takes {=large.days n} days, and {=large.dollars / 1000000 n} million dollars at {=large.dollars / large.days / 24 / many $} an hour for each.",
        text: ["A token costs {=work FLOP arithmetic}. If every H100 did its {=chip.peak FLOP/s} all the time, it would take {=best n} days.",
          "They reach {=large.mfu %} of that in a step: the share of the peak that goes into the model (MFU). Of a step of {=1000 * large.step_s ms}, {=1000 * lost ms} are waiting and talking. And something breaks now and then: {=1 - large.failures.goodput %} of the time is lost to failures and saved states."],
        board: [["{over: {=work FLOP arithmetic} × 15,600,000,000,000 | {=many n} × {=chip.peak FLOP/s}} = {=best n big} days", "at the peak, without a pause"]] },
      { title: "Sixteen times the GPUs", set: { many: 16384 }, draw: timed,
        lead: "From 1,024 GPUs to 16,384, a step is {=at(many, 1024, large.step_s) / at(many, 16384, large.step_s) x} times as fast, not 16.",
        text: ["The batch stays the same, so each GPU has less to compute, while waiting for stages of the pipeline and adding up gradients shrink less. With {many}, {=lost / large.step_s %} of a step is waiting and talking{if many = 1024: .; else: , with 1,024 it is {=at(many, 1024, lost / large.step_s) %}.}",
          "It costs more in all: {=at(many, 16384, large.dollars) / 1000000 n} million dollars in place of {=at(many, 1024, large.dollars) / 1000000 n}. It is over in {=at(many, 16384, large.days) n} days in place of {=at(many, 1024, large.days) n}."],
        board: [["{over: {=at(many, 1024, large.step_s) x} s | {=at(many, 16384, large.step_s) x} s} = {=at(many, 1024, large.step_s) / at(many, 16384, large.step_s) x big}", "times as fast with sixteen times the GPUs"]] },
    ],
    ask: {
      at: { many: 1024 }, draw: timed,
      text: "On 1,024 H100, Llama 3.1 405B would take {=large.days n} days. It should be done within half a year, for the least money. What do you take?", best: { where: "large.days <= 182", least: "large.dollars" },
      shows: "{=large.days n} days, {=large.dollars / 1000000 n} million dollars",
      answers: [
        { say: "4,096 GPUs", set: { many: 4096 }, reply: "{=large.days n} days. It tempts as cheaper than 8,192: {=large.dollars / 1000000 n} million dollars. But it is {if large.days > 182: longer than half a year; else: within half a year}." },
        { say: "8,192 GPUs", set: { many: 8192 }, right: true, reply: "Right: {=large.days n} days for {=large.dollars / 1000000 n} million dollars." },
        { say: "16,384 GPUs", set: { many: 16384 }, reply: "{=large.days n} days, which is soon enough, for {=large.dollars / 1000000 n} million dollars. For who has half a year, that is paid in vain: more of a step, {=lost / large.step_s %}, is waiting and talking." },
        { say: "Stay with 1,024", set: { many: 1024 }, reply: "{=large.days n} days. It tempts, as the least is lost: {=large.dollars / 1000000 n} million dollars. But it is not done in half a year." },
      ],
    },
    check: {
      at: { few: 8 },
      text: "A model has 8 billion parameters. Each needs {=each n} bytes to be taught, without activations. 64 GPUs share them. How many gigabytes does each keep?",
      formula: "8 * each / 64", unit: "x", says: "GB", within: 0.02, right: "Right: 8 × {=each n} / 64 = {=8 * each / 64 x} GB.",
      wrong: "Multiply the parameters by the bytes, and divide by the GPUs.",
      near: [["8 * 2 / 64", "That is for the weights alone, as to use the model."], ["8 * each", "That is all of it; 64 share it."]],
    },
    measured: {
      draw: timed,
      text: "The authors of Llama 3 report 43 % of the peak on 8,192 H100, and 41 % on 16,384. Simulated with as many sequences of 8,192 tokens: {=at(many, 8192, large.mfu) %} and {=at(many, 16384, large.mfu) %}.",
      source: "The Llama 3 Herd of Models (2024), table 4", url: "https://arxiv.org/abs/2407.21783",
    },
    paper: { title: "Rajbhandari and others, ZeRO (2019)", url: "https://arxiv.org/abs/1910.02054" },
    command: (h) => `llmsim train llama-3-8b h100-sxm --gpus ${h.few} --zero 3 --tokens 15T\nllmsim train llama-3.1-405b h100-sxm --gpus ${h.many} --global-batch 2048 --seq 8192 --tokens 15.6T`,
  });
})();
