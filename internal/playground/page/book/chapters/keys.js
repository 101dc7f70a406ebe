// Where do the keys live? Room that is reserved, room that is rounded up, and blocks.
"use strict";
(() => {
  const keepings = { max: "the longest context", pow2: "a power of two of tokens", oracle: "just its length", paged: "blocks as needed" };

  // paint fills a box: tokens and what is never used are hatched, the rest is plain.
  function paint(pen, tone, x, y, w, h, share) {
    if (tone === "kv") machine.hatched(pen, x, y, w, h, pen.of.kvfill, 5);
    else if (tone === "alarm") machine.hatched(pen, x, y, w, h, pen.of.alarm, 12);
    else pen.box(x, y, w, h, pen.of[tone], share);
  }

  // keysBars draws what each way of keeping does with the memory, the chosen one with its shares.
  function keysBars(canvas, look) {
    const pen = machine.pad(canvas), { of, em } = pen, phone = pen.width < 27 * em, size = phone ? 0.9 : 1.1;
    const kinds = [["tokens", "tokens", "kv"], ["reserved", "for tokens to come", "soft"], ["rounded", "never used", "alarm"], ["between", "nobody's", "unlit"]];
    const ways = look.of.handles.way.stops.map((way) => ({ way, shares: kinds.map(([formula]) => look.with("way", way).value(formula)) }));
    let x = 0, y = 1.6 * em;
    for (const [, name, tone] of kinds) { // a key above the bars
      const wide = pen.wide(name, size) + 2.4 * em;
      if (x + wide > pen.width) { x = 0; y += 1.5 * em; }
      paint(pen, tone, x, y - 0.8 * em, 0.9 * em, 0.9 * em, 1);
      pen.frame(x + 0.5, y - 0.8 * em + 0.5, 0.9 * em - 1, 0.9 * em - 1, of.line, 1);
      pen.text(name, x + 1.2 * em, y, { size, colour: of.ink });
      x += wide;
    }
    const top = y + em, high = (pen.height - top - 0.5 * em) / ways.length;
    ways.forEach(({ way, shares }, i) => {
      const mine = way === look.h.way, from = top + i * high, bar = high - 2 * em;
      pen.text(keepings[way], 0, from + 1.1 * em, { size, bold: mine, colour: mine ? of.ink : of.soft });
      if (Number.isFinite(shares[0])) pen.text(sentences.write(shares[0], "%"), pen.width, from + 1.1 * em, { size, align: "right", bold: mine, colour: mine ? of.ink : of.soft });
      let at = 0;
      shares.forEach((share, k) => { paint(pen, kinds[k][2], at, from + 1.5 * em, share * pen.width, bar, mine ? 1 : 0.55); at += share * pen.width; });
      pen.frame(0.5, from + 1.5 * em, pen.width - 1, bar, mine ? of.ink : of.line, mine ? 2 : 1);
    });
    return { ways };
  }

  chapter({
    id: "keys", number: 5, title: "Where do the keys live?", ideas: "the KV cache, PagedAttention, blocks", short: "Keys",
    question: "OPT-13B on an A100, in the experiment of the paper on vLLM: room for 15,728 tokens, and more requests than it can serve.",
    picture: "Four bars, one for each way of keeping: the shares of memory that hold tokens, wait for tokens, are never used, or are nobody's",
    handles: {
      way: { label: "What is kept for a request", stops: ["max", "pow2", "oracle", "paged"], at: "max", tone: "kv", show: (w) => keepings[w] },
      block: { label: "Tokens in a block", stops: [16, 64, 256], at: 16, show: (n) => `${n} tokens` },
    },
    runs(h) {
      const kept = h.way === "paged" ? ["memory.policy=paged", `memory.block-size=${h.block}`] : ["memory.policy=contiguous", `memory.reserve=${h.way}`];
      return { here: ledger.result(["model=opt-13b", "hardware=a100-40gb-sxm", "engine=vllm-2023", "memory.tokens=15728", "batching=orca", "batching.max-batch=256",
        "memory.utilization=1", ...kept, "workload.rate=20/s", "workload.duration=60s", "workload.prompt.mean=175", "workload.prompt.cv=1.3", "workload.prompt.min=4", "workload.prompt.max=1024",
        "workload.output.distribution=gamma", "workload.output.mean=344", "workload.output.cv=0.85", "workload.output.min=4", "workload.output.max=1900"]) };
    },
    figures: { tokens: "kv_tokens_share", reserved: "kv_reserved_share", rounded: "kv_internal_share", between: "kv_external_share", batch: "mean_decode_batch",
      longest: "at(way, 'max', tokens)", powers: "at(way, 'pow2', tokens)", known: "at(way, 'oracle', tokens)", blocks: "at(way, 'paged', tokens)" },
    draw: keysBars,
    steps: [
      { title: "A request needs a place", set: { way: "max", block: 16 },
        lead: "Keys and values need a place before they are written. This server keeps {way} for a request, and {=tokens % kv} of its memory holds tokens.",
        text: ["Drag what it keeps, and watch the parts of the bars: room for tokens that are still to come, room that no token ever uses, and room that is nobody's."],
        board: [["{=tokens %1 kv} + {=reserved %1} + {=rounded %1} + {=1 - tenths(tokens) - tenths(reserved) - tenths(rounded) %1}", "tokens, to come, never used, nobody's"]] },
      { title: "Room for the longest", set: { way: "max", block: 16 },
        lead: "If one run of memory is kept for the longest context, 2,048 tokens, {=longest % kv} holds tokens.",
        text: ["Most answers end long before. {=at(way, 'max', rounded) %} of the memory is kept for tokens that never come, and the server decodes {=at(way, 'max', batch) x} requests at once."],
        board: [["{over: 15,728 | 2,048} = {=15728 / 2048 x big}", "so 7 requests have room, at most"]] },
      { title: "Even the true length", set: { way: "oracle", block: 16 },
        lead: "Rounding the answer up to a power of two holds tokens in {=powers % kv}. Knowing its true length, {=known % kv}.",
        text: ["No server knows the true length. Even if it did, that room fills a token at a time, and is full only with the last: {=at(way, 'oracle', reserved) %} waits for tokens to come. And {=at(way, 'oracle', between) %} is nobody's: gaps between the runs, and the room that no waiting request fits into."] },
      { title: "Blocks as they are needed", set: { way: "paged", block: 16 },
        lead: "A request takes a block of {block} when it needs one, wherever one is free: {=blocks % kv} holds tokens.",
        text: ["A table says where each block lies, as an operating system's does for its pages: hence paged attention, or PagedAttention. So no run of memory has to be found. The server decodes {=at(way, 'paged', batch) x} requests at once, in place of {=at(way, 'max', batch) x} with the longest context kept."],
        board: [["{over: {=at(way, 'paged', batch) x} | {=at(way, 'max', batch) x}} = {=at(way, 'paged', batch) / at(way, 'max', batch) x big}", "times as many requests at once"]] },
    ],
    ask: {
      at: { way: "max", block: 16 },
      text: "The longest context is kept for each request, and {=tokens %} of the memory holds tokens. What brings it closest to all of it?", best: { most: "tokens" },
      shows: "{=tokens %} holds tokens, {=batch x} decode at once",
      answers: [
        { say: "Round up to a power of two", set: { way: "pow2" }, reply: "{=tokens %}. It tempts, since a short answer keeps less. But {=reserved + rounded %} of the memory is still kept and empty." },
        { say: "Know each answer's length", set: { way: "oracle" }, reply: "{=tokens %}. It tempts, since nothing is kept in vain: {=rounded %} is never used. But {=reserved %} is kept for tokens that are not written yet." },
        { say: "Blocks of 256 tokens", set: { way: "paged", block: 256 }, reply: "{=tokens %}. Blocks are right, but these are large: the last block of each request is partly empty." },
        { say: "Blocks of 16 tokens", set: { way: "paged", block: 16 }, right: true, reply: "Right: {=tokens %}. Only a request's last block can be partly empty." },
      ],
    },
    check: {
      at: { way: "max", block: 16 },
      text: "A request has 100 tokens, and its memory comes in blocks of 16. How many tokens of its last block are empty?",
      formula: "7 * 16 - 100", unit: "n", says: "tokens", within: 0.001, right: "Right: 7 blocks have room for 112 tokens.", wrong: "It needs 7 blocks: 6 hold only 96 tokens.",
      near: [["100 - 6 * 16", "Those are the tokens in the last block; the question is for the empty ones."], ["2048 - 100", "That would be empty with the longest context kept."]],
    },
    measured: { text: "The paper measured 20.4 % of the memory with tokens where the longest context is kept, 26.8 % with a power of two, 38.2 % with the true length and 96.3 % with blocks. Simulated, a minute of 20 requests a second until the last is answered: {=longest %1}, {=powers %1}, {=known %1} and {=at(block, 16, blocks) %1}. With blocks it is less than measured, since the seconds count in which memory fills and, after the last request has come, empties.",
      source: "Kwon and others (2023), figure 2: Orca (Max), Orca (Pow2), Orca (Oracle), vLLM", url: "https://arxiv.org/abs/2309.06180" },
    paper: { title: "Kwon and others, PagedAttention (2023)", url: "https://arxiv.org/abs/2309.06180" },
    command: (h) => "llmsim scenario papers/vllm --set workload.rate=20/s --set workload.duration=60s " + (h.way === "paged" ? `--set memory.block-size=${h.block}` : `--set 'memory={policy: contiguous, reserve: ${h.way}, tokens: 15728, utilization: 1}'`),
  });
})();
