// The tour about training. Its runs are those of llmsim train, computed in the page.
"use strict";
const eight = ["model=llama-3-8b", "hardware=h100-sxm"];
const largest = ["model=llama-3.1-405b", "hardware=h100-sxm", "global-batch=2048", "tokens=15.6T"];
const states = (r) => r.memory.lines.slice(0, 5).reduce((sum, l) => sum + l.bytes, 0) / r.memory.lines[0].bytes;

const toursOfTraining = [
  { id: "training", name: "What training costs", stops: [
    { title: "What must be kept", bars: "memory", train: { run: [...eight, "gpus=8", "zero=3"] },
      text: "Llama-3-8B learns on eight H100, which share everything (ZeRO-3, Rajbhandari et al., arXiv:1910.02054). To serve, a parameter takes two bytes. To learn, it also needs a gradient, and what the optimizer remembers of it.",
      set: {},
      ask: "Without activations: how many times the memory of its weights does the model need?",
      answers: [{ say: "Twice", right: ({ run: r }) => states(r) < 3 }, { say: "Three to six times", right: ({ run: r }) => states(r) >= 3 && states(r) < 6 }, { say: "Six times and more", right: ({ run: r }) => states(r) >= 6 }],
      why: () => ["An eighth of the weights are ", f("memory.lines.0.bytes", gib, "run"), ", of the gradients ", f("memory.lines.1.bytes", gib, "run"), ", of the weights in 32 bits that the optimizer changes ", f("memory.lines.2.bytes", gib, "run"), ", and of each of its two means ", f("memory.lines.3.bytes", gib, "run"), ". Activations are no part of this: they grow with the tokens of a batch."] },
    { title: "Forward and back", bars: "step", train: { run: ["model=llama-3-70b", "hardware=h100-sxm", "gpus=512"] },
      text: "A step of Llama-3-70B on 512 H100. It predicts the tokens of four million positions (forward), and then finds in which direction each parameter should move (backward).",
      set: {},
      ask: "How long does the way back take, beside the way forward?",
      answers: [{ say: "As long", right: ({ run: r }) => r.step.backward < 1.5 * r.step.forward }, { say: "About twice as long", right: ({ run: r }) => r.step.backward >= 1.5 * r.step.forward && r.step.backward < 3 * r.step.forward }, { say: "Ten times", right: ({ run: r }) => r.step.backward >= 3 * r.step.forward }],
      why: () => ["Forward takes ", f("step.forward", seconds, "run"), " and backward ", f("step.backward", seconds, "run"), ": each product has two on the way back, one for its input and one for its weights. That is why the rule of thumb has 6 FLOP for a parameter and a token. The whole step takes ", f("step_s", seconds, "run"), ", with ", f("mfu", percent, "run"), " of the peak rate."] },
    { title: "Eight times the accelerators", bars: "step", train: { few: [...largest, "gpus=1024"], many: [...largest, "gpus=8192"] },
      text: "Llama-3.1-405B with the same batch of 2,048 sequences, on 1,024 H100 and on 8,192. Layers are spread over stages of a pipeline, and a stage waits where there are few micro-batches for it.",
      set: {},
      ask: "How many times as fast is a step?",
      answers: [{ say: "Eight times", right: ({ few, many }) => few.step_s > 7.6 * many.step_s }, { say: "Five to seven times", right: ({ few, many }) => few.step_s > 4.5 * many.step_s && few.step_s <= 7.6 * many.step_s }, { say: "Four times or less", right: ({ few, many }) => few.step_s <= 4.5 * many.step_s }],
      why: () => [f("step_s", seconds, "many"), " in place of ", f("step_s", seconds, "few"), ", with ", f("mfu", percent, "many"), " of the peak rate in place of ", f("mfu", percent, "few"), ". Look at what the bars are made of now. For 15.6 trillion tokens that is ", f("days", decimals(0), "many"), " days in place of ", f("days", decimals(0), "few"), ", failures included, and ", f("dollars", millions, "many"), " in place of ", f("dollars", millions, "few"), "."] },
  ] },
];
