// Fewer heads: what multi-head, grouped, multi-query and latent attention store for a token.
"use strict";
// headsOf draws one layer of a model: its query heads, and below them the keys and values that they share and that are kept.
function headsOf(canvas, look) {
  const pen = machine.pad(canvas), { of, em, c } = pen, numbers = look.value("each / layers / 2"), latent = look.h.model === "deepseek-v2-lite";
  if (!(numbers > 0)) return undefined;
  const queries = latent ? 16 : 32, kept = latent ? 1 : numbers / 2 / 128, narrow = pen.width < 27 * em, size = narrow ? 0.8 : 1, wide = pen.width / queries, high = Math.min(wide * 0.8, 2.2 * em);
  const top = 1.8 * em, low = pen.height - 2 * em - high, group = pen.width / kept;
  pen.text(narrow ? `A layer: ${queries} query heads, not kept` : `One layer of ${look.show("model")}: ${queries} query heads, used at once and thrown away`, 0, em, { colour: of.ink, bold: true, size });
  for (let i = 0; i < queries; i++) {
    const x = (i + 0.5) * wide, k = Math.floor(i * kept / queries), to = latent ? pen.width * 0.25 + x * 0.5 : k * group + group * 0.5;
    pen.path([[x, top + high], [to, low]], of.soft, 1);
    pen.box(x - high * 0.4, top, high * 0.8, high, of.weights);
  }
  for (let k = 0; k < kept; k++) {
    const w = latent ? pen.width * 0.5 : Math.min(group * 0.8, 3 * em), x = (k + 0.5) * group - w / 2;
    machine.hatched(pen, x, low, w, high, of.kvfill);
    c.setLineDash([]);
    if (!latent) pen.path([[x + w / 2, low], [x + w / 2, low + high]], of.paper, 2);
  }
  const each = latent ? `one vector of ${numbers} numbers` : narrow ? `${kept} keys and values` : `${kept} keys and ${kept} values of 128 numbers`;
  pen.text(`Kept: ${each}, ${sentences.write(numbers * 2, "B")} a token${narrow ? "" : " in this layer"}`, 0, pen.height - 0.6 * em, { colour: of.kv, bold: true, size });
  return { heads: { queries, kept, numbers } };
}
const headsShown = { figure: headsOf, figured: "One layer: its query heads, and the keys and values that they share" };

chapter({
  id: "heads", number: 7, title: "Fewer heads?", ideas: "MHA, GQA, MQA, latent attention", short: "Heads",
  question: "Each model here stores keys and values in another way. Drag the model, the readers and the context.",
  handles: {
    model: { label: "Model", stops: ["llama-2-7b", "llama-3.1-8b", "deepseek-v2-lite"], at: "llama-2-7b", tone: "kv", grip: "weights",
      show: (m) => ({ "llama-2-7b": "Llama 2 7B", "llama-3.1-8b": "Llama 3.1 8B", "deepseek-v2-lite": "DeepSeek-V2-Lite" })[m] },
    readers: { label: "Readers", stops: [1, 4, 16, 32, 64, 128, 256], at: 32, grip: "readers", show: (n) => n === 1 ? "1 reader" : `${n} readers` },
    context: { label: "Context of each reader", stops: [256, 512, 1024, 2048, 3072], at: 2048, tone: "kv", grip: "kv", show: (n) => `${n.toLocaleString("en")} tokens` },
  },
  runs: (h) => ({ here: ledger.step([`model=${h.model}`, "hardware=h100-sxm"], { decodes: h.readers, context: h.context }) }),
  figures: {
    each: "memory.kv_token", full: "at(model, 'llama-2-7b', memory.kv_token)", grouped: "at(model, 'llama-3.1-8b', memory.kv_token)",
    latent: "at(model, 'deepseek-v2-lite', memory.kv_token)", room: "memory.kv_tokens", stored: "readers * context * memory.kv_token", caches: "bytes.kv_read",
  },
  scene: (look) => ledger.scene(look.get("here"), { readers: look.h.readers }),
  steps: [
    { title: "Every head keeps its own", ...headsShown, set: { model: "llama-2-7b", readers: 32, context: 2048 },
      lead: "{model} stores {=each B kv} of keys and values for each token, in {=layers n} layers.",
      text: ["Llama 2 7B has 32 heads in each of 32 layers. Each head keeps a key and a value of 128 numbers, two bytes each: that is multi-head attention.",
        "{readers} with {context} of context keep {=stored B kv}. {if fits: It fits.; else: There is room for {=memory.kv_capacity B} only, so these readers cannot run together.}"],
      board: [["2 × 32 × 32 × 128 × 2 bytes = {=2 * 32 * 32 * 128 * 2 B big}", "a token of Llama 2 7B"]] },
    { title: "Heads that share", ...headsShown, set: { model: "llama-3.1-8b", readers: 32, context: 2048 },
      lead: "In Llama 3.1 8B four query heads share one key and one value: {=grouped B kv} a token.",
      text: ["Queries are used at once and thrown away, only keys and values are kept. So it is these of which there are fewer: 8 in place of 32, and a token takes {=grouped / full %} of what it took. This is grouped-query attention. With one for all heads it would be multi-query attention, and {=grouped / 8 B} a token."],
      board: [["2 × 32 × 8 × 128 × 2 bytes = {=2 * 32 * 8 * 128 * 2 B big}", "a token of Llama 3.1 8B"]] },
    { title: "Keep a summary instead", ...headsShown, set: { model: "deepseek-v2-lite", readers: 32, context: 2048 },
      lead: "DeepSeek-V2-Lite keeps one short vector for all heads: {=latent B kv} a token.",
      text: ["Keys and values are computed from it when they are needed. It has 512 numbers, and 64 more that say where the token stands, in each of 27 layers: multi-head latent attention."],
      board: [["27 × (512 + 64) × 2 bytes = {=27 * 576 * 2 B big}", "a token of DeepSeek-V2-Lite"]] },
    { title: "What it is good for", set: { model: "llama-3.1-8b", readers: 64, context: 2048 },
      lead: "In {=memory.kv_capacity B} there is room for {=room n kv} tokens of {model}.",
      text: ["{if fits: {readers} of {context} fit, and a step reads {=caches B kv} of caches beside {=bytes.weights B weights} of weights: it takes {=ms ms}.; else: {readers} of {context} do not fit: they need {=stored B alarm}.}",
        "{if fits and caches > bytes.weights: The caches are the larger part of what is read, so fewer heads would make the step shorter.; elif fits: The weights are the larger part of what is read, so fewer heads would give more room than speed.}"],
      board: [["{over: {=memory.kv_capacity B} | {=each B kv}} = {=room n big}", "tokens have room, in whole blocks of {=memory.block_tokens n}"]] },
  ],
  ask: {
    at: { model: "llama-2-7b", readers: 64, context: 2048 },
    text: "64 readers of 2,048 tokens want to be served by Llama 2 7B. Their keys and values are {=stored B kv}, and there is room for {=memory.kv_capacity B}. What lets all 64 run at once, with 2,048 tokens each, in the least memory?", best: { where: "fits and readers = 64 and context = 2048", least: "memory.weights + stored" },
    shows: "{if fits: fits: {=stored B} of caches, {=ms ms} a step; else: does not fit: {=stored B} of caches}",
    answers: [
      { say: "Llama 3.1 8B, with 8 key heads", set: { model: "llama-3.1-8b" }, right: true, reply: "Right: {=stored B kv} in place of {=before(stored) B kv}, though the model itself is larger: {=memory.weights + stored B} with its weights. All {=readers n} are in one step of {=ms ms}." },
      { say: "Contexts of 1,024 tokens", set: { context: 1024 }, reply: "Half the context is half the cache: {=stored B kv}{if fits: , which fits; else: , which still does not fit}. But your readers wanted 2,048 tokens: you gave them another service." },
      { say: "Half the readers", set: { readers: 32 }, reply: "{=stored B kv} {if fits: fit; else: do not fit}, and {=before(readers) - readers n} readers wait outside. It tempts, since a server does just this by itself." },
      { say: "DeepSeek-V2-Lite", set: { model: "deepseek-v2-lite" }, reply: "{=stored B kv}: {if fits: all fit; else: even that does not fit}. A latent vector takes least of all. But its weights, {=memory.weights B weights}, take {=memory.weights / before(memory.weights) ×} as much as before, a mixture of experts: {=memory.weights + stored B} in all." },
    ],
  },
  check: {
    at: { model: "llama-3.1-8b", readers: 1, context: 2048 },
    text: "A model has 32 layers, 8 key heads of 128 numbers, and two bytes for each number. How many kB do the keys and values of one token take?",
    formula: "2 * 32 * 8 * 128 * 2 / 1000", unit: "x", says: "kB", within: 0.03, right: "Right: 2 × 32 × 8 × 128 × 2 = {=2 * 32 * 8 * 128 * 2 B}.",
    wrong: "A key and a value, in each layer, for each key head: 2 × 32 × 8 × 128 numbers of two bytes.",
    near: [["32 * 8 * 128 * 2 / 1000", "That is the keys, or one byte for each number: there are values too, and two bytes."], ["2 * 32 * 32 * 128 * 2 / 1000", "You count 32 heads: only 8 have keys and values of their own."]],
  },
  measured: { text: "DeepSeek-AI report that DeepSeek-V2 keeps 93.3 % less for each token than their DeepSeek 67B, which shares keys among groups of heads. By the shapes of the two models, {=1 - 60 * (512 + 64) / (95 * 2 * 8 * 128) %} fewer numbers are kept; the rest is that each takes 6 bits in place of 16.", source: "DeepSeek-V2, abstract", url: "https://arxiv.org/abs/2405.04434" },
  paper: { title: "Ainslie et al., GQA (2023)", url: "https://arxiv.org/abs/2305.13245" },
  command: (h) => `llmsim memory ${h.model} h100-sxm`,
});
