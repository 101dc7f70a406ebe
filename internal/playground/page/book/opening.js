// The opening: one reader, a second one nearly for free, sixteen, then the tap opens, the queue grows, and the reader of
// the book decides. It plays by itself in five acts, and stops when it is touched. All figures, the times of all steps
// and the course of the queue are the simulator's; names and texts are written here.
"use strict";
const people = [
  ["Maya", "Why is the sea salty?", "Rain wears down rocks on land, and rivers carry the dissolved salts to the sea. The water evaporates, the salts stay, and over millions of years the sea has become as salty as it is."],
  ["Sam", "How do bees find home?", "A bee remembers the way it flew, the light of the sun and the shape of the land, and adds up its turns. So it can fly home in a straight line after a winding search for flowers."],
  ["Ines", "Why do leaves turn yellow?", "In autumn a tree takes the green out of its leaves, and colours that were there all along become visible."],
  ["Tomo", "Why are there leap years?", "The earth needs a quarter of a day more than 365 days around the sun. One day more in every fourth year makes up for it."],
  ["Lea", "Why does bread rise?", "Yeast eats sugar in the dough and gives off gas. The gluten holds the bubbles, and the loaf grows."],
  ["Omar", "Why is the sky blue?", "Air scatters blue light far more than red, so blue comes to our eyes from all sides of the sky."],
  ["Kim", "Why do boats float?", "A boat pushes water aside. Its weight is that of the water it moves, and so the water holds it."],
  ["Ana", "Why do cats purr?", "Cats purr when they are content, and also when they are hurt or afraid. The low sound may calm them."],
  ["Ravi", "How old is the moon?", "About four and a half billion years. It probably formed when a body as large as Mars met the earth."],
  ["Noor", "Why is snow white?", "Each flake has many faces that scatter all colours alike, and all colours together are white."],
  ["Finn", "Why do we yawn?", "Nobody knows for sure. It may cool the brain, or help us to stay awake, and it is catching."],
  ["Zoe", "Why does ice float?", "Water expands as it freezes, so a block of ice weighs less than the water whose place it takes."],
  ["Jon", "What is thunder?", "A flash heats the air so fast that it bursts outward. That shock is the thunder that we hear."],
  ["Mira", "Why are flamingos pink?", "They eat shrimps that are full of red pigments, and these go into their feathers."],
  ["Paul", "Why does metal feel cold?", "It leads the warmth of your hand away faster than wood does, though both are as warm as the room."],
  ["Yuki", "What is an echo?", "Sound comes back from a wall or a hill, late enough to be heard a second time."],
];

const opening = (() => {
  const { html } = htmPreact;
  const words = people.map(([, , text]) => text.match(/\S{1,4}\s?/g));
  const seconds = 20; // of the run that the last two acts show
  const server = ["batching.max-sequences=16", "workload.rate=24/s"];
  const repairs = { none: server, batch: ["batching.max-sequences=128", server[1]], second: [...server, "replicas=2"], short: [...server, "workload.output.mean=75"], memory: ["hardware=h200-sxm", ...server] };

  function runs(h) {
    const alone = (decodes, prompts = []) => ledger.step([], { decodes, context: 512, prompts });
    const run = ledger.result(repairs[h.repair]), hardware = h.repair === "memory" ? ["hardware=h200-sxm"] : [];
    return {
      one: alone(1), two: alone(2), four: alone(4), eight: alone(8), sixteen: alone(16), prompt: alone(0, [512]), both: alone(1, [512]),
      run, course: ledger.overview(repairs[h.repair]), base: ledger.result(server), queue: ledger.overview(server), larger: ledger.result(repairs.batch),
      // Asked for where it is used, since it depends on the run: the first acts show nothing of the run.
      get here() { return ledger.step(hardware, { decodes: Math.max(1, Math.round(ledger.get(run)?.mean_decode_batch ?? 16)), context: 512 }); },
    };
  }

  // acts are what the machine does in the first three acts: steps by the name of their run, and how many of each.
  const acts = [[["", 40], ["prompt", 1], ["one", 60]], [["one", 4], ["both", 1], ["two", 60]], [["two", 2], ["four", 3], ["eight", 3], ["sixteen", 60]]];
  const readersOf = { "": 1, prompt: 1, one: 1, both: 2, two: 2, four: 4, eight: 8, sixteen: 16 };

  // clock finds the step that runs after some milliseconds of an act, how far it is, and how many tokens each has.
  function clock(act, ms, look) {
    let from = 0, n = 0;
    const tokens = people.map(() => 0);
    for (const [name, many] of acts[act]) {
      for (let i = 0; i < (name ? many : 1); i++, n++) {
        const lasts = name ? look.get(name).ms : many;
        if (from + lasts > ms) return { name, at: (ms - from) / lasts, n, tokens };
        from += lasts;
        if (name && name !== "prompt") for (let k = 0; k < (name === "both" ? 1 : readersOf[name]); k++) tokens[k]++;
        if (name === "prompt") tokens[0]++;
        if (name === "both") tokens[1]++;
      }
    }
    return { name: acts[act].at(-1)[0], at: 1, n, tokens };
  }

  function draw(canvas, look) {
    const pen = machine.pad(canvas), act = look.step, phone = pen.width < 27 * pen.em;
    const left = phone ? { x: 0, y: 0, w: pen.width, h: pen.height * 0.56 } : { x: 2, y: 4, w: pen.width * 0.57, h: pen.height - 8 };
    const right = phone ? { x: 0, y: pen.height * 0.58, w: pen.width, h: pen.height * 0.42 } : { x: pen.width * 0.6, y: 4, w: pen.width * 0.4 - 4, h: pen.height - 8 };
    if (act < 3) {
      const k = clock(act, look.at * look.lasts * 1000 / machine.slower, look), reads = k.name === "prompt" || k.name === "both";
      const scene = ledger.scene(look.get(k.name || "one"), { at: k.at, number: k.n, prompt: reads, still: look.still, name: k.name === "prompt" ? "the prompt" : k.name === "both" ? "prompt and token" : readersOf[k.name] > 1 ? `a step, ${readersOf[k.name]} tokens` : "a token" });
      if (!k.name) Object.assign(scene, { use: 0, at: 1, memory: { ...scene.memory, kv: 0 } });
      const seen = machine.draw(pen, scene, left);
      cards(pen, right, act, k, look);
      return { ...seen, tokens: k.tokens };
    }
    const course = look.get(act === 3 ? "queue" : "course"), run = look.get(act === 3 ? "base" : "run"), step = look.get(act === 3 ? "sixteen" : "here"), t = look.at * seconds * 1000;
    if (!course || !run || !step) return undefined;
    const point = course.points.findLast((p) => p.at <= t) ?? { waiting: 0, running: 0 };
    const scene = ledger.scene(step, { at: 0.5, number: Math.floor(look.at * 600), blur: true, name: "a step without prompts" });
    const seen = machine.draw(pen, { ...scene, use: scene.use * (point.running ? 1 : 0) }, left);
    crowd(pen, right, point, run, t);
    return { ...seen, point };
  }

  // cards shows whose answers are written: large for one and two, and a line each for sixteen.
  function cards(pen, box, act, k, look) {
    const { of, em, c } = pen, n = act === 2 ? Math.min(16, Math.floor((box.h - 2 * em) / (1.4 * em))) : act + 1, active = readersOf[k.name];
    const step = k.name && k.name !== "prompt" ? look.get(k.name) : undefined;
    pen.text(n === 1 ? "One reader" : `${active > n ? `${n} of ` : ""}${act === 2 ? active : n} readers`, box.x, box.y + 0.95 * em, { colour: of.ink, bold: true, size: 1 });
    if (step) pen.text(`${sentences.write(active / step.ms * 1000, "n")} tokens/s`, box.x + box.w, box.y + 0.95 * em, { colour: of.ink, bold: true, size: 1.3, align: "right" });
    const top = box.y + 1.8 * em, h = (box.h - 2 * em) / n;
    for (let i = 0; i < n; i++) {
      const y = top + i * h, said = k.tokens[i] + (act === 0 ? 0 : i < 2 && act === 1 ? (i ? 0 : 8) : act === 2 ? 3 + i % 4 : 0);
      if (act === 2) { line(pen, box, y, h, i, said, i < active); continue; }
      const size = act ? 1.1 : 1.4, m = 0.9 * em;
      pen.box(box.x, y + 4, box.w, h - 10, of.card);
      pen.frame(box.x + 0.5, y + 4.5, box.w - 1, h - 11, of.line, 1);
      const asks = act === 0 ? Math.min(1, Math.max(0, look.at * look.lasts - 1)) : 1, [name, question] = people[i];
      pen.text(name, box.x + m, y + 1.7 * em, { colour: of.ink, bold: true, size: 1.1 });
      pen.text(question.slice(0, Math.ceil(question.length * asks)), box.x + m + pen.wide(name, 1.1) + 0.9 * em, y + 1.7 * em, { size: 1.1 });
      const read = act === 0 ? (k.name === "" ? 0 : k.name === "prompt" ? k.at : 1) : i === 0 ? 1 : k.name === "one" ? 0 : k.name === "both" ? k.at : 1;
      pageOf(pen, box.x + m, y + 2.3 * em, box.w - 2 * m, act ? 1.6 * em : 3 * em, read);
      wrap(pen, words[i], said, box.x + m, y + (act ? 5.2 : 7) * em, box.w - 2 * m, y + h - 1.2 * em, size);
    }
    c.globalAlpha = 1;
  }

  // pageOf draws the page that was pasted, as lines of words, of which a share was read.
  function pageOf(pen, x, y, w, h, read) {
    const { of } = pen, rows = Math.floor(h / 8);
    for (let r = 0; r < rows; r++)
      for (let k = 0, at = 0; at < w - 6; k++) {
        const long = 7 + mixed(r * 97 + k) % 17;
        pen.box(x + at, y + r * 8, Math.min(long, w - at), 4, (at / w) < read ? of.prompt : of.line);
        at += long + 4;
      }
  }
  const mixed = (i) => (Math.imul(i + 1, 2654435761) >>> 16) & 1023;

  // wrap writes the first n tokens of an answer, of which the last lines are shown that there is room for.
  function wrap(pen, list, n, x, top, w, bottom, size) {
    const { of, em } = pen, lineHeight = 1.45 * size * em, placed = [];
    let at = x, y = top;
    for (let i = 0; i < Math.min(n, list.length); i++) {
      let ends = i + 1; // a word of several tokens stays on one line
      while (ends < list.length && !/\s$/.test(list[ends - 1])) ends++;
      if (!i || /\s$/.test(list[i - 1])) if (at + pen.wide(list.slice(i, ends).join("").trim(), size) > x + w) { at = x; y += lineHeight; }
      placed.push([list[i].trim(), at, y, i === n - 1]);
      at += pen.wide(list[i], size);
    }
    const over = Math.max(0, Math.ceil((y - bottom) / lineHeight)) * lineHeight;
    for (const [word, left, line, newest] of placed.filter((p) => p[2] - over >= top - 1)) {
      if (newest) pen.box(left - 3, line - over - size * em, pen.wide(word, size) + 6, 1.3 * size * em, of.weights);
      pen.text(word, left, line - over, { colour: newest ? of.paper : of.ink, size });
    }
  }

  // line shows the end of an answer that is being written, its newest word at the right.
  function line(pen, box, y, h, i, n, active) {
    const { of, em, c } = pen, [name] = people[i], size = Math.min(1, h / em * 0.62), base = y + h * 0.68;
    c.globalAlpha = active ? 1 : 0.3;
    pen.text(name, box.x, base, { colour: of.ink, bold: true, size });
    pen.path([[box.x, y + h], [box.x + box.w, y + h]], of.line, 1);
    c.save();
    c.beginPath();
    c.rect(box.x + 4 * em * size, y, box.w - 4 * em * size, h);
    c.clip();
    let at = box.x + box.w;
    for (let k = Math.min(n, words[i].length) - 1; k >= 0 && at > box.x; k--) {
      const word = words[i][k].trim(), wide = k === n - 1 ? pen.wide(word, size) + 4 : pen.wide(words[i][k], size), newest = active && k === n - 1;
      if (newest) pen.box(at - wide, y + 2, wide, h - 4, of.weights);
      pen.text(word, at - wide + (newest ? 2 : 0), base, { colour: newest ? of.paper : of.ink, size });
      at -= wide;
    }
    c.restore();
    c.globalAlpha = 1;
  }

  // crowd shows who reads and who waits, a figure each.
  function crowd(pen, box, point, run, t) {
    const { of, em, c } = pen, alarm = point.waiting > 16;
    pen.text("Read their answers", box.x, box.y + 0.95 * em, { colour: of.ink, bold: true, size: 1 });
    pen.text(sentences.write(point.running, "n"), box.x, box.y + 3 * em, { colour: of.weights, bold: true, size: 1.9 });
    const figures = (n, y, h, colour) => {
      const many = Math.min(600, n), size = Math.min(1.25 * em, Math.sqrt(box.w * h / Math.max(1, many)) * 0.98), columns = Math.max(1, Math.floor(box.w / size));
      c.fillStyle = colour;
      for (let i = 0; i < many; i++) {
        const x = box.x + (i % columns + 0.5) * size, cy = y + (Math.floor(i / columns) + 0.5) * size, r = size * 0.3;
        c.beginPath();
        c.arc(x, cy - r * 0.5, r * 0.55, 0, 7);
        c.roundRect(x - r, cy + r * 0.15, 2 * r, r * 0.9, r * 0.45);
        c.fill();
      }
    };
    figures(point.running, box.y + 3.8 * em, box.h * 0.2, of.weights);
    const y = box.y + 3.8 * em + box.h * 0.22;
    pen.text("Wait", box.x, y + 0.95 * em, { colour: of.ink, bold: true, size: 1 });
    pen.text(`after ${(t / 1000).toFixed(1)} s`, box.x + box.w, y + 0.95 * em, { size: 1, align: "right" });
    pen.text(sentences.write(point.waiting, "n"), box.x, y + 3.4 * em, { colour: alarm ? of.alarm : of.ink, bold: true, size: 2.3 });
    figures(point.waiting, y + 4.2 * em, Math.max(1, box.y + box.h - y - 4.6 * em), alarm ? of.alarm : of.soft);
  }

  // Course is the queue of an answer over the run, before the one that nothing is done about.
  function Course({ look }) {
    const [mine, base] = [look.get("course"), look.get("queue")].map((o) => o?.points.filter((p) => p.at <= seconds * 1000) ?? []), high = Math.max(1, ...base.map((p) => p.waiting));
    const line = (list) => list.map((p) => `${(p.at / (seconds * 10)).toFixed(1)},${(30 - 29 * Math.min(1, p.waiting / high)).toFixed(1)}`).join(" ");
    return html`<svg viewBox="0 0 100 31" preserveAspectRatio="none" aria-hidden="true"><polygon class="base" points=${`0,30 ${line(base)} 100,30`} /><polyline points=${line(mine)} /></svg>`;
  }

  // Stage is the page of the opening: the picture, a caption, the four answers, and the player.
  function Stage({ l, said, answers, tried, chosen, does, playing, steps, step }) {
    const ask = l.of.ask;
    return html`<div class="opening ${answers ? "asks" : ""}"><div class="board-stage"><canvas id="machine" role="img" aria-label=${said.picture} onPointerDown=${does.pause}></canvas></div>
      <div class="say"><p id="said" aria-live="polite">${said.words}</p><div class="player"><button type="button" onClick=${does.back} disabled=${step === 0}>Back</button>
        ${!answers && html`<button type="button" onClick=${does.play}>${playing ? "Pause" : "Play"}</button>`}<button type="button" class="next" onClick=${does.next}>${answers ? "Why? Read on" : "Next"}</button></div>
        ${answers && html`<div class="repairs">${ask.answers.map((a, i) => html`<button type="button" class="answer" aria-pressed=${chosen === i} onClick=${() => does.choose(i)}><b>${a.say}</b>
          ${tried.has(i) ? html`<${Course} look=${tried.get(i)} /><small><${does.Say} text=${ask.shows} l=${tried.get(i)} /></small>` : html`<small>${a.means}</small>`}</button>`)}</div>`}
        <div class="dots" aria-label=${`Act ${step + 1} of ${steps}`} role="img">${Array.from({ length: steps }, (_, i) => html`<i class=${i <= step ? "on" : ""}></i>`)}</div></div></div>`;
  }

  return { draw, runs, Stage, steps: ["one", "two", "four", "eight", "sixteen", "prompt", "both"] };
})();

chapter({
  id: "opening", number: 0, title: "What would you do?", ideas: "a reader, a batch, a queue, and four repairs", short: "Opening", plays: true, stage: opening.Stage, draw: opening.draw, runs: opening.runs,
  handles: { repair: { label: "What is done about the queue", stops: ["none", "batch", "second", "short", "memory"], at: "none" } },
  figures: { waits: "course.second.20.waiting", queued: "queue.second.20.waiting", price: "run.cost / run.total_output_tokens * 1000000", before_price: "base.cost / base.total_output_tokens * 1000000", larger_price: "larger.cost / larger.total_output_tokens * 1000000",
    busy: "(one.flop.matmul + one.flop.attention + one.flop.other) / one.ms * 1000 / one.peak" },
  steps: [
    { title: "One reader", needs: opening.steps, lasts: 16, says: [[0, "What happens between a question and its answer?"], [1.3, "Maya pastes a page of 512 tokens, and asks."],
      [2.5, "All her page goes through the model at once, in {=prompt.ms ms prompt}. The arithmetic lights up."], [5, "Then the answer, one token at a time. For each token {weights: all {=one.bytes.weights B} of weights} run through the pipe."],
      [11, "Look at the arithmetic. {=busy % arithmetic} of it is in use: the machine mostly waits for its own memory."]] },
    { title: "A second", needs: opening.steps, lasts: 13, says: [[0, "Sam asks too. Must Maya now wait twice as long for each word?"], [3, "Look at the pulse. Each sweep of the weights now makes {b: two} tokens, one for each of them."],
      [7.5, "And it takes {=two.ms ms} in place of {=one.ms ms}. {if two.ms < 1.1 * one.ms: {weights: The second reader is nearly free.}; else: Both wait a little longer.}"]] },
    { title: "Sixteen", needs: opening.steps, lasts: 14, says: [[0, "Four, eight, sixteen people. Sixteen times as slow?"], [4, "Still one sweep, and every line gets its token at the same moment."],
      [8, "{=sixteen.ms ms}: {=sixteen.ms / one.ms - 1 %} longer, for sixteen times the words. {weights: The weights were on their way anyhow.}"]] },
    { title: "The tap opens", needs: ["base", "queue", "sixteen"], lasts: 20, says: [[0, "Now at real speed. And we open the tap: {b: 24 people a second} ask. This server takes 16 at once."], [6, "It answers {=base.request_throughput x} a second. The others queue."],
      [12, "After 20 seconds {=queued n alarm} wait, and each newcomer waits longer. {alarm: This queue does not end while they come.}"]] },
    { title: "What would you do?", lasts: 6, says: [[0, "What would you do?"]] },
  ],
  ask: {
    at: {}, text: "What would you do?", best: { where: "waits < 5", least: "price" }, shows: "{if waits = 1: 1 waits; else: {=waits n} wait}, first word {=run.median_ttft_ms ms}, {=price $} a million tokens",
    answers: [
      { say: "Let 128 in at once", means: "the same GPU, a larger batch", set: { repair: "batch" }, right: true, reply: "{if waits = 0: Nobody waits; elif waits < 5: Hardly anybody waits; else: {=waits n} wait}. Up to {=run.peak_batch n} share each sweep. With the steps that read newcomers' pages, a token takes {=run.mean_tpot_ms ms}, not {=base.mean_tpot_ms ms}, and {weights: its price falls}: {=before_price $} → {=price $} a million." },
      { say: "Buy a second GPU", means: "two machines, 16 each", set: { repair: "second" }, reply: "{if waits < queued / 4: It works; else: It helps}: {=waits n} wait after 20 s. But the second machine reads the same weights once more: a million tokens cost {=price $}, with the larger batch {=larger_price $}." },
      { say: "Answer half as long", means: "75 tokens, not 150", set: { repair: "short" }, reply: "Half the words, half the sweeps: {=waits n} wait after 20 s. But a million tokens cost {=price $}, with the larger batch {=larger_price $}; and the answers are half as long." },
      { say: "Buy faster memory", means: "an H200: 4.8 TB/s", set: { repair: "memory" }, reply: "With a wider pipe a token takes {=1 - run.mean_tpot_ms / base.mean_tpot_ms %} less time, and {alarm: {=waits n} still wait}. It tempts, since memory set the pace. But the pipe was not what ran out: places in the batch were." },
    ],
  },
});
