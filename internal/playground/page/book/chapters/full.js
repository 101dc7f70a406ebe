// What if memory is full: who has to give way, where their keys go, and whom to let in.
"use strict";
(() => {
  const ways = { recompute: "compute again", swap: "swap out", reserve: "let in whoever can finish", longest: "keep room for the longest", few: "have 8 places only" };
  const settings = {
    recompute: ["batching=vllm-v0"], swap: ["batching=vllm-v0", "batching.preemption=swap", "memory.swap=16GiB"],
    reserve: ["batching=trtllm"], longest: ["batching=trtllm", "batching.max-output=600"], few: ["batching=vllm-v0", "batching.max-sequences=8"],
  };
  const all = (h) => ["memory.policy=paged", `memory.tokens=${h.room}`, ...settings[h.way], `workload.rate=${h.rate}/s`, "workload.prompt.mean=500", "workload.prompt.max=1500", "workload.output.mean=200", "workload.output.max=600"];
  const from = 9000, until = 13000;

  chapter({
    id: "full", number: 6, title: "What if memory is full?", ideas: "preemption: compute again, swap, reserve", short: "Full", lasts: 16,
    question: "Answers grow while they are written. Below the lanes of the requests you see how full the memory for their keys and values is.",
    picture: "Lanes: requests over four seconds, and below them the share of memory that is in use",
    handles: {
      room: { label: "Room for tokens", stops: [5000, 7000, 10000, 14000, 28000], at: 7000, tone: "kv", show: (n) => `${n.toLocaleString("en")} tokens` },
      rate: { label: "Requests a second", stops: [4, 6, 8, 10], at: 8, show: (n) => `${n} requests a second` },
      way: { label: "What the server does", stops: Object.keys(ways), at: "recompute", show: (w) => ways[w] },
    },
    runs: (h) => ({ here: ledger.result(all(h)), frames: ledger.frames(all(h), until, from), one: ledger.step([], { prompts: [700] }), token: ledger.step([], { decodes: 12, context: 600 }), seven: ledger.step(["model=llama-2-7b", "hardware=h100-sxm"], { decodes: 1 }) }),
    figures: {
      lost: "preemptions", first: "mean_ttft_ms", speed: "output_throughput", used: "kv_usage", rows: "mean_decode_batch", waits: "mean_waiting",
      again: "at(way, 'recompute', lost)", againspeed: "at(way, 'recompute', speed)", againfirst: "at(way, 'recompute', first)",
      swaps: "at(way, 'swap', lost)", swapspeed: "at(way, 'swap', speed)", swapfirst: "at(way, 'swap', first)",
      sure: "at(way, 'reserve', lost)", surefirst: "at(way, 'reserve', first)", sureused: "at(way, 'reserve', used)", surespeed: "at(way, 'reserve', speed)",
      longfirst: "at(way, 'longest', first)", longused: "at(way, 'longest', used)", bytes: "700 * one.memory.kv_token", again700: "one.ms", link: "63e9",
    },
    draw: Object.assign((canvas, look) => lanes(canvas, look, `Four seconds: ${look.show("way")}`, "frames", [from, until], true), { asks: (look) => look.get("frames") }),
    steps: [
      { title: "Answers grow into each other", set: { way: "recompute", room: 7000, rate: 8 },
        lead: "Say there is room for {room} of keys and values. {if again > 0: In a minute of {rate}, {=again n alarm} times a request loses its place.; else: For {rate} that is always enough.}",
        text: ["A request enters when there is room for its prompt. But then its answer grows, a token a step, and so do the others. {if again > 0: When no block is free for the next token, somebody has to give way: the one who came last. This is called preemption, the dashed red parts of lanes.; else: When no block is free, somebody has to give way. Give the memory less room, and see.}",
          "{if at(way, 'recompute', used) > 0.8: On average {=at(way, 'recompute', used) % kv} of the memory is in use.; else: On average only {=at(way, 'recompute', used) % kv} of the memory is in use. It is the peaks that decide.}"],
        board: [["{over: {=room n kv} tokens | 500 + 200 tokens} = {=room / 700 x big}", "requests of 500 + 200 tokens have room when they are complete"]] },
      { title: "Computed again", set: { way: "recompute", room: 7000, rate: 8 },
        lead: "Who gave way is read again later: its prompt, and what it had written. {if again > 0: That happened {=again n} times in this minute.; else: Nobody had to in this minute.}",
        text: ["It sounds dear and is not: all those tokens are known, so they go through the model side by side, as a prompt does. 700 tokens take {=again700 ms prompt}, less than {=again700 / token.ms + 1 n} tokens of an answer.",
          "The server writes {=againspeed n} tokens a second{if again > 0: . With room for 28,000 tokens it would write {=at(way, 'recompute', at(room, 28000, speed)) n}; else: }."],
        board: [["{=again700 ms big}", "to read 700 tokens again"]] },
      { title: "Or moved out and back", set: { way: "swap", room: 7000, rate: 8 },
        lead: "Or its keys and values move to the host's memory, and come back when there is room: swapping. First tokens come after {=swapfirst ms}, with computing again after {=againfirst ms}.",
        text: ["700 tokens are {=bytes B kv}. A link of 63 GB/s, PCI Express 5.0 at its best, takes {=bytes / link * 1000 ms} for them, each way. {if bytes / link * 1000 * 2 < again700: Out and back, that is shorter than computing them again.; else: Out and back, that is longer than computing them again.}",
          "It needs memory on the host, and a link that has time. {if swapspeed > 1.01 * againspeed: Here swapping gains {=swapspeed / againspeed - 1 %} in tokens a second.; elif swapspeed < 0.99 * againspeed: Here swapping loses {=1 - swapspeed / againspeed %} in tokens a second.; else: Here both give the same tokens a second, within one in a hundred.}"],
        board: [["{over: {=bytes B kv} | 63 GB/s} = {=bytes / link * 1000 ms big}", "to move 700 tokens one way"]] },
      { title: "Or not let in", set: { way: "reserve", room: 7000, rate: 8 },
        lead: "Or let nobody in who might not finish. With answers' lengths known in advance, {if sure = 0: nobody loses a place; else: {=sure n} lose a place}, and first tokens come after {=surefirst ms}.",
        text: ["{if surefirst > 1.05 * againfirst: With computing again it was {=againfirst ms}: to be safe is to let people wait while room is empty. {=sureused % kv} of the memory is in use, in place of {=at(way, 'recompute', used) %}.; elif surefirst < 0.95 * againfirst: With computing again it was {=againfirst ms}.; else: With computing again it was about the same, {=againfirst ms}.}",
          "And nobody knows the lengths. Who keeps room for the longest answer, 600 tokens, has {=longused % kv} of the memory in use, and first tokens after {=longfirst ms}. The way of the server in the picture: {way}."],
        board: [["{=surefirst ms} and {=longfirst ms big}", "to a first token, with lengths known, and with the longest kept"]] },
      { title: "{if waits > 5 or lost > 0: When it is simply too little; else: When it is enough}", set: { way: "recompute", room: 7000, rate: 10 },
        lead: "For {rate} and room for {room}, {=waits x} wait on average. First tokens come after {=first ms}.",
        text: ["{if waits > 5 and way = 'few': The queue grows because there are 8 places only: {=used %} of the memory is in use.; elif waits > 5: Whoever gives way, the queue stays: {=rows x} decode at once on average, and more are not let into this memory.; elif lost > 0: Preemptions tell that memory is short before the queue does.; else: Here memory is no limit.}",
          "What makes room is more memory, fewer heads (chapter 7), keys and values in 8 bits, weights in fewer (chapter 11), or shorter texts."],
        board: [["{=rows x big}", "decode at once on average"]] },
    ],
    ask: {
      at: { way: "recompute", room: 7000, rate: 10 },
      text: "There is room for 7,000 tokens, and 10 requests come a second. {=lost n} times a minute a request loses its place, and first tokens come after {=first ms}. What brings first tokens soonest?", best: { least: "first" },
      shows: "first token after {=first ms}, places lost: {=lost n}, {=speed n} tokens/s",
      answers: [
        { say: "Swap to the host's memory", set: { way: "swap" }, reply: "{=first ms}, from {=before(first) ms}. It tempts, since nothing is computed twice. But those who give way still wait until there is room, and so does the queue." },
        { say: "Let in only who can finish", set: { way: "reserve" }, reply: "{=first ms}, from {=before(first) ms}, places lost: {=lost n}. It tempts, since nobody is disturbed any more. But they wait outside in place of inside, and {=used %} of the memory is in use where it was {=before(used) %}." },
        { say: "Fewer at once: 8 places", set: { way: "few" }, reply: "{=first ms}, from {=before(first) ms}. It tempts: places lost are {=lost n}, not {=before(lost) n}. But {=speed n} tokens a second are fewer than {=before(speed) n}, and the queue grows." },
        { say: "Twice the room", set: { room: 14000 }, right: true, reply: "Right: {=first ms}, places lost: {=lost n}. The queue was there since memory was short, and {=rows x} now decode at once, not {=before(rows) x}." },
      ],
    },
    check: {
      at: { way: "recompute", room: 7000 },
      text: "Each token of this model keeps {=one.memory.kv_token B kv}. How many gigabytes does a request of 8,000 tokens keep?",
      formula: "8000 * one.memory.kv_token", times: 1e-9, unit: "B", says: "GB", within: 0.02, right: "Right: 8,000 × {=one.memory.kv_token B} = {=8000 * one.memory.kv_token B}.",
      wrong: "Multiply the tokens by the bytes a token, and count in gigabytes of 1,000,000,000 bytes.",
      near: [["8000 * one.memory.kv_token * 1000", "That is in megabytes."], ["8000 * one.memory.kv_token / 32", "That is one layer of 32."]],
    },
    measured: {
      text: "vLLM 0.15.1 with Llama 2 7B on an H100 had room for 7,463 blocks of 16 tokens, 119,408 in all. The simulator reckons with {=seven.memory.kv_tokens n}. Requests of 700 tokens, as here, take 44 blocks each: 169 of them fill it.",
      source: "inference-sim/sim-to-real-accuracy-validation, as in kv_blocks.csv", url: "https://github.com/inference-sim/sim-to-real-accuracy-validation",
    },
    paper: { title: "Kwon and others, PagedAttention, section 4.5 (2023)", url: "https://arxiv.org/abs/2309.06180" },
    command: (h) => `llmsim scenario playground ${all(h).map((s) => `--set ${s}`).join(" ")}`,
  });
})();
