// Agents and caches: each call repeats all that was said before, and what a cache finds of it.
"use strict";
(() => {
  const keeps = { off: "no cache", on: "a cache", small: "room for 16,000 tokens", some: "that, and 4 GiB on the host", host: "that, and 32 GiB on the host" };
  const settings = { off: ["memory.policy=paged"], on: ["memory.policy=prefix-cache"], small: ["memory.policy=prefix-cache", "memory.tokens=16000"],
    some: ["memory.policy=offload", "memory.cpu=4GiB", "memory.tokens=16000"], host: ["memory.policy=offload", "memory.cpu=32GiB", "memory.tokens=16000"] };
  const talks = (h) => [`workload.sessions={turns: ${h.turns}, think: 3s}`, `workload.rate=${h.rate}/s`, ...settings[h.keep]];
  const calls = [1, 2, 4, 6, 8, 12];

  // growing draws the prompt of each call: what was there before, and what is new.
  function growing(canvas, look) {
    const rows = calls.map((n) => { const l = look.with("call", n); return { name: `call ${n}`, on: n === look.h.call, parts: [["said before", l.value("history"), "kv"], ["new", look.h.told, "prompt"]] }; });
    return { rows: bars(canvas, "Tokens of the prompt", rows, "n") };
  }

  // foundBars draws how many tokens of prompts a run finds and computes, for some ways of keeping.
  const foundRows = (look, names) => names.map((k) => {
    const l = look.with("keep", k), found = l.value("run.cached_tokens"), all = l.value("run.total_input_tokens");
    return { name: keeps[k].replace("that,", "16,000 tokens,"), on: k === look.h.keep, parts: [["found", found, "kv"], ["computed", all - found, "prompt"]] };
  });
  const foundBars = (...names) => Object.assign((canvas, look) => {
    const rows = foundRows(look, names);
    return rows.some((r) => r.parts.some(([, v]) => !Number.isFinite(v))) ? undefined : { rows: bars(canvas, "Tokens of all prompts in a minute", rows, "n") };
  }, { asks: (look) => foundRows(look, names) });

  // sharing draws the same for requests that begin alike.
  const sharing = Object.assign((canvas, look) => {
    const rows = [["a cache", "shared"], ["no cache", "unshared"]].map(([name, run]) => [name, look.value(`${run}.cached_tokens`), look.value(`${run}.total_input_tokens`)]);
    return rows.some(([, , all]) => !Number.isFinite(all)) ? undefined : { rows: bars(canvas, "Tokens of all prompts in a minute", rows.map(([name, found, all], i) => ({ name, on: i === 0, parts: [["found", found, "kv"], ["computed", all - found, "prompt"]] })), "n") };
  }, { asks: (look) => ["shared", "unshared"].map((run) => look.get(run)) });

  const only = (look) => ledger.scene(look.get("found"), { prompt: true, name: "only what is new" });

  chapter({
    id: "agents", number: 14, title: "Agents and caches", ideas: "prefix caches, tools, memory of the host", short: "Agents",
    question: "An agent works in calls: it reads, asks for a tool, reads the tool's result, and so on. The model remembers nothing in between.",
    handles: {
      call: { label: "Which call it is", stops: calls, at: 6, show: (n) => `call ${n}` },
      told: { label: "New tokens in each call", stops: [100, 300, 1000, 3000], at: 1000, tone: "prompt", show: (n) => `${n.toLocaleString("en")} tokens` },
      turns: { label: "Turns of a conversation", stops: [1, 3, 6, 9], at: 6, show: (n) => n === 1 ? "one turn" : `${n} turns` },
      rate: { label: "Conversations that begin in a second", stops: [0.25, 0.5, 1], at: 1, show: (n) => `${n} a second` },
      keep: { label: "What is kept between calls", stops: Object.keys(keeps), at: "on", tone: "kv", show: (k) => keeps[k] },
    },
    runs(h) {
      const past = (h.call - 1) * (h.told + 200), share = ["workload.prefix={groups: 1, tokens: 2000}", "workload.rate=10/s", "workload.prompt.mean=200"];
      return { here: ledger.step([], { prompts: [past + h.told] }), found: ledger.step([], { prompts: [{ new: h.told, cached: past, left: 0 }] }),
        run: ledger.result(talks(h)), shared: ledger.result([...share, ...settings.on]), unshared: ledger.result([...share, ...settings.off]) };
    },
    figures: {
      history: "(call - 1) * (told + 200)", whole: "history + told", saved: "ms / found.ms", all: "call * told + call * (call - 1) / 2 * (told + 200)",
      share: "run.cached_tokens / run.total_input_tokens", first: "run.mean_ttft_ms", offfirst: "at(keep, 'off', first)", onfirst: "at(keep, 'on', first)", onshare: "at(keep, 'on', share)",
      smallshare: "at(keep, 'small', share)", smallfirst: "at(keep, 'small', first)", hostshare: "at(keep, 'host', share)", hostfirst: "at(keep, 'host', first)",
    },
    draw: foundBars("off", "on", "small", "some", "host"), picture: "Bars: tokens of prompts, found and computed",
    steps: [
      { title: "Everything that was said", set: { call: 6, told: 1000 }, draw: growing,
        lead: "Each call adds {told}. The prompt of {call} has {=whole n prompt}{if call = 1: . Nothing came before it.; else: , since it repeats all that came before.}",
        text: ["Say the model answers each call with 200 tokens: these are repeated too. Without a cache, all of the prompt is computed: {=ms ms prompt}.",
          "{if call = 1: With each further call there is more to repeat.; else: Up to here, {=all n} tokens of prompts were computed, and only {=call * told n} of them were new.} What is repeated grows with the square of the calls."],
        board: [["{=call - 1 n} × ({=told n} + 200) + {=told n} = {=whole n big}", "tokens of the prompt of {call}"]] },
      { title: "Keep what was computed", set: { call: 6, told: 1000 }, lasts: 3, scene: only, draw: (canvas, look) => machine(canvas, { at: look.at, number: look.number, still: look.still, ...only(look) }),
        lead: "The keys and values of the {=history n} tokens before are as they were. A server that keeps them computes {told} only: {=found.ms ms} in place of {=ms ms}.",
        text: ["It is called a prefix cache, since it works from the beginning only: change the first word of a prompt, and beyond the first layer no key or value after it is right any more. So agents put what stays the same first, and what changes last.",
          "{if call = 1: Before the first call there is nothing to find.; else: It takes room. Before this call, {=history * memory.kv_token B kv} of this conversation lay in memory, and nobody computed with them.}"],
        board: [["{over: {=ms ms} | {=found.ms ms}} = {=saved x big}", "computed anew, over found"]] },
      { title: "A beginning that all share", draw: sharing,
        lead: "Instructions and descriptions of tools are the same for all. Say 2,000 tokens: with a cache, first tokens come after {=shared.mean_ttft_ms ms}, without after {=unshared.mean_ttft_ms ms}.",
        text: ["Simulated for 10 requests a second, each with 200 tokens of its own on average. Of {=shared.total_input_tokens n} tokens of prompts, {=shared.cached_tokens n kv} were found.",
          "They are stored once, for everybody: {=shared.kv_usage % kv} of the memory is in use on average, in place of {=unshared.kv_usage %}."],
        board: [["{over: {=shared.cached_tokens n kv} | {=shared.total_input_tokens n}} = {=shared.cached_tokens / shared.total_input_tokens % big}", "of the tokens of prompts found"]] },
      { title: "Many conversations", set: { turns: 6, rate: 1, keep: "on" }, draw: foundBars("off", "on"),
        lead: "Conversations of {turns}, of which {rate} begin. {if turns = 1: There is nothing to find.; else: A cache finds {=onshare % kv} of the tokens of their prompts.}",
        text: ["First tokens come after {=onfirst ms} with a cache, and after {=offfirst ms} without. {if onfirst < 0.95 * offfirst: It also spares those who are being answered: fewer prompt tokens stand in their steps.; else: With so little to find, that is nearly the same.}",
          "{if at(keep, 'on', run.total_input_tokens) > 1.005 * at(keep, 'off', run.total_input_tokens): Answers that come sooner are also followed sooner, so a little more is asked in the minute: the bars differ in length.; else: } Between two turns, three seconds pass on average in which the reader reads or the tool works. The text lies in memory meanwhile."],
        board: [["{=onfirst ms big} and {=offfirst ms}", "to the first token, with and without"]] },
      { title: "{if smallshare < 0.5 * onshare: When others overwrite it; else: While the room suffices}", set: { turns: 6, rate: 1, keep: "small" },
        lead: "Give the same server room for 16,000 tokens only: for {turns} and {rate}, a cache finds {=smallshare % kv} of the tokens of prompts.",
        text: ["{if smallshare < 0.5 * onshare: While a tool works, others need the room, and the text is overwritten. With all the memory it was {=onshare %}. First tokens come after {=smallfirst ms}.; else: With all the memory it is {=onshare %}: here that room suffices, or nearly. First tokens come after {=smallfirst ms}.}",
          "Texts that must go can go to the host's memory, and come back over a link. With 32 GiB there, {=hostshare % kv} are found, and first tokens come after {=hostfirst ms}. With {keep}, as chosen here, it is {=share %}."],
        board: [["{=smallshare %} and {=hostshare % big}", "found, without and with memory on the host"]] },
    ],
    ask: {
      at: { turns: 6, rate: 1, keep: "small" },
      text: "Conversations of six turns, one begins each second, and there is room for 16,000 tokens: {=share %} of the tokens of prompts are found. What finds the most?", best: { most: "share" },
      shows: "{=share %} found, first token after {=first ms}",
      answers: [
        { say: "4 GiB of host memory", set: { keep: "some" }, reply: "{=share %}. It tempts, since it holds twice what the GPU's room does. But it holds the texts of a few conversations only, and the oldest text is just the one whose turn comes next." },
        { say: "Half as many conversations", set: { rate: 0.5 }, reply: "{=share %}, from {=before(share) %}. It tempts, since half as many want room. But few texts survive three seconds still, even if first tokens come after {=first ms} now." },
        { say: "32 GiB of host memory", set: { keep: "host" }, right: true, reply: "Right: {=share %}, since all texts under way have room. First tokens come after {=first ms}, from {=before(first) ms}: it is still memory for the running ones that is short." },
        { say: "Shorter conversations: three turns", set: { turns: 3 }, reply: "{=share %}, from {=before(share) %}. {if share > before(share): It tempts, and helps: less text is under way at a time. But there is also less to find, and the task may need six.; else: There is also less to find.}" },
      ],
    },
    check: {
      at: { call: 6, told: 1000 },
      text: "Each call adds 1,000 tokens, and each answer has 200, which later calls repeat. How many tokens does the prompt of the sixth call have?",
      formula: "5 * (1000 + 200) + 1000", unit: "n", says: "tokens", within: 0.001, right: "Right: five calls with their answers, {=5 * 1200 n}, and 1,000 new ones.",
      wrong: "Add what five calls and their answers have left, and what the sixth adds.",
      near: [["6 * 1000", "The answers are repeated, too."], ["6 * 1200", "The sixth answer is not written yet."]],
    },
    measured: {
      text: "Llama 3.1 70B on two A100, with the same 251 questions in each run: at one a second, first tokens came after 533 ms on average, and after 244 ms where keys and values could also lie in 40 GB of the host's memory. How many were found there was not recorded.",
      source: "llm-d/llm-d-benchmark v0.2.2 (May 2025), as in kv_reuse_runs.csv", url: "https://github.com/llm-d/llm-d-benchmark",
    },
    paper: { title: "Zheng and others, SGLang: RadixAttention (2023)", url: "https://arxiv.org/abs/2312.07104" },
    command: (h) => `llmsim scenario playground ${talks(h).map((s) => `--set '${s}'`).join(" ")}`,
  });
})();
