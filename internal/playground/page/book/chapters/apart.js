// Prefill and decode apart: prompts on one GPU, words on another; what it smooths, what it costs, and what was measured.
"use strict";
(() => {
  const measures = [["median_itl_ms", "half of the gaps, up to"], ["p95_itl_ms", "19 of 20, up to"], ["p99_itl_ms", "99 of 100, up to"]];

  // gaps marks how long a reader waits between words, with both servers doing both and with each doing one. The axis is
  // logarithmic, so it has marks in place of bars: a bar's length would say nothing.
  function gaps(canvas, look) {
    const pen = machine.pad(canvas), { of, em } = pen;
    const rows = [["both do both", "here"], ["one each", "apart"]].map(([name, run]) => ({ name, values: [...measures, ["mean_ttft_ms", ""]].map(([key]) => look.value(`${run}.${key}`)) }));
    const all = rows.flatMap((r) => r.values);
    if (all.some((v) => !(v > 0))) return undefined;
    const low = Math.floor(Math.log10(Math.min(...all))), high = Math.ceil(Math.log10(Math.max(...all)));
    const box = { x: 0, y: 2 * em, w: pen.width - 11 * em, h: pen.height - 4.4 * em };
    const x = (ms) => box.x + (Math.log10(ms) - low) / (high - low) * box.w;
    pen.text(box.w > 20 * em ? "How long a reader waits for the next word: each line is ten times the one before" : "Waits for a word; each line is 10 times the last", 0, em, { colour: of.ink, bold: true, size: box.w > 20 * em ? 1 : 0.85 });
    for (let k = low; k <= high; k++) {
      pen.path([[x(10 ** k), box.y], [x(10 ** k), box.y + box.h]], of.line, 1);
      if (k === low || k === high || box.w > 20 * em || (high - k) % 2 === 0 && k > low + 1) pen.text(sentences.write(10 ** k, "ms"), x(10 ** k), box.y + box.h + 1.4 * em, { size: 1, align: k === low ? "left" : "center" });
    }
    const names = [...measures.map(([, name]) => name), "and for the first word, on average"], each = box.h / names.length, high2 = Math.min(1.6 * em, each / 3.4);
    names.forEach((name, i) => {
      const y = box.y + i * each;
      pen.text(`${name}:`, 0, y + 1.1 * em, { colour: of.ink, bold: i === 2, size: 1, halo: true });
      rows.forEach((r, j) => {
        const middle = y + 1.5 * em + (j + 0.5) * high2, at = x(r.values[i]);
        pen.path([[box.x, middle], [box.x + box.w, middle]], of.line, 1);
        if (j) pen.box(at - 0.4 * em, middle - 0.4 * em, 0.8 * em, 0.8 * em, of.weights);
        else { pen.c.fillStyle = of.prompt; pen.c.beginPath(); pen.c.arc(at, middle, 0.45 * em, 0, 7); pen.c.fill(); }
        pen.text(`${sentences.write(r.values[i], "ms")}, ${r.name}`, at + 0.8 * em, middle + 0.35 * em, { colour: of.ink, size: 1, halo: true });
      });
    });
    return { rows };
  }

  chapter({
    id: "apart", number: 12, title: "Prompts here, words there?", ideas: "prefill and decode on servers of their own", short: "Apart", draw: gaps, picture: "Marks on a logarithmic axis: how long a reader waits between words, with two servers that do both, and with one for prompts and one for words",
    question: "A prompt holds up everybody who is reading. So give prompts a GPU of their own?",
    handles: {
      prompt: { label: "Prompt", stops: [500, 2000, 8000], at: 8000, tone: "prompt", show: (n) => `${n.toLocaleString("en")} tokens` },
      answer: { label: "Answer", stops: [50, 200, 1000], at: 200, tone: "kv", show: (n) => `${n.toLocaleString("en")} tokens` },
      rate: { label: "Requests a second", stops: [1, 2, 3, 3.6, 4], at: 3, show: (r) => `${r} a second` },
    },
    runs(h) {
      const load = [`workload.prompt=${h.prompt}`, `workload.output=${h.answer}`, `workload.rate=${h.rate}/s`, "workload.duration=60s"];
      return { here: ledger.result([...load, "replicas=2"]), apart: ledger.result([...load, "fleet.pools=[{name: prompts, role: prefill, replicas: 1}, {name: words, role: decode, replicas: 1}]"]),
        token: ledger.step([], { decodes: 1, context: h.prompt }) };
    },
    figures: { cache: "token.memory.kv_token * prompt", calmer: "p99_itl_ms / apart.p99_itl_ms", slower: "apart.mean_tpot_ms / mean_tpot_ms", later: "apart.mean_ttft_ms - mean_ttft_ms" },
    steps: [
      { title: "{if p99_itl_ms > 5 * median_itl_ms: A prompt holds up the readers; else: Prompts hardly hold up anybody here}", set: { prompt: 8000, answer: 200, rate: 3 },
        lead: "Two H100 take turns at {rate}, prompts of {prompt}. Between two words half of the gaps last at most {=median_itl_ms ms weights}, but one in a hundred {=p99_itl_ms ms alarm} or more.",
        text: ["A prompt fills the arithmetic for a while. Who reads an answer from the same GPU waits for that, and sees it as a hiccup.",
          "{if p99_itl_ms > 5 * median_itl_ms: One gap in a hundred is {=p99_itl_ms / median_itl_ms ×} as long as the usual one.; else: With this load the hiccups are small, or rarer than one gap in a hundred.}"],
        board: [["{=p99_itl_ms ms big}", "one gap in a hundred, or longer"]] },
      { title: "One for prompts, one for words", set: { prompt: 8000, answer: 200, rate: 3 },
        lead: "Now one H100 computes prompts, the other writes. One gap in a hundred lasts {=apart.p99_itl_ms ms weights} or more, in place of {=p99_itl_ms ms}.",
        text: ["{if calmer > 1.2: No prompt comes between the words: in the simulation, the long gaps become {=1 / calmer %} of what they were. The usual one is {=apart.median_itl_ms ms}, in place of {=median_itl_ms ms}.; else: Here this hardly helps: prompts were not what made the long gaps.}",
          "Splitwise and DistServe proposed this in 2023 and 2024, and large services run so."],
        board: [["{=p99_itl_ms ms} → {=apart.p99_itl_ms ms big}", "one gap in a hundred"]] },
      { title: "What must move", set: { prompt: 8000, answer: 200, rate: 3 },
        lead: "Keys and values of a prompt of {prompt} are {=cache B kv}. They are sent from one GPU to the other, and the reader sees the first word when they are there.",
        text: ["{if later > 1: The first word comes after {=apart.mean_ttft_ms ms} in place of {=mean_ttft_ms ms}: prompts share one GPU, the transfer costs time, and so may a lack of room on the other.; else: The first word comes after {=apart.mean_ttft_ms ms} in place of {=mean_ttft_ms ms}.}",
          "And a prompt cannot use the arithmetic of the GPU that writes, most of which is idle."],
        board: [["{=prompt n} × {=token.memory.kv_token B} = {=cache B big}", "sent for each request"]] },
      { title: "Two halves that must match", set: { prompt: 2000, answer: 1000, rate: 4 },
        lead: "Answers of {answer}, at {rate}: all are written by one GPU. A token takes {=apart.mean_tpot_ms ms} there, where two GPUs that do both take {=mean_tpot_ms ms}.",
        text: ["{if slower > 1.02: The GPU for words gets twice the requests now, and a token takes {=slower - 1 %} longer; the other one computes prompts only.; elif slower < 0.98: Together, prompts took more time from the readers than the second GPU gave them. Apart, a token takes {=1 - slower %} less time.; else: Both come to about the same here.}",
          "How many of each kind depends on how long prompts and answers are, and both change by the hour. A fleet of many servers can be divided in the right share, one of two cannot."],
        board: [["{=mean_tpot_ms ms} → {=apart.mean_tpot_ms ms big}", "a token, on average"]] },
      { title: "This picture is too good", set: { prompt: 8000, answer: 200, rate: 3.6 },
        lead: "At {rate}, the simulator says {=apart.p99_itl_ms ms} for one gap in a hundred. {b: What was measured says otherwise.}",
        text: ["Two H100 with llm-d of May 2025, prompts of 8,000, answers of 200 and 3.6 requests a second, as this step begins with: 216 ms apart, and 217 ms together. A token took 17.9 ms apart and 16.3 ms together: {b: apart was slower}, and no more even.",
          "That server decoded without CUDA graphs, with an early connector; gaps as long as a prompt suggest that words stood still while keys and values came. The simulator does not know that: it shows what the idea can bring, not what that program brought. Before you divide a fleet, measure yours."],
        board: [["217 ms together, 216 ms apart", "one gap in a hundred, measured"]] },
    ],
    ask: {
      at: { prompt: 2000, answer: 1000, rate: 4 },
      text: "Prompts of 2,000 tokens, answers of 1,000, 4 a second, two GPUs. Together a token takes {=mean_tpot_ms ms}, apart {=apart.mean_tpot_ms ms}. With which load does apart make a token faster by most?", best: { most: "mean_tpot_ms / apart.mean_tpot_ms" },
      shows: "one gap in a hundred: {=p99_itl_ms ms} together, {=apart.p99_itl_ms ms} apart; a token: {=mean_tpot_ms ms} and {=apart.mean_tpot_ms ms}",
      answers: [
        { say: "Long prompts, short answers", set: { prompt: 8000, answer: 200 }, right: true, reply: "Right: the gaps shrink from {=p99_itl_ms ms} to {=apart.p99_itl_ms ms}, and a token from {=mean_tpot_ms ms} to {=apart.mean_tpot_ms ms}. Prompts are most of the work, so a GPU of their own is busy." },
        { say: "Short prompts, long answers", set: { prompt: 500, answer: 1000 }, reply: "A token takes {=apart.mean_tpot_ms ms} in place of {=mean_tpot_ms ms}. It tempts, since much is written; but the GPU for prompts is then nearly idle, and the other one writes alone." },
        { say: "Fewer requests", set: { rate: 1 }, reply: "A token takes {=apart.mean_tpot_ms ms} in place of {=mean_tpot_ms ms}: with few requests, prompts rarely meet readers, so there is little to keep apart." },
        { say: "Short ones of both", set: { prompt: 500, answer: 50 }, reply: "One gap in a hundred: {=p99_itl_ms ms} and {=apart.p99_itl_ms ms}. A short prompt takes so little time that it hardly holds up anybody." },
      ],
    },
    check: {
      at: { prompt: 8000, answer: 200, rate: 3 },
      text: "A token's keys and values have {=token.memory.kv_token B}, and the prompt has {prompt}. How many gigabytes are sent for a request?",
      formula: "cache / 1e9", unit: "x", says: "GB", within: 0.02, right: "Right: {=prompt n} × {=token.memory.kv_token B} = {=cache B}.",
      wrong: "Multiply tokens and bytes, and divide by a billion.",
      near: [["cache / 1e6", "That is in megabytes; the question is for gigabytes."], ["cache / 1e9 * 8", "That is in gigabits, as links are told; the question is for gigabytes."], ["token.memory.weights / 1e9", "That is the model; only keys and values of this prompt are sent."]],
    },
    measured: {
      text: "Llama 3.1 8B on two H100, prompts of 8,000 tokens, answers of 200, 3.6 requests a second, means of three runs. Two servers that do both: first word 246 ms, a token 16.3 ms, one gap in a hundred 217 ms. One each: 252 ms, 17.9 ms, 216 ms.",
      source: "llm-d/llm-d-benchmark, collected/data/openshift, tag v0.2.2", url: "https://github.com/llm-d/llm-d-benchmark/tree/a75f34b4",
    },
    paper: { title: "Zhong and others, DistServe: Disaggregating Prefill and Decoding for Goodput-optimized Large Language Model Serving (2024)", url: "https://arxiv.org/abs/2401.09670" },
    command: (h) => ["'fleet.pools=[{name: prompts, role: prefill, replicas: 1}, {name: words, role: decode, replicas: 1}]'", "replicas=2"].map((pools) => `llmsim scenario playground --set workload.prompt=${h.prompt} --set workload.output=${h.answer} --set workload.rate=${h.rate}/s --set workload.duration=60s --set ${pools}`).join("\n"),
  });
})();
