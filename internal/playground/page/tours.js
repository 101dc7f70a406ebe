// Guided tours: each sets the page to a state, asks, and shows. What a reveal says of figures is read from the
// results.
"use strict";
const ms = (t) => milliseconds(t);
const times = (a, b) => `${Number((a / b).toPrecision(2))} times`;
const faster = (r) => {
  const by = r.speculation_speedup.tpot;
  return by >= 1 ? `${by.toFixed(2)} times as fast as without drafts` : `${(1 / by).toFixed(2)} times as slow as without drafts`;
};
const one = ["workload.requests=1", "workload.prompt.cv=0.01", "workload.output.cv=0.01"];
const drafts = { model: "llama-3.1-70b", tensor: "4", prompt: "300", output: "150", draft: "4", accept: "0.7" };
const long = { rate: "8", prompt: "1500", output: "200" };

// A stop sets controls (at is when the stage stands), asks, and says what comes out: of the results, one of each
// stage, and of the first one of the stop before, if the reader comes from there.
const tours = [
  { id: "phases", name: "Prefill and decode", stops: [
    { title: "A prompt and an answer",
      text: "One request alone: a prompt of some 2,000 tokens, and an answer of 100, on one H100. First the server reads the prompt (prefill), then it writes one token after another (decode).",
      set: { rate: "1", prompt: "2000", output: "100", more: one, at: 880 },
      ask: "Which takes longer: to read 2,000 tokens of prompt, or to write 100 of answer?", answers: ["The prompt", "The answer", "About the same"],
      reveal: ([r]) => `The answer. The prompt takes ${ms(r.mean_prefill_ms)}, the answer ${ms(r.mean_decode_ms)}, though it has a twentieth of the tokens: ${times(r.mean_decode_ms / r.total_output_tokens, r.mean_prefill_ms / r.total_input_tokens)} as long for a token. In the picture the wide block is the prompt, and each tick a token; "step ▸" goes on.` },
    { title: "What a step waits for",
      text: "Step from the prompt (◂) into the answer (▸), and watch the bar below the batch and the dot under the roof.",
      set: { rate: "1", prompt: "2000", output: "100", more: one, at: 880 },
      ask: "What does a step that writes one token spend most of its time on?", answers: ["Arithmetic", "Reading the weights from memory", "The host"],
      reveal: ([r]) => `Reading the weights. ${r.insights.slice(0, 2).join(" ")} All weights are read for a single token; the prompt reads them once for all its tokens, so its dot is far to the right, under the flat part of the roof.` },
    { title: "Faster arithmetic, or faster memory?",
      text: "Now the same request on an H20: a seventh of the H100's arithmetic, and a fifth more memory bandwidth.",
      set: { hardware: "h20", rate: "1", prompt: "2000", output: "100", more: one, at: 1130 },
      ask: "Compared with the H100, the time to first token and the time per output token are…", answers: ["both longer", "longer to the first token, shorter for each token after", "both shorter"],
      reveal: ([r], b) => `Longer to the first token (${ms(r.mean_ttft_ms)}${b ? ` against ${ms(b.mean_ttft_ms)}` : ""}), and shorter for each token after (${ms(r.mean_tpot_ms)}${b ? ` against ${ms(b.mean_tpot_ms)}` : ""}): the prompt waits for arithmetic, the answer for memory.` },
  ] },
  { id: "batching", name: "Why batching", stops: [
    { title: "One at a time",
      text: "Sixteen people ask at once, and the server answers one after another: the batch limit is 1.",
      set: { limit: "1", rate: "200", prompt: "200", output: "100", more: ["workload.requests=16", "workload.output.cv=0.2"], at: 300 },
      ask: "Sixteen in one batch, instead of one: how much longer does a step take?", answers: ["16 times", "4 times", "Hardly longer"],
      reveal: ([r]) => `Hardly longer. A step for one takes ${ms(r.decode.step_ms)}, and most of it reads the weights. Sixteen would share that reading. "Next" raises the limit.` },
    { title: "Sixteen together",
      text: "The same sixteen requests, with a batch limit of 16. Play, and compare the rows with before.",
      set: { limit: "16", rate: "200", prompt: "200", output: "100", more: ["workload.requests=16", "workload.output.cv=0.2"], at: 300 },
      ask: "How much sooner are all answers there?", answers: ["Twice as soon", "Many times as soon", "As soon as before"],
      reveal: ([r], b) => `Many times: all are there after ${ms(1000 * r.duration)}${b ? `, before it was ${ms(1000 * b.duration)}, ${times(b.duration, r.duration)} as long` : ""}. A token takes ${ms(r.mean_tpot_ms)}. On the roofline the dot climbed along the slope: about as many bytes, and more arithmetic for each.` },
    { title: "Where it ends",
      text: "Many more users: 50 a second, with short prompts and long answers, and no limit but the policy's own.",
      set: { rate: "50", prompt: "20", output: "300" },
      ask: "The batch grows beyond a hundred. Does a step still take about as long as for one?", answers: ["Yes, weights are weights", "No: arithmetic and KV cache grow with the batch"],
      reveal: ([r]) => `No. ${r.mean_decode_batch.toFixed(0)} requests decode at once, and such a step takes ${ms(r.decode.step_ms)}. With each request the step has more arithmetic and more KV cache to read, and the weights are no longer most of it: throughput still grows, and everybody waits a little longer for each token.` },
  ] },
  { id: "cache", name: "The KV cache", stops: [
    { title: "What a token leaves behind",
      text: "Each token leaves keys and values in memory, which every later token reads. Here there is room for 7,000 tokens only: each square is a block of tokens, in the colour of its request.",
      set: { memory: "7000", rate: "10", prompt: "500", output: "200", more: ["memory.policy=paged", "workload.prompt.max=1500", "workload.output.max=600"], at: 6000 },
      ask: "What happens when the memory is full and answers go on growing?", answers: ["New requests wait, and some that run lose their place", "The server fails", "Old tokens are forgotten"],
      reveal: ([r]) => `New requests wait (${r.mean_waiting.toFixed(1)} on average), and ${number(r.preemptions)} times a request lost its place: its blocks were freed, and its tokens are computed again later. Play, and watch squares change hands.` },
    { title: "A KV head for each query head",
      text: "Memory is that of the GPU again, and the same model has multi-head attention: 32 KV heads in place of its 8 (shape.kv-heads=32).",
      set: { ...long, more: ["memory.policy=paged", "shape.kv-heads=32"], at: 5000 },
      ask: "With four times the KV heads, a token takes how much more memory?", answers: ["As much", "Twice as much", "Four times as much"],
      reveal: ([r]) => `Four times. ${percent(r.kv_usage)} of the memory is in use on average and ${percent(r.peak_kv_usage)} at most, and ${percent(r.slo_attainment.tpot)} of the requests keep the time per token. "Next" shows the model as it is published.` },
    { title: "Grouped queries",
      text: "Four query heads share each KV head: grouped-query attention, as the model is published.",
      set: { ...long, more: ["memory.policy=paged"], at: 5000 },
      ask: "What gets better, besides the room?", answers: ["Nothing", "Steps get shorter, since less is read"],
      reveal: ([r], b) => `Steps get shorter: a token takes ${ms(r.mean_tpot_ms)}${b ? ` in place of ${ms(b.mean_tpot_ms)}` : ""}. ${percent(r.kv_usage)} of the memory is in use on average${b ? ` in place of ${percent(b.kv_usage)}` : ""}.` },
    { title: "Room that is kept and never used",
      text: "Before paging, engines reserved room for the longest context at once (memory.policy=contiguous, 20,000 tokens). What is pale is reserved and empty.",
      set: { memory: "20000", rate: "10", prompt: "500", output: "200", more: ["memory.policy=contiguous", "engine.max-model-len=2048", "workload.prompt.max=1400", "workload.output.max=600"], at: 6000 },
      ask: "What share of the memory holds tokens?", answers: ["Nearly all", "Half of it or less"],
      reveal: ([r]) => `${percent(r.kv_tokens_share)} holds tokens; ${percent(r.kv_usage)} is taken. Nobody else can use what is reserved. Paging gives blocks of 16 tokens as they are needed (Kwon et al., SOSP 2023).` },
  ] },
  { id: "continuous", name: "Continuous batching", stops: [
    { title: "A static batch",
      text: "Up to eight requests make a batch, and all wait until the last of them is done. Pale rows are answers that are complete and held back.",
      set: { batching: "static", limit: "8", rate: "8", prompt: "300", output: "150", at: 4000 },
      ask: "Answers differ in length. What are the rows of short answers doing at the end of a batch?", answers: ["They take the next request", "Nothing: they are padding"],
      reveal: ([r]) => `Nothing. ${r.mean_decode_batch.toFixed(1)} of 8 rows do work on average. Users see their first token after ${ms(r.mean_ttft_ms)}, since answers are given as a whole, and ${r.request_throughput.toFixed(1)} requests a second are served of ${r.offered_rate.toFixed(1)} that come.` },
    { title: "A place that is free is taken",
      text: "The same requests under Orca's iteration-level scheduling, beside the static batch: whoever is done leaves, and the next one enters with the next step. Play both.",
      set: { batching: "static", limit: "8", rate: "8", prompt: "300", output: "150", beside: "orca", at: 4000 },
      ask: "With the same batch limit of 8: how much sooner is the first token?", answers: ["A little", "By an order of magnitude"],
      reveal: ([a, b]) => b ? `${ms(b.mean_ttft_ms)} in place of ${ms(a.mean_ttft_ms)}: ${b.mean_decode_batch.toFixed(1)} rows work on average in place of ${a.mean_decode_batch.toFixed(1)}, and tokens are seen as they come.` : "Choose orca beside it." },
    { title: "Long prompts",
      text: "Prompts of 3,000 tokens. Orca computes a prompt in one step, and everybody in the batch waits for it; Sarathi's chunked prefill takes 512 tokens a step.",
      set: { batching: "orca", limit: "32", rate: "5", prompt: "3000", output: "150", beside: "sarathi", at: 3000 },
      ask: "Which one has the smaller gaps between tokens, at the 99th percentile?", answers: ["Orca", "Sarathi, with chunks"],
      reveal: ([a, b]) => b ? `Sarathi: ${ms(b.p99_itl_ms)} against ${ms(a.p99_itl_ms)}. Its prompts take more steps, so that the first token comes after ${ms(b.mean_ttft_ms)} against ${ms(a.mean_ttft_ms)}.` : "Choose sarathi beside it." },
  ] },
  { id: "speculation", name: "Speculation", stops: [
    { title: "Guess, then verify",
      text: "Llama-3.1-70B on four H100. A small head drafts four tokens, and the model verifies all four in one step. Each is accepted with a chance of 0.7, given those before. Several ticks end with one step.",
      set: { ...drafts, rate: "1" },
      ask: "How many tokens does a step give a request on average?", answers: ["1", "Between 2 and 3", "4 or 5"],
      reveal: ([r]) => `Between 2 and 3: 1 + 0.7 + 0.7² + 0.7³ + 0.7⁴ = 2.77. The step is a little longer, since drafts are made and verified, but most of it reads weights as before. The run has ${r.tokens_per_step.toFixed(2)} a step, and a token takes ${ms(r.mean_tpot_ms)}: ${faster(r)}.` },
    { title: "When drafts are bad",
      text: "Now a draft is accepted with a chance of 0.3.",
      set: { ...drafts, rate: "1", accept: "0.3" },
      ask: "Is it still worth while?", answers: ["Yes, as much", "Less: 1.4 tokens for a longer step"],
      reveal: ([r], b) => `Less: 1 + 0.3 + 0.3² + 0.3³ + 0.3⁴ = 1.43 tokens a step. A token takes ${ms(r.mean_tpot_ms)}: ${faster(r)}.` },
    { title: "When the server is busy",
      text: "Good drafts again, and 20 requests a second.",
      set: { ...drafts, rate: "20" },
      ask: "Verifying four tokens for each request is more arithmetic. When does that cost time?", answers: ["Always", "When batches are large"],
      reveal: ([r]) => `When batches are large. ${r.mean_decode_batch.toFixed(0)} requests decode at once, each with five tokens, and a step takes ${ms(r.decode.step_ms)}, bound by ${r.decode.bound}. A token takes ${ms(r.mean_tpot_ms)}: ${faster(r)}. The arithmetic that was idle at one request a second is needed now.` },
  ] },
  { id: "capacity", name: "Capacity", stops: [
    { title: "More and more users",
      text: "One H100, chat with Llama-3.1-8B. The SLO: a first token within 500 ms and 30 ms a token, for 99 of 100 requests.",
      set: { rate: "8" },
      ask: "Eight requests a second are well served. What is the first thing to break as the rate grows?", answers: ["The time per token", "The time to first token", "Both at once"],
      reveal: () => "Find out: drag Rate to the right, slowly, and watch TTFT and TPOT in the tile \"Within the SLO\". Then press Next." },
    { title: "Over the edge",
      text: "The rate is 45 a second now.",
      set: { more: ["workload.rate=45/s"] },
      ask: "The time per token broke first. What limits the server here?", answers: ["Memory for the KV cache", "The time of its steps", "The network"],
      reveal: ([r]) => `The time of its steps. ${percent(r.slo_attainment.ttft)} of the requests keep the time to first token, ${percent(r.slo_attainment.tpot)} the time per token: ${r.mean_decode_batch.toFixed(0)} decode at once, and every prompt of a newcomer makes all of them wait. Of the KV memory ${percent(r.kv_usage)} is in use on average, so that there is room for more.` },
    { title: "Buy what?",
      text: "Two H100 with the model split between them, for the same 45 requests a second.",
      set: { tensor: "2", more: ["workload.rate=45/s"] },
      ask: "Is a million tokens cheaper or dearer than with one?", answers: ["Cheaper", "Dearer, but within the SLO"],
      reveal: ([r], b) => `${r.slo_met ? "The SLO is met" : `The SLO is missed (${percent(r.slo_attainment.all)})`}, and a million output tokens cost $${r.cost_per_million_output_tokens.toPrecision(3)}${b ? ` in place of $${b.cost_per_million_output_tokens.toPrecision(3)}` : ""}. To search over accelerators, numbers and splits at once: llmsim plan.` },
  ] },
  { id: "machines", name: "Your own machine", stops: [
    { title: "Where do machines lie?", machines: true,
      text: "Each point is a machine that was measured with llama.cpp: a laptop, workstations, an A100. To the right is what the law allows, upwards what it reached; round in 4 bits, square in 16; rings are what this simulator predicts. Set the sliders to your own computer: its data sheet tells the bandwidth of its memory (a laptop has 50 to 400 GB/s), and FLOP/s in 16 bits.",
      set: {},
      ask: "Your memory gets twice as fast, and nothing else changes. What becomes of the tokens it writes in a second?", answers: ["Twice as many", "As many as before", "It depends on the cores"],
      reveal: () => "Twice as many: in the left picture your point moves along the line, in the right one it stays. To write a token, all weights are read once, whatever the cores could do meanwhile." },
    { title: "Four bits instead of sixteen", machines: true,
      text: "Llama-3-8B has 16 GB in 16 bits, and 4.9 GB in a 4-bit format. Switch \"Weights\" back and forth.",
      set: {},
      ask: "Which of the two phases gains?", answers: ["Writing only", "Reading the prompt only", "Both alike"],
      reveal: () => "Writing: a third of the bytes, about three times the tokens. A prompt does the same arithmetic as before, since weights of 4 bits are unpacked and multiplied as 16 bits, so its point does not move to the right." },
    { title: "A GPU for prompts", machines: true,
      text: "Now drag \"Arithmetic\" from your processor's to an A100's: 312 TFLOP/s.",
      set: {},
      ask: "Somebody pastes long documents and wants one word back. Which of your two sliders should they pay for?", answers: ["Bandwidth", "Arithmetic", "Both"],
      reveal: () => "Arithmetic: reading a prompt is bound by FLOP/s, as the right picture shows. Who chats, and reads long answers, pays for bandwidth. Points far below the line are machines whose kernels leave much unused, such as the A100 with weights of 4 bits." },
  ] },
];

function makeTours() {
  for (const t of tours) {
    const button = element("button", { type: "button", textContent: t.name, id: `tour-${t.id}` });
    button.addEventListener("click", () => enter(t.id, 1));
    el("tour-list").append(button);
  }
  el("tour-close").addEventListener("click", () => { endTour(); keepAddress(); });
  el("tour-back").addEventListener("click", () => turn(-1));
  el("tour-next").addEventListener("click", () => turn(1));
  el("tour-form").addEventListener("submit", (e) => { e.preventDefault(); reveal(); });
}

// stopOf returns the tour and the stop that the state names, as "batching.2"; undefined where there is none.
function stopOf() {
  const [id, n] = app.state.tour.split(".");
  const tour = tours.find((t) => t.id === id), stop = tour?.stops[Number(n) - 1];
  return stop && { tour, stop, n: Number(n) };
}

// enter sets the page to a stop of a tour.
function enter(id, n) {
  const tour = tours.find((t) => t.id === id);
  const { more = [], beside = "", at = 0, ...values } = tour.stops[n - 1].set;
  play(false);
  const from = stopOf(), { machine } = app.state;
  app.before = from?.tour === tour && from.n === n - 1 ? app.figures[0]?.figures : undefined;
  change((s) => {
    Object.assign(s, initialState(), { beside, more: [...more], tour: `${id}.${n}`, machine });
    Object.assign(s.values, values);
  });
  openTour();
  app.state.at = at;
  el("tour-title").focus();
}

function turn(by) {
  const { tour, n } = stopOf();
  if (n + by > tour.stops.length) { endTour(); keepAddress(); } else if (n + by > 0) enter(tour.id, n + by);
}

// openTour shows the stop that the state names.
function openTour() {
  const at = stopOf();
  el("tour").hidden = !at;
  for (const t of tours) el(`tour-${t.id}`).setAttribute("aria-current", String(t === at?.tour));
  if (!at) return;
  const { tour, stop, n } = at;
  el("tour-place").textContent = `${tour.name}, ${n} of ${tour.stops.length}`;
  el("tour-title").textContent = stop.title;
  el("tour-text").textContent = stop.text;
  el("tour-question").textContent = stop.ask;
  el("tour-answers").replaceChildren(...stop.answers.map((words, i) =>
    element("label", {}, element("input", { type: "radio", name: "answer", value: i, required: true }), words)));
  el("tour-reveal").textContent = "";
  el("machines").hidden = !stop.machines;
  if (stop.machines) { readMachine(); drawMachines(); }
  el("tour-check").hidden = false;
  el("tour-back").disabled = n === 1;
  el("tour-next").textContent = n === tour.stops.length ? "Done" : "Next";
}

async function reveal() {
  const at = stopOf();
  await app.busy;
  if (!at || !app.figures.length) return;
  el("tour-reveal").textContent = at.stop.reveal(app.figures.map((f) => f.figures), app.before);
  el("tour-check").hidden = true;
}

function endTour() {
  app.state.tour = "";
  openTour();
}
