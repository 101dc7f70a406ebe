// Guess ahead: a small model drafts, the large one checks all drafts in one sweep, and when that costs more than it gives.
"use strict";
(() => {
  // The six words of the coin: their chances by the large model and by the small one, as in internal/report/lesson.
  const coinWords = [["the", 0.4, 0.25], ["a", 0.25, 0.4], ["cat", 0.15, 0.1], ["dog", 0.1, 0.05], ["runs", 0.06, 0.15], ["sleeps", 0.04, 0.05]];
  const of = (k) => coinWords.map((w) => `${w[k]} * (word = '${w[0]}')`).join(" + ");

  // coinBars draws for each word a bar as long as the small model's chance, with what is kept and dropped of it, and one as long
  // as the large model's, with what is drawn in place of dropped words.
  function coinBars(canvas, look) {
    const pen = machine.pad(canvas), { of: colour, em } = pen, size = pen.width < 27 * em ? 0.85 : 1.1, left = pen.wide("sleeps", size) + em;
    const parts = { kept: "guessed and kept", dropped: "guessed and dropped", anew: "drawn in place of dropped ones" };
    const paint = (kind, x, y, w, h) => {
      if (kind === "kept") pen.box(x, y, w, h, colour.weights);
      if (kind === "dropped") machine.hatched(pen, x, y, w, h, colour.alarm, 8);
      if (kind === "anew") { pen.box(x, y, w, h, colour.weights, 0.3); pen.frame(x + 1, y + 1, Math.max(0, w - 2), h - 2, colour.weights, 2); }
    };
    let at = 0, top = 1.5 * em;
    for (const [kind, name] of Object.entries(parts)) {
      if (at + pen.wide(name, size) + 2 * em > pen.width) { at = 0; top += 1.5 * em; }
      paint(kind, at, top - 0.8 * em, em, em);
      pen.text(name, at + 1.3 * em, top, { size, colour: colour.ink });
      at += pen.wide(name, size) + 2.8 * em;
    }
    const each = (pen.height - top - em) / coinWords.length, room = (pen.width - left - pen.wide("40 % guessed", size, true) - em) / 0.4;
    return { words: coinWords.map(([word, p, q], i) => {
      const y = top + 0.8 * em + i * each, h = each * 0.36, on = word === look.h.word, both = Math.min(p, q), colours = on ? colour.ink : colour.soft;
      pen.text(word, 0, y + h + 0.35 * em, { size, bold: on, colour: colours });
      return { word, both, bars: [["dropped", q, "guessed"], ["anew", p, "written"]].map(([kind, chance, says], k) => {
        const from = y + k * (h + 2);
        paint("kept", left, from, both * room, h);
        paint(kind, left + both * room, from, (chance - both) * room, h);
        if (on) pen.frame(left - 1, from, chance * room + 2, h, colour.ink, 2);
        pen.text(`${sentences.write(chance, "%")} ${says}`, left + chance * room + 0.5 * em, from + h / 2 + 0.35 * em, { size, bold: on, colour: colours });
        return chance * room;
      }) };
    }) };
  }

  // coinsOf returns how many guesses held in each step of an answer, in the order of a run.
  function coinsOf(frames) {
    const held = new Map(), list = [];
    for (const f of frames)
      for (const r of f.running) {
        if (r.does === "decode" && !r.done && held.has(r.id)) list.push({ id: r.id, held: (r.accepted ?? 0) - held.get(r.id) });
        held.set(r.id, r.accepted ?? 0);
      }
    return list;
  }

  // coins draws a column for each of the first steps of a run: guesses that held, the large model's own token above them, and
  // pale what was dropped after a wrong guess.
  const coins = Object.assign((canvas, look) => {
    const frames = look.get("draws")?.list;
    if (!frames) return undefined;
    const pen = machine.pad(canvas), { of, em } = pen, { ahead } = look.h, size = pen.width < 27 * em ? 0.85 : 1, all = coinsOf(frames);
    const wide = Math.max(0.9 * em, pen.width / 32), shown = all.slice(0, Math.floor(pen.width / wide)), mean = all.reduce((n, c) => n + c.held + 1, 0) / all.length;
    const found = sentences.rounded(mean), formula = sentences.rounded(look.value("given"));
    pen.text(size < 1 ? `A run: ${found} tokens a step; formula: ${formula}` : `${all.length} steps of a run give ${found} tokens each; the formula says ${formula}`, 0, em, { colour: of.ink, bold: true, size });
    const top = 1.7 * em, high = (pen.height - top - 1.8 * em) / (ahead + 1), h = Math.max(2, high - 2), y = (k) => top + (ahead - k) * high;
    shown.forEach(({ held }, i) => {
      const x = i * wide, w = wide - 3;
      for (let k = 0; k <= ahead; k++)
        if (k < held) pen.box(x, y(k), w, h, of.weights);
        else if (k === held) { pen.box(x, y(k), w, h, of.weights, 0.25); pen.frame(x + 1, y(k) + 1, w - 2, Math.max(0, h - 2), of.weights, 2); }
        else if (k === held + 1) machine.hatched(pen, x, y(k), w, h, of.alarm, 6);
        else pen.box(x, y(k), w, h, of.unlit);
    });
    let at = 0;
    for (const [name, paint] of [["held", (x, y) => pen.box(x, y, em, em, of.weights)], ["the model’s own", (x, y) => { pen.box(x, y, em, em, of.weights, 0.25); pen.frame(x + 1, y + 1, em - 2, em - 2, of.weights, 2); }],
      ["wrong", (x, y) => machine.hatched(pen, x, y, em, em, of.alarm, 6)], ["dropped", (x, y) => pen.box(x, y, em, em, of.unlit)]]) {
      paint(at, pen.height - 1.15 * em);
      pen.text(name, at + 1.3 * em, pen.height - 0.3 * em, { size });
      at += pen.wide(name, size) + 2.2 * em;
    }
    return { coins: all, mean };
  }, { asks: (look) => look.get("draws") });

  chapter({
    id: "guess", number: 8, title: "Guess ahead?", ideas: "speculative sampling, when it pays and when it hurts", short: "Guess",
    question: "Llama 3.1 70B on four H100 writes one token a sweep. A small model could guess the next ones. Every underlined number can be dragged.",
    handles: {
      ahead: { label: "Tokens that are guessed", stops: [1, 2, 3, 4, 6, 8, 12], at: 4, tone: "prompt", show: (n) => n === 1 ? "1 guess" : `${n} guesses` },
      chance: { label: "Chance that a guess is right", stops: [0.3, 0.5, 0.6, 0.7, 0.8, 0.9], at: 0.7, show: (p) => `${Math.round(100 * p)} %` },
      readers: { label: "Readers", stops: [1, 4, 16, 64, 128, 256], at: 1, grip: "readers", show: (n) => n === 1 ? "1 reader" : `${n} readers` },
      word: { label: "The word that is guessed", stops: coinWords.map(([w]) => w), at: "a", tone: "prompt", show: (w) => `“${w}”` },
      drafter: { label: "The small model", stops: ["llama-3.2-1b", "llama-3.2-3b", "llama-3.1-8b"], at: "llama-3.2-1b", tone: "weights",
        show: (m) => ({ "llama-3.2-1b": "Llama 3.2 1B", "llama-3.2-3b": "Llama 3.2 3B", "llama-3.1-8b": "Llama 3.1 8B" })[m] },
    },
    runs(h) {
      const server = ["model=llama-3.1-70b", "hardware=h100-sxm", "parallelism.tensor=4"], load = { decodes: h.readers, context: 512 };
      const guessing = [...server, "speculation.method=draft-model", `speculation.draft=${h.drafter}`, `speculation.tokens=${h.ahead}`, `speculation.acceptance=${h.chance}`];
      return { plain: ledger.step(server, load), here: ledger.step(guessing, load), draws: ledger.frames([...guessing, "workload.rate=1/s"], 4000) };
    },
    figures: {
      model: of(1), draft: of(2), holds: "min(1, model / draft)", kept: coinWords.map(([, p, q]) => `min(${p}, ${q})`).join(" + "),
      each: "ms / given", gain: "plain.ms / each", dearer: "ms / plain.ms", sums: "flop.matmul + flop.attention + flop.other", plainsums: "plain.flop.matmul + plain.flop.attention + plain.flop.other",
    },
    scene: (look) => ledger.scene(look.get("here"), { readers: look.h.readers, given: look.get("given"), ...look.h.readers === 1 ? { name: `a step, ${sentences.write(look.get("given"), "x")} tokens` } : {} }),
    steps: [
      { title: "Guess, then check all at once", set: { ahead: 4, chance: 0.7, readers: 1, drafter: "llama-3.2-1b" },
        lead: "{drafter} makes {ahead}{if ahead > 1: , one after the other; else: }. The large model then checks {if ahead = 1: it; else: them all} in one sweep.",
        text: ["Without guesses a step takes {=plain.ms ms} and gives each reader one token. A token that is already there can be checked without waiting for the ones before it. So the guesses go through the layers together, as the tokens of a prompt do.",
          "The large model's own chances decide what is kept. Where a guess is wrong, it and all after it are dropped, and the large model's own token takes its place. What comes out obeys the large model's chances exactly, as the step after the next shows."],
        board: [["{=ahead n} + 1 = {=ahead + 1 n big} tokens", "at most from one step"]],
        notes: "Ask: why can checking be done together when writing cannot? The tokens to check are known." },
      { title: "How many tokens a step gives", set: { ahead: 4, chance: 0.7, readers: 1 }, figure: coins, figured: "Which guesses held in the first steps of a run of this server",
        lead: "Each guess holds with a chance of {chance}, if those before it hold. So a step gives {=given x} tokens on average.",
        text: ["The large model's own token always comes. A second comes if one guess holds, a third if two hold, and so on. With a for the chance, that is 1 + a + a² + … up to one term for each guess, which sums to (1 − aᵏ⁺¹) / (1 − a) for k guesses.",
          "However many are guessed, it stays below 1 / (1 − a), which is {=1 / (1 - chance) x} here. With {ahead}, it is {=given * (1 - chance) %} of that. Each column of the figure is a step of one answer, as a run of this server with one request a second draws its coins."],
        board: [["{over: 1 − {=chance x} to the power of {=ahead + 1 n} | 1 − {=chance x}} = {=given x big}", "tokens a step"]] },
      { title: "The coin", set: { word: "a" }, draw: coinBars,
        lead: "The small model guesses {word} with a chance of {=draft %}, the large one would say it with {=model %}. A coin keeps it with a chance of {=holds %}.",
        text: ["{if draft > model: It is guessed too often, so some of these guesses are dropped: kept are {=model %} in place of {=draft %}.; else: It is guessed too rarely, so each such guess is kept. What is missing comes from words that are drawn in place of dropped ones.}",
          "In place of a dropped word, one is drawn from those that are guessed too rarely, just as often as each is missing. So the words that come out are the large model's, and not the small one's. Of these guesses, {=kept %} are kept in the long run: the sum of the smaller chances."],
        board: [["min(1, {=model x} / {=draft x}) = {=holds x big}", "the chance that {word} is kept"]],
        notes: "The six words and their two laws are an example. Algorithm 1 and corollary 3.6 of Leviathan and others." },
      { title: "What a step costs", set: { ahead: 4, chance: 0.7, readers: 1 },
        lead: "With {ahead} of {drafter}, a step takes {=ms ms} where {=plain.ms ms} gave one token.",
        text: ["So a token takes {=each ms}, {if gain > 1.005: and comes {=gain ×} as fast; elif gain > 0.995: about as long as without guesses; else: longer than the {=plain.ms ms} without guesses}.",
          "The weights of the large model are read once for the whole step, however many guesses it checks. Those of the small model are read once for each guess. The picture is of one of the four GPUs, which each hold a quarter of the large model."],
        board: [["{over: {=ms ms} | {=given x}} = {=each ms big}", "a token; without guesses {=plain.ms ms}"]] },
      { title: "{if gain > 1: Guesses that hold pay; else: When guesses are poor}", set: { ahead: 8, chance: 0.3, readers: 1 },
        lead: "With a chance of {chance} and {ahead}, a step gives {=given x} tokens. It costs about the same as with good ones: {=ms ms}.",
        text: ["A token takes {=each ms}; without guesses it takes {=plain.ms ms}. {if each < plain.ms: Guessing still pays here.; else: Guessing does not pay here.}",
          "{if falls(each, ahead): A further guess would still make a token cheaper; else: A further guess makes a token no cheaper}: it counts only if all before it hold."],
        board: [["{=given x} / {=dearer x} = {=gain x big}", "tokens gained over time paid"]] },
      { title: "{if gain > 1: While the server has time; else: When the server is busy}", set: { ahead: 4, chance: 0.7, readers: 256 },
        lead: "For {readers}, a step with {ahead} computes {=sums FLOP arithmetic} on each of the four GPUs; without, {=plainsums FLOP}.",
        text: ["All figures here are of one of the four, which work side by side. Sums go on for {=parts.arithmetic ms arithmetic} of such a step after the weights that they need have come; without guesses, for {=plain.parts.arithmetic ms}. Moving the numbers that one layer hands to the next takes {=parts.activations ms}, without {=plain.parts.activations ms}. And drafting takes {=parts.rest ms prompt}. Tokens that are dropped were computed as well.",
          "A token takes {=each ms} with guesses and {=plain.ms ms} without. {if each < plain.ms: Here they still pay.; else: Here they make everyone slower.}"],
        board: [["{over: {=plain.ms ms} | {=each ms}} = {=gain x big}", "times as fast with guesses"]] },
    ],
    ask: {
      at: { ahead: 4, chance: 0.7, readers: 1, drafter: "llama-3.2-1b" },
      text: "Four guesses of Llama 3.2 1B, each with a chance of 70 % to hold, make a token take {=each ms} for one reader, where it takes {=plain.ms ms} without. Which of these makes guessing a loss?", best: { where: "gain < 1", most: "1" },
      shows: "{=each ms} a token, without guesses {=plain.ms ms}",
      answers: [
        { say: "A chance of 30 % only", set: { chance: 0.3 }, reply: "{=each ms} a token, {=gain ×} as fast as without guesses. It tempts: a step gives {=given x} tokens only. But checking adds {=ms - plain.ms - parts.rest ms} only to a step of one reader, since the weights are read anyhow; the rest is drafting." },
        { say: "A drafter of 8B", set: { drafter: "llama-3.1-8b" }, reply: "{=each ms} a token, {=gain ×} as fast as without. It tempts, since its weights are read for each guess and a step takes {=ms ms}. That is dearer than with the 1B model, and still no loss, if it guesses no better." },
        { say: "64 readers", set: { readers: 64 }, reply: "{=each ms} a token, and {=plain.ms ms} without: {=gain ×} as fast. It tempts, and points the right way: the gain was {=before(gain) ×} for one reader." },
        { say: "256 readers", set: { readers: 256 }, right: true, reply: "Right: {=each ms} a token, and {=plain.ms ms} without. Five tokens for each of 256 readers need {=parts.arithmetic ms arithmetic} of sums beyond the reading, where it was {=plain.parts.arithmetic ms}, and drafting takes {=parts.rest ms}." },
      ],
    },
    check: {
      at: { ahead: 2, chance: 0.5 },
      text: "Two guesses are made, and each holds with a chance of {chance} if those before it do. How many tokens does a step give on average?",
      formula: "1 + chance + chance * chance", unit: "x", says: "tokens", within: 0.01, right: "Right: 1 + {=chance x} + {=chance * chance x} = {=1 + chance + chance * chance x}.",
      wrong: "The model's own token always comes. Add the chance that the first holds, and the chance that both do.",
      near: [["chance + chance * chance", "The token that the large model itself adds comes as well."], ["1 + 2 * chance", "The second guess counts only if the first holds, too."], ["3", "That is when all hold."]],
    },
    measured: {
      text: "vLLM's authors served a 70B model with guesses. Those of a small model made it up to 1.5 times as fast at one request a second; under load, guessing made it 1.4 to 1.8 times as slow. The scenario papers/speculation-70b, simulated, gives 1.44 times as fast at one request a second, and 1.75 times the time for each token at 32.",
      source: "vLLM's authors (October 2024), as in docs/speculation.md", url: "https://blog.vllm.ai/2024/10/17/spec-decode.html",
    },
    paper: { title: "Leviathan and others, Fast Inference from Transformers via Speculative Decoding (2023)", url: "https://arxiv.org/abs/2211.17192" },
    command: (h) => `llmsim roofline llama-3.1-70b h100-sxm --batch ${h.readers} --context 512 --set parallelism.tensor=4 --set speculation.method=draft-model --set speculation.draft=${h.drafter} --set speculation.tokens=${h.ahead} --set speculation.acceptance=${h.chance}`,
  });
})();
