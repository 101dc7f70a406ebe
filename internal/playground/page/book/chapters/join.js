// Who may join when: a batch that waits for its last, one that anybody joins between two steps, and prompts in chunks.
"use strict";
(() => {
  const ways = { static: "a static batch", orca: "continuous batching", "vllm-v0": "prompts first", sarathi: "chunks beside answers" };
  const limits = { static: "batch-size", orca: "max-batch", "vllm-v0": "max-sequences", sarathi: "max-sequences" };
  const settings = (h) => [`batching=${h.way}`, `batching.${limits[h.way]}=${h.limit}`, ...h.way === "sarathi" ? [`batching.token-budget=${h.chunk}`] : [], `workload.rate=${h.rate}/s`, `workload.prompt.mean=${h.prompt}`];
  const from = 9000, until = 12000;

  chapter({
    id: "join", number: 4, title: "Who may join when?", ideas: "static and continuous batching, chunked prefill", short: "Join", lasts: 16,
    question: "Llama 3.1 8B on an H100. Each line is a request: it comes, waits, has its prompt read and its answer written.",
    picture: "Lanes: requests over three seconds, each waiting, with its prompt or with its answer",
    handles: {
      way: { label: "Who may join when", stops: Object.keys(ways), at: "static", show: (w) => ways[w] },
      limit: { label: "Places in the batch", stops: [4, 8, 16, 32], at: 8, show: (n) => `${n} places` },
      rate: { label: "Requests a second", stops: [2, 4, 8], at: 4, show: (n) => `${n} requests a second` },
      prompt: { label: "Length of prompts", stops: [100, 300, 1000, 3000], at: 300, tone: "prompt", show: (n) => `${n.toLocaleString("en")} tokens` },
      chunk: { label: "Tokens in a step", stops: [256, 512, 1024, 2048], at: 512, tone: "prompt", show: (n) => `${n.toLocaleString("en")} tokens` },
    },
    runs: (h) => ({ here: ledger.result(settings(h)), frames: ledger.frames(settings(h), until, from) }),
    figures: {
      first: "mean_ttft_ms", gap: "p99_itl_ms", rows: "mean_decode_batch", speed: "output_throughput",
      staticfirst: "at(way, 'static', first)", staticrows: "at(way, 'static', rows)", staticspeed: "at(way, 'static', speed)",
      joined: "at(way, 'orca', first)", joinedrows: "at(way, 'orca', rows)", joinedspeed: "at(way, 'orca', speed)", joinedgap: "at(way, 'orca', gap)",
      ahead: "at(way, 'vllm-v0', first)", aheadgap: "at(way, 'vllm-v0', gap)", cut: "at(way, 'sarathi', first)", cutgap: "at(way, 'sarathi', gap)",
    },
    draw: Object.assign((canvas, look) => lanes(canvas, look, `Three seconds of ${look.show("way")}`, "frames", [from, until]), { asks: (look) => look.get("frames") }),
    steps: [
      { title: "A batch that waits for its last", set: { way: "static", limit: 8, rate: 4, prompt: 300 },
        lead: "In a static batch, all begin together and end together. An answer is seen after {=staticfirst ms alarm} on average.",
        text: ["Answers differ in length. Who is done early keeps the place until the longest answer ends, and who comes meanwhile waits for the next batch. With {limit}, only {=staticrows x} rows do work on average.",
          "The picture shows {way}. Put another in its place, and see how the same requests fare."],
        board: [["{over: {=staticrows x} | {=limit n}} = {=staticrows / limit % big}", "of the places work, in a static batch"]],
        notes: "Let the class find a lane that is done and kept, and say whom it keeps waiting." },
      { title: "A free place is taken", set: { way: "orca", limit: 8, rate: 4, prompt: 300 },
        lead: "In continuous batching, who is done leaves, and the next in line joins with the next step. The first token comes after {=joined ms} on average.",
        text: ["This became possible when engines began to decide anew before each step, not before each batch: Orca called it iteration-level scheduling. In the static batch, the same requests see their answers after {=staticfirst ms} on average.",
          "With {rate}, the server writes {=joinedspeed n weights} tokens a second. With a static batch it writes {=staticspeed n}{if joinedspeed > 1.1 * staticspeed: , since a part of its places stands idle; else: }."],
        board: [["{over: {=joinedspeed n weights} | {=staticspeed n}} = {=joinedspeed / staticspeed x big}", "times as many tokens a second"]] },
      { title: "{if joinedgap > 2 * at(prompt, 100, joinedgap): A long prompt holds up the rest; else: A short prompt hardly disturbs}", set: { way: "orca", limit: 8, rate: 4, prompt: 3000 },
        lead: "With prompts of {prompt} in continuous batching, 99 of 100 gaps between two tokens are below {=joinedgap ms alarm}.",
        text: ["Who joins brings a whole prompt into the step, and all who are being answered wait until it is read. {if joinedgap > 2 * at(prompt, 100, joinedgap): With prompts of 100 tokens, gaps are below {=at(prompt, 100, joinedgap) ms}.; else: So short prompts hardly disturb anybody.}",
          "Some engines read prompts in steps of their own, before answers go on. Then first tokens come after {=ahead ms} in place of {=joined ms}, and gaps are below {=aheadgap ms}. {if aheadgap > 1.02 * joinedgap: Those who are being answered wait even longer.; elif aheadgap < 0.98 * joinedgap: That makes gaps shorter here.; else: That changes gaps little.}"],
        board: [["{=joinedgap ms big} and {=aheadgap ms}", "99 of 100 gaps are shorter: joined, and prompts first"]] },
      { title: "Prompts in chunks", set: { way: "sarathi", limit: 8, rate: 4, prompt: 3000, chunk: 512 },
        lead: "Let a step have {chunk} at most: a token for each answer, and chunks of prompts in what is left. Gaps are below {=cutgap ms}.",
        text: ["{if cutgap < 0.9 * joinedgap: No step is long, so nobody has to wait long for the next token: with whole prompts, gaps are below {=joinedgap ms}.; else: With whole prompts, gaps are below {=joinedgap ms}: such short prompts need no cutting, or the chunks are too large to help.}",
          "First tokens come after {=cut ms}, and with whole prompts after {=joined ms}. {if cut > 1.02 * joined: A prompt that is cut needs more steps, and each reads all weights.; elif cut < 0.98 * joined: Here they even come sooner: {=at(way, 'sarathi', mean_waiting) x} wait for a place on average, in place of {=at(way, 'orca', mean_waiting) x}.; else: That is about as soon.}"],
        board: [["{over: {=joinedgap ms} | {=cutgap ms}} = {=joinedgap / cutgap x big}", "the gap with whole prompts, over that with chunks"]] },
      { title: "How many places?", set: { way: "sarathi", limit: 32, rate: 8, prompt: 1000, chunk: 512 },
        lead: "With {limit} and {rate}, {way} gives a first token after {=first ms}, and {=speed n weights} tokens a second.",
        text: ["{if at(limit, 4, first) > 2 * at(limit, 32, first): With 4 places it would be {=at(limit, 4, first) ms}, with 32 places {=at(limit, 32, first) ms}: a reader who shares the sweep of the weights costs little, and one who waits gets nothing.; else: With 4 places it would be {=at(limit, 4, first) ms}, with 32 places {=at(limit, 32, first) ms}.}",
          "Places end where the memory for keys and values does. That is the next question."],
        board: [["{=rows x big}", "rows do work on average, of {limit}"]] },
    ],
    ask: {
      at: { way: "orca", limit: 8, rate: 4, prompt: 3000, chunk: 512 },
      text: "Prompts of 3,000 tokens, and continuous batching with 8 places. Readers complain that answers stutter: one gap in a hundred is longer than {=gap ms}. What makes the gaps shortest, and nobody wait longer for the first token?", best: { where: "first <= before(first)", least: "gap" },
      shows: "{if way = 'static': whole answers after {=first ms}; else: gaps below {=gap ms}, first token after {=first ms}}",
      answers: [
        { say: "A static batch", set: { way: "static" }, reply: "No gaps at all, which tempts: answers come whole. But they come after {=first ms} on average, where the first token came after {=before(first) ms}." },
        { say: "Only 4 places", set: { limit: 4 }, reply: "Gaps are below {=gap ms}, from {=before(gap) ms}. It tempts, since fewer share a step, and fewer prompts come into it; but one is enough to make it long. And the first token now comes after {=first ms}, in place of {=before(first) ms}." },
        { say: "Prompts in steps of their own", set: { way: "vllm-v0" }, reply: "Gaps are below {=gap ms}, from {=before(gap) ms}: answers still stand while prompts are read. It tempts, since the steps of answers are short again, but nobody minds those." },
        { say: "Prompts in chunks of what 512 tokens leave", set: { way: "sarathi", chunk: 512 }, right: true, reply: "Right: gaps are below {=gap ms}, from {=before(gap) ms}. First tokens come after {=first ms}, from {=before(first) ms}." },
      ],
    },
    check: {
      at: { way: "static" },
      text: "Four answers of 50, 100, 150 and 300 tokens are in one static batch. What share of its places does work, in percent?",
      formula: "(50 + 100 + 150 + 300) / (4 * 300)", times: 100, unit: "%", says: "percent", within: 0.02, right: "Right: 600 of 4 × 300 rows of steps are work, {=600 / 1200 %}.",
      wrong: "The batch has 4 places for 300 steps. Add up the steps in which a place has something to write.",
      near: [["(50 + 100 + 150) / (4 * 300)", "The longest answer is work as well."]],
    },
    measured: {
      text: "Orca's authors served GPT-3 with 175 billion parameters: 36.9 times the throughput of FasterTransformer, which lets nobody join a batch that runs, at the same latency.",
      source: "Yu and others, Orca (2022), abstract", url: "https://www.usenix.org/conference/osdi22/presentation/yu",
    },
    paper: { title: "Yu and others, Orca (2022), and Agrawal and others, Sarathi-Serve (2024)", url: "https://www.usenix.org/conference/osdi22/presentation/yu" },
    command: (h) => `llmsim scenario playground ${settings(h).map((s) => `--set ${s}`).join(" ")}`,
  });
})();
