// The book: text that scrolls on the left, the machine on the right, and under it a figure built by hand. A chapter is
// data, one file in chapters/, which page.go takes up; chapters/slow.js is one to copy from. chapter({…}) has
//   id, number, title, short, question, ideas   ideas is what the contents say it is about; its address is #book/id.step?handle=value; numbers are those of the contents
//   handles  {name: {label, stops, at, show(value), tone, grip}}: inputs. stops are numbers or strings, at is the first
//            one shown; tone colours it (weights kv arithmetic prompt); grip is the part of the machine that drags it
//            (weights kv pipe readers)
//   runs     (h) => ({here: ledger.step([settings], {prompts, decodes, context}), …}): what the simulator is asked for
//            at handles h. ledger.result([settings]) is a whole run, ledger.overview and ledger.frames its course
//   figures  {name: "formula"}: formulas by name (see words.js), of which texts and boards may use the names
//   scene    (look) => ledger.scene(look.get("here"), {readers: look.h.readers}): what the machine draws.
//            A handle hides a field of the same name: call them otherwise (a field of "here" is also here.field)
//   draw     (canvas, look) => what was drawn: a stage of one's own in place of the machine, here, in a step, or in ask, check or measured;
//            look.at is the share of a loop of look.lasts seconds that is over (chapter or step: lasts: 8)
//   steps    [{title, lead, text: […], board: [[line, note], …], set: {handle: value}, figure: (canvas, look) => {…}, notes}]
//            set moves handles when a reader comes to the step; figure is drawn under the board; notes are the lecturer's
//   ask      {at: {handles}, text, shows, answers: [{say, set: {handles}, reply, right}]}: each answer sets handles and is
//            simulated; shows is a text that stays beside each answer that was tried; before(x) is x at ask.at; best
//            {where: "condition", most or least: "formula"} is what makes an answer right, to which a test holds it
//   check    {at: {handles}, text, formula, unit, within, right, wrong, near: [[formula, reply], …]}: a number to compute
//   measured {text, source, url}, paper {title, url}, command (h) => "llmsim …"
//   A chapter that plays (plays: true) is drawn on a stage of its own, and its steps say one text after the other.
// All texts are in the language of words.js, and must be true at every stop of every handle.
"use strict";
const chapters = [];

// chapter adds a chapter to the book, in the order of their numbers.
function chapter(c) {
  chapters.push(c);
  chapters.sort((a, b) => a.number - b.number);
}

// Look is a state of a chapter: the values of its handles, and what the simulator says of them.
class Look {
  constructor(of, h, before) { Object.assign(this, { of, h, before }); }

  // get returns what a name stands for: a handle, a figure of the chapter, or a field of a run.
  get(name) {
    if (name in this.of.handles) return this.h[name];
    if (name in (this.of.figures ?? {})) return sentences.value(this.of.figures[name], this);
    this.runs ??= this.of.runs(this.h);
    const path = name.split("."), run = path[0] in this.runs ? path.shift() : "here";
    let value = this.runs[run] && ledger.get(this.runs[run]);
    if (value?.error && path[0] !== "error") return path.length ? NaN : value;
    for (const key of path) value = value?.[key];
    return value;
  }

  with(handle, value) { return new Look(this.of, { ...this.h, [handle]: value }, this.before); }

  // pair returns the looks at this stop of a handle and the next, or the last two.
  pair(handle) {
    const { stops } = this.of.handles[handle], i = Math.min(stops.indexOf(this.h[handle]), stops.length - 2);
    return [this.with(handle, stops[i]), this.with(handle, stops[i + 1])];
  }

  show(handle) {
    const value = this.h[handle];
    return this.of.handles[handle].show?.(value) ?? String(value);
  }

  value(formula) { return sentences.value(formula, this); }
}

const book = (() => {
  const { html } = htmPreact;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const now = { on: false, chapter: undefined, step: 0, h: {}, touched: new Set(), chosen: undefined, tried: new Map(), guess: "", checked: false, at: 0.5, number: 0, hot: "", lecture: false };
  const defaults = (c) => Object.fromEntries(Object.entries(c.handles).map(([name, x]) => [name, x.at]));
  const place = () => el("book");

  // look is the state at hand; the question's replies compare it with the state that the question begins at.
  function look() {
    const c = now.chapter, l = new Look(c, now.h);
    l.before = new Look(c, { ...defaults(c), ...c.ask?.at });
    return Object.assign(l, { lasts: page()?.lasts ?? c.lasts, at: now.at, number: now.number, step: now.step, still: still.matches });
  }

  // pages are the steps of a chapter and what follows them: the question, the check, and what was measured.
  const pages = (c) => c.plays ? c.steps : [...c.steps, ...c.ask ? [{ title: "What would you do?", kind: "ask", set: c.ask.at, draw: c.ask.draw }] : [],
    ...c.check ? [{ title: "Check yourself", kind: "check", set: c.check.at, draw: c.check.draw }] : [], ...c.measured ? [{ title: "Measured", kind: "measured", draw: c.measured.draw }] : []];
  const page = () => pages(now.chapter)[now.step];

  // Say shows a text: handles can be dragged, figures and conditions know what they were computed from.
  function Say({ text, l }) { return html`${sentences.parse(text).map((p) => part(p, l))}`; }

  function part(p, l) {
    if (typeof p === "string") return p.replace(/(\d) (?=%|(ms|[kMGT]B)\b)/g, "$1\u00a0");
    if (p.handle) return html`<${Handle} name=${p.handle} l=${l} />`;
    if (p.figure) {
      const value = sentences.value(p.figure, l);
      return html`<b class=${`fig ${p.tone}`} data-formula=${p.figure} data-unit=${p.unit} data-value=${String(value)} data-at=${JSON.stringify(l.h)}>${sentences.write(value, p.unit)}</b>`;
    }
    if (p.cases) {
      const found = sentences.chosen(p.cases, l), read = p.cases.slice(0, p.cases.indexOf(found) + 1);
      return html`<span data-cases=${JSON.stringify(read.map(([condition]) => condition))} data-at=${JSON.stringify(l.h)}>${found?.[1].map((q) => part(q, l))}</span>`;
    }
    if (p.over) return html`<span class="over"><span>${p.over[0].map((q) => part(q, l))}</span><span class="unseen"> divided by </span><span>${p.over[1].map((q) => part(q, l))}</span></span>`;
    return html`<b class=${p.tone}>${p.parts.map((q) => part(q, l))}</b>`;
  }

  // Handle is an input in a sentence: dragged, or moved with the keys of a slider.
  function Handle({ name, l }) {
    const handle = l.of.handles[name], i = handle.stops.indexOf(l.h[name]);
    return html`<span class=${`handle ${handle.tone ?? ""} ${now.hot === name ? "hot" : ""}`} role="slider" tabindex="0" data-handle=${name} aria-label=${handle.label}
      aria-valuemin="0" aria-valuemax=${handle.stops.length - 1} aria-valuenow=${i} aria-valuetext=${l.show(name)}
      onKeyDown=${(e) => keyed(e, name)} onPointerDown=${(e) => grab(e, name, 22, true)} onMouseEnter=${() => heat(name)} onMouseLeave=${() => heat("")}>${l.show(name)}</span>`;
  }

  function heat(name) { if (!dragged && now.hot !== name) { now.hot = name; draw(); } }

  function keyed(e, name) {
    const { stops } = now.chapter.handles[name], i = stops.indexOf(now.h[name]);
    const to = { ArrowRight: i + 1, ArrowUp: i + 1, ArrowLeft: i - 1, ArrowDown: i - 1, PageUp: i + 3, PageDown: i - 3, Home: 0, End: stops.length - 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    e.stopPropagation();
    move(name, to);
  }

  // move sets a handle to a stop.
  function move(name, i) {
    const { stops } = now.chapter.handles[name];
    const value = stops[Math.max(0, Math.min(stops.length - 1, i))];
    if (value === now.h[name]) return;
    now.touched.add(name);
    set({ [name]: value });
  }

  function set(values) {
    Object.assign(now.h, values);
    refresh();
  }

  let dragged;

  // grab drags a handle: each so many pixels are a stop.
  function grab(e, name, pixels, sideways) {
    const { stops } = now.chapter.handles[name], from = stops.indexOf(now.h[name]), { clientX, clientY } = e;
    dragged = now.hot = name;
    const drags = (m) => { m.preventDefault(); move(name, from + Math.round((sideways ? m.clientX - clientX : clientY - m.clientY) / pixels)); };
    const ends = () => {
      dragged = undefined;
      heat("");
      removeEventListener("pointermove", drags);
      for (const end of ["pointerup", "pointercancel"]) removeEventListener(end, ends);
    };
    addEventListener("pointermove", drags, { passive: false });
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, ends);
  }

  let asking, ready = false;

  // refresh shows the state as soon as the simulator has said all that it takes.
  async function refresh() {
    if (asking) { asking.again = true; return asking.done; }
    const mine = asking = { again: true };
    document.body.dataset.ready = "";
    mine.done = (async () => {
      while (mine.again) {
        mine.again = false;
        for (let round = 0; round < 20 && missingIn(() => show(true)); round++) { await ledger.settle(() => el("waits") && draw()); if (mine.again) break; }
      }
      asking = undefined;
      show();
      document.body.dataset.ready = "yes";
      foresee();
    })();
    return mine.done;
  }

  // foresee asks for what the later steps and the answers of a chapter that plays will need, while it plays.
  async function foresee() {
    const c = now.chapter;
    for (const h of c.plays ? [defaults(c), ...c.ask.answers.map((a) => ({ ...defaults(c), ...a.set }))] : [])
      for (let round = 0; round < 2 && !asking && c === now.chapter; round++) {
        const l = new Look(c, h);
        if (missingIn(() => Object.keys(c.runs(h)).forEach((name) => l.get(name)))) await ledger.settle();
      }
  }

  // missingIn runs what reads the ledger, and reports whether something is still to be asked for.
  function missingIn(read) {
    ledger.forget();
    read();
    return ledger.missing();
  }

  // show renders the chapter, or only reads what that takes, and writes the address.
  function show(dry) {
    const c = now.chapter, l = look();
    stageOf(l); // the picture's runs come first: it is shown before the words
    for (const drawing of [page().draw ?? c.draw, page().figure]) drawing?.asks?.(l); // for what it draws of other states
    for (const text of textsOf(c)) sentences.plainly(text, l);
    if (c.ask) sentences.plainly(c.ask.text, l.before);
    for (const name of page().needs ?? Object.keys(c.runs(now.h))) l.get(name + ".ms");
    for (const a of tried(c)) sentences.plainly(c.ask.shows, a.look);
    if (now.chosen !== undefined) sentences.plainly(c.ask.answers[now.chosen].reply, l);
    if (dry && ready) return;
    if (!dry) { ready = true; address(); }
    if (ready) htmPreact.render(html`<${Page} l=${l} />`, place());
    draw();
  }

  const textsOf = (c) => [...(c.plays ? [page()] : c.steps).flatMap((s) => [s.title, s.lead, ...(s.says ?? []).map(([, t]) => t), ...s.text ?? [], ...(s.board ?? []).flat()]), c.check?.text,
    ...c.check ? [`{=${c.check.formula} ${c.check.unit}}`, ...now.checked ? [c.check.right, c.check.wrong, ...(c.check.near ?? []).flatMap(([f, t]) => [`{=${f} x}`, t])] : []] : [], c.measured?.text].filter(Boolean);
  const tried = (c) => [...now.tried].map(([i, h]) => ({ i, look: Object.assign(new Look(c, h), { before: look().before }) }));
  const key = () => JSON.stringify([now.chapter.id, now.step, now.h]);

  // close shuts the contents, which lie over the page.
  const close = () => { const open = place().querySelector(".contents details[open]"); if (open) open.open = false; return !!open; };

  // Contents leads to all chapters.
  function Contents({ c }) {
    return html`<nav class="contents" aria-label="Chapters"><details><summary>Contents</summary><div>${chapters.map((o) => html`<a href=${`#book/${o.id}`} onClick=${close}><b>${o.number} ${o.title}</b> ${o.ideas}</a>`)}</div></details>
      <div class="row" onFocusCapture=${(e) => e.target.scrollIntoView({ block: "nearest", inline: "nearest" })}>${chapters.map((o) => html`<a href=${`#book/${o.id}`} aria-current=${o === c ? "true" : undefined}><i>${o.number}</i> ${o.short}</a>`)}</div>
      <button type="button" class="lecturer" aria-keyshortcuts="f" onClick=${() => lecture(!now.lecture)}>${now.lecture ? "Leave (Esc)" : "Lecture (F)"}</button></nav>`;
  }

  // wait shows what a chapter asks, and its picture as soon as that is known, where the simulator has not started yet or
  // takes longer for the chapter's runs than a moment.
  function wait(c) {
    setTimeout(() => {
      if (ready || now.chapter !== c || c.plays) return;
      htmPreact.render(html`<${Page} l=${look()} waits=${true} />`, place());
      draw();
    }, document.body.dataset.interactive ? 400 : 0);
  }

  function Page({ l, waits }) {
    const c = now.chapter, list = waits ? [] : pages(c), i = chapters.indexOf(c), next = chapters[i + 1];
    return html`<${Contents} c=${c} />
      ${c.plays ? html`<${c.stage} ...${onStage(l)} />` : html`<div class="chapter" key=${c.id}><div class="text"><div class="top"><h2 tabindex="-1">${c.number} ${c.title}</h2><p>${c.question}</p>${waits && html`<p class="small" id="waits" role="status">The simulator computes the runs of this chapter …</p>`}</div>
        ${list.map((s, n) => html`<article data-step=${n} key=${n} class=${n === now.step ? "on" : ""}><h3><${Say} text=${s.title} l=${l} /></h3>${s.kind ? html`<${extras[s.kind]} c=${c} l=${l} />`
          : html`<p class="lead"><${Say} text=${s.lead} l=${l} /></p>${(s.text ?? []).map((t) => html`<p><${Say} text=${t} l=${l} /></p>`)}`}</article>`)}
        <div class="end" hidden=${waits}>${c.command && html`<button type="button" onClick=${() => offer("This state as a command", c.command(now.h))}>Copy as command</button>`}
          ${!c.measured && c.paper && html`<p class="small">Read on: <a href=${c.paper.url}>${c.paper.title}</a></p>`}
          ${next && html`<a class="go" href=${`#book/${next.id}`}>Next: ${next.title}</a>`}</div></div>
      <div class="sticky"><div class="board-stage"><canvas id="machine" role="img" aria-label=${said(l)} onPointerDown=${press} onPointerMove=${hover} onPointerLeave=${() => heat("")}></canvas></div>
        <div class="board">${(!waits && page().board || []).map(([line, note]) => html`<p class="line"><span><${Say} text=${line} l=${l} /></span>${note && html`<small><${Say} text=${note} l=${l} /></small>`}</p>`)}</div>
        <div class="drawn" hidden=${waits || !page().figure}><canvas id="drawn" role="img" aria-label=${page().figured ?? "A figure of this state"}></canvas></div>
        <div class="caption" aria-live="polite">${now.lecture && !waits && (page().lead ? html`<${Say} text=${page().lead} l=${l} />` : html`<${extras[page().kind]} c=${c} l=${l} />`)}</div></div></div>`}`;
  }

  // onStage is what the stage of a chapter that plays shows: what is said now, and what its buttons do.
  function onStage(l) {
    const c = now.chapter, answers = now.step === c.steps.length - 1, reply = answers && now.chosen !== undefined && c.ask.answers[now.chosen].reply;
    return { l, answers, step: now.step, steps: c.steps.length, chosen: now.chosen, tried: new Map(tried(c).map((a) => [a.i, a.look])), playing: now.playing && now.at < 1,
      said: { words: html`<${Say} text=${reply || saidNow()} l=${l} />`, picture: `${sentences.plainly(page().title, l)}: a machine with memory, a pipe and arithmetic, and the people whom it answers` },
      does: { Say, choose: (i) => { choose(i); now.at = 0; now.playing = true; }, pause: () => { now.playing = false; show(); }, back: () => turn(-1), next: () => turn(1),
        play: () => { now.playing = !(now.playing && now.at < 1); if (now.at >= 1) now.at = 0; show(); } } };
  }

  // saidNow is the text of a step that plays, at this moment.
  const saidNow = () => page().says.findLast(([from]) => from <= now.at * page().lasts)[1];

  // plays moves on in a chapter that plays, and to its next step.
  function plays(passed) {
    if (!now.playing || now.at >= 1) return;
    const said = saidNow();
    now.at = Math.min(1, now.at + passed / page().lasts);
    if (now.at >= 1 && now.step < now.chapter.steps.length - 1 && !now.lecture) return go(now.step + 1);
    if (saidNow() !== said || now.at >= 1) show(); else draw();
  }

  const extras = {
    ask({ c, l }) {
      const { ask } = c, shown = new Map(tried(c).map((a) => [a.i, a.look]));
      return html`<p class="lead"><${Say} text=${ask.text} l=${l.before} /></p><div class="answers">${ask.answers.map((a, i) => html`<button type="button" class="answer" aria-pressed=${now.chosen === i} onClick=${() => choose(i)}><b>${a.say}</b>
        ${shown.has(i) && html`<small>${a.right ? "✓ " : "✗ "}<${Say} text=${ask.shows} l=${shown.get(i)} /></small>`}</button>`)}</div>
        ${now.chosen !== undefined && html`<p id="reply" aria-live="polite" class=${ask.answers[now.chosen].right ? "won" : "lost"}><${Say} text=${ask.answers[now.chosen].reply} l=${l} /></p>`}`;
    },
    check({ c, l }) {
      const { check } = c, reply = now.checked && verdict(check, l);
      return html`<form onSubmit=${(e) => { e.preventDefault(); now.checked = true; refresh(); }}><p class="lead"><${Say} text=${check.text} l=${l} /></p>
        <label class="unseen" for="guess">Your answer in ${check.says ?? check.unit}</label><input type="text" id="guess" inputmode="decimal" autocomplete="off" value=${now.guess} onInput=${(e) => { now.guess = e.target.value; now.checked = false; }} /> ${check.says ?? check.unit} <button>Check</button></form>
        ${reply && html`<p id="verdict-of-check" aria-live="polite"><${Say} text=${reply} l=${l} /></p>`}`;
    },
    measured({ c, l }) {
      return html`<p class="lead"><${Say} text=${c.measured.text} l=${l} /></p><p class="small">Source: <a href=${c.measured.url}>${c.measured.source}</a>${c.paper && html`. Read on: <a href=${c.paper.url}>${c.paper.title}</a>`}</p>`;
    },
  };

  // verdict replies to a number by what it was computed from.
  function verdict(check, l) {
    const guess = Number(now.guess.replaceAll(",", "")), near = (x) => Math.abs(guess - x) <= (check.within ?? 0.02) * Math.abs(x);
    if (!now.guess.trim() || !Number.isFinite(guess)) return "Write a number, such as 4.5.";
    if (near(l.value(check.formula) * (check.times ?? 1))) return check.right;
    return (check.near ?? []).find(([formula]) => near(l.value(formula) * (check.times ?? 1)))?.[1] ?? check.wrong;
  }

  // choose acts on an answer: its state is simulated and stays beside the others.
  function choose(i) {
    const { ask } = now.chapter;
    close();
    now.chosen = i;
    now.h = { ...defaults(now.chapter), ...ask.at, ...ask.answers[i].set };
    now.tried.set(i, { ...now.h });
    refresh();
  }

  const stageOf = (l) => (page().draw ?? now.chapter.draw) ? undefined : (page().scene ?? now.chapter.scene)?.(l);

  // said describes the picture for those who do not see it.
  function said(l) {
    const s = stageOf(l);
    if (!s) return now.chapter.picture ?? "The state of this step, drawn";
    return `${s.gpus > 1 ? `One of ${s.gpus} GPUs` : "A machine"}: of ${sentences.write(s.memory.capacity, "B")} of memory, weights take ${sentences.write(s.memory.weights, "B")} and keys and values ${sentences.write(s.memory.kv, "B")}. A step of the model reads ${sentences.write(s.read.weights + s.read.kv, "B")} through a pipe of ${sentences.write(s.bandwidth, "B/s")}, takes ${sentences.write(s.ms, "ms")}, and uses ${sentences.write(s.use, "%")} of the arithmetic.`;
  }

  let where, seen;

  // draw draws the stage and the figure under it.
  function draw() {
    const canvas = el("machine"), c = now.chapter;
    if (!now.on || !canvas || !canvas.clientWidth) return;
    const l = look(), own = page().draw ?? c.draw, s = own ? undefined : stageOf(l);
    if (own) seen = own(canvas, l);
    else if (s) {
      const grips = Object.fromEntries(Object.entries(c.handles).filter(([, x]) => x.grip).map(([name, x]) => [x.grip, name]));
      where = seen = machine(canvas, { grips, hot: now.hot, at: now.at, number: now.number, still: still.matches, ...s });
    }
    if (page().figure && el("drawn")?.clientWidth) book.figured = page().figure(el("drawn"), l);
    book.seen = seen;
  }

  // pictures draws what the stage shows, and the figure under it, once more on a stage apart, in the colours of paper.
  function pictures(apart) {
    const l = Object.assign(look(), now.chapter.plays ? {} : { still: true }), own = page().draw ?? now.chapter.draw, s = stageOf(l), shots = [];
    apart.className = "apart";
    place().append(apart);
    if (page().figure) { // two pictures stand beside each other
      apart.style.width = `${parseFloat(apart.style.width) / 2 - 10}px`;
      apart.style.setProperty("--size", `${parseFloat(apart.style.getPropertyValue("--size")) * 0.7}px`);
    }
    for (const does of [own ? (c) => own(c, l) : s && ((c) => machine(c, { at: 0.5, number: 0, still: true, ...s })), page().figure && ((c) => page().figure(c, l))]) {
      const canvas = document.createElement("canvas");
      apart.replaceChildren(canvas);
      if (does) { does(canvas); shots.push(canvas.toDataURL()); }
    }
    apart.remove();
    return shots;
  }

  const under = (e) => {
    const { left, top } = el("machine").getBoundingClientRect(), x = e.clientX - left, y = e.clientY - top;
    const [name] = (where?.places.hot ?? []).find(([, rx, ry, w, h]) => x >= rx && x <= rx + w && y >= ry && y <= ry + h) ?? [];
    return Object.keys(now.chapter.handles).find((h) => name && now.chapter.handles[h].grip === name);
  };
  function press(e) { const name = under(e); if (name) { e.preventDefault(); grab(e, name, 26, false); } }
  function hover(e) { if (dragged) return; const name = under(e) ?? ""; e.target.style.cursor = name ? "ns-resize" : ""; heat(name); }

  let last, ticking;

  // tick lets the machine run, slower than life, while it is in view.
  function tick(t) {
    if (!now.on) return;
    const passed = Math.min(0.06, (t - (last ?? t)) / 1000), l = look(), lasts = page().lasts ?? now.chapter.lasts ?? (stageOf(l)?.ms ?? 0) * machine.slower / 1000;
    last = t;
    if (ready && now.chapter.plays) { if (!still.matches && !document.hidden) plays(passed); }
    else if ((ready || el("waits")) && lasts && !still.matches && !document.hidden) {
      now.at += passed / lasts;
      if (now.at >= 1) { now.number += Math.floor(now.at); now.at %= 1; }
      draw();
    }
    if (ready && !still.matches) document.body.dataset.moved ??= String(Math.round(performance.now()));
    ticking = requestAnimationFrame(tick);
  }

  // go leads to a step, and moves the handles that it sets and the reader did not touch.
  function go(step, { scroll = true, values } = {}) {
    const list = pages(now.chapter);
    now.step = Math.max(0, Math.min(list.length - 1, step));
    if (now.chapter.plays) Object.assign(now, { at: still.matches ? 1 : 0, playing: !still.matches });
    const wants = page().set ?? {};
    for (const [name, value] of Object.entries(wants)) if (page().kind || !now.touched.has(name)) now.h[name] = value;
    Object.assign(now.h, values);
    if (page().kind !== "ask") now.chosen = undefined;
    if (now.chapter.plays) now.h = defaults(now.chapter);
    const done = refresh();
    if (scroll) scrollTo(now.step);
    return done;
  }

  let steered = 0;
  function scrollTo(step) {
    const article = place().querySelector(`article[data-step="${step}"]`);
    steered = performance.now();
    if (step === 0 && !now.lecture) place().scrollTop = 0;
    else article?.scrollIntoView({ block: "start", behavior: "instant" });
  }

  // scrolled finds the step that is read: the last one whose title is above a line.
  function scrolled() {
    if (now.lecture || performance.now() - steered < 200 || !now.on) return;
    const line = innerHeight * (innerWidth < 800 ? 0.75 : 0.45), at = [...place().querySelectorAll("article")].findLastIndex((a) => a.querySelector("h3").getBoundingClientRect().top < line);
    if (at >= 0 && at !== now.step) go(at, { scroll: false });
  }

  // enter opens a chapter.
  async function enter(id, step = 0, values = {}) {
    close();
    const c = chapters.find((o) => o.id === id) ?? chapters[0];
    if (c !== now.chapter) { Object.assign(now, { chapter: c, h: defaults(c), touched: new Set(), chosen: undefined, tried: new Map(), guess: "", checked: false, number: 0, at: 0.5 }); ready = false; wait(c); }
    for (const [name, text] of Object.entries(values)) {
      const value = c.handles[name]?.stops.find((s) => String(s) === text);
      if (value !== undefined) { now.h[name] = value; now.touched.add(name); }
    }
    await go(step, { scroll: false });
    scrollTo(now.step);
    place().querySelector(".row [aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // Where the ideas of guided tours are now, whose addresses stand in links of others.
  const tours = { phases: "prompt", batching: "slow", flash: "flash", speculation: "guess", cache: "keys", attention: "heads", agents: "agents", continuous: "join", capacity: "fleet", price: "where", machines: "slow", training: "training" };
  const tourIn = (address) => tours[/(?:^|&)tour=(\w+)/.exec(address)?.[1]];

  // isBook reports whether an address is the book's, as one without a state is.
  const isBook = (address) => !address || address === "book" || address.startsWith("book/") || !!tourIn(address);

  // address keeps the state in the address, and read reads such an address: book/slow.3?readers=64.
  function address() {
    if (document.body.classList.contains("papering")) return;
    const c = now.chapter, moved = Object.entries(now.h).filter(([name, value]) => value !== (page().set?.[name] ?? c.handles[name].at));
    const query = moved.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
    history.replaceState(null, "", `#book/${c.id}.${now.step + 1}${query ? "?" + query : ""}`);
  }

  function read(text) {
    const [, id = "", step = "1", query = ""] = /^book\/?([\w-]*)(?:\.(\d+))?(?:\?(.*))?$/.exec(text) ?? [];
    return enter(tourIn(text) ?? id, Number(step) - 1, Object.fromEntries(new URLSearchParams(query)));
  }

  // open shows or leaves the book.
  async function open(on, text = "book") {
    now.on = on;
    document.body.classList.toggle("booking", on);
    place().hidden = !on;
    if (!on) { lecture(false); return; }
    if (app.playing) play(false);
    last = undefined;
    cancelAnimationFrame(ticking); // a link within the book opens it once more
    ticking = requestAnimationFrame(tick);
    await read(text);
  }

  // leave lets go of the page.
  const leave = () => { now.on = false; removeEventListener("keydown", keys); };

  let notes;

  // lecture shows the stage whole, with large type; space leads on, and N opens the notes in a window of their own.
  function lecture(on) {
    if (now.lecture === on) return;
    now.lecture = on;
    document.body.classList.toggle("lecture", on);
    if (on) document.documentElement.requestFullscreen?.().catch(() => {});
    else if (document.fullscreenElement) document.exitFullscreen();
    if (now.on) { show(); if (!on) scrollTo(now.step); }
  }

  function tellNotes() {
    if (!notes || notes.closed || !now.chapter) return;
    const list = pages(now.chapter), lines = [`${now.chapter.title}: ${sentences.plainly(page().title, look())}`, page().notes ?? (page().text ?? []).map((t) => sentences.plainly(t, look())).join(" "), `Next: ${sentences.plainly(list[now.step + 1]?.title ?? "the next chapter", look())}`];
    notes.document.title = "Notes";
    notes.document.body.replaceChildren(...lines.map((t) => Object.assign(notes.document.createElement("p"), { textContent: t })));
    notes.document.body.style.font = "1.4rem/1.5 system-ui, sans-serif";
  }

  // turn goes a page on or back, through all chapters.
  async function turn(by) {
    const i = chapters.indexOf(now.chapter), to = now.step + by;
    if (to < 0 && i > 0) await enter(chapters[i - 1].id, pages(chapters[i - 1]).length - 1);
    else if (to >= pages(now.chapter).length && chapters[i + 1]) await enter(chapters[i + 1].id, 0);
    else await go(to);
    tellNotes();
  }

  function keys(e) {
    if (!now.on || e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("input, select, textarea, dialog")) return;
    if (e.key === "Escape" && close()) return;
    const pushes = e.target.closest?.("button, a, summary");
    const does = { f: () => lecture(!now.lecture), F: () => lecture(!now.lecture), n: () => { notes = window.open("", "notes", "width=640,height=480"); notes?.addEventListener("keydown", keys); tellNotes(); },
      ArrowRight: () => turn(1), ArrowLeft: () => turn(-1), ...now.chapter.plays ? { " ": () => onStage(look()).does.play(), ...Object.fromEntries([1, 2, 3, 4].map((k) => [String(k), () => onStage(look()).answers && onStage(look()).does.choose(k - 1)])) } : {}, ...now.lecture ? { " ": () => turn(1), Escape: () => lecture(false), PageDown: () => turn(1), PageUp: () => turn(-1) } : {} }[e.key];
    if (!does || pushes && e.key === " ") return;
    e.preventDefault();
    e.stopImmediatePropagation();
    does();
  }

  // start listens; it comes before the page's own keys.
  function start() {
    addEventListener("pointerdown", (e) => { if (!e.target.closest?.(".contents details")) close(); });
    addEventListener("keydown", keys);
    place().addEventListener("scroll", scrolled, { passive: true });
    new ResizeObserver(draw).observe(place());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  }

  return { start, open, isBook, enter, go, set, now, look, pages, choose, lecture, Say, get ready() { return ready && !asking; }, key, said, pictures, leave, tours };
})();
