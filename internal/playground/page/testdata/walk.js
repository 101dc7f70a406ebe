// What the tests of the book have a page do: it carries out moves, and says what it then shows.
"use strict";
window.walk = (() => {
  const told = new Set(); // runs whose frames were told; they are told once
  const pause = () => new Promise((goes) => { setTimeout(goes); });

  // digest returns the SHA-256 of a text.
  async function digest(text) {
    const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
    return [...new Uint8Array(bytes)].map((b) => b.toString(16).padStart(2, "0")).join("");
  }

  // framesOf returns the numbers and the digests of the frames that the chapter has at this state.
  async function framesOf() {
    const found = {};
    for (const [run, asked] of Object.entries(book.now.chapter.runs(book.now.h))) {
      const key = JSON.stringify(asked), list = asked.kind === "frames" && ledger.get(asked)?.list;
      if (!list || told.has(key)) continue;
      told.add(key);
      found[run] = { Count: list.length, Digest: await digest(JSON.stringify(list)) };
    }
    return found;
  }

  // Each canvas knows what was written on it since it was cleared, and where its grips are.
  const clear = CanvasRenderingContext2D.prototype.clearRect, { text, note } = Pen.prototype;
  CanvasRenderingContext2D.prototype.clearRect = function (...box) { this.canvas.labels = []; clear.apply(this, box); };
  Pen.prototype.text = function (words, x, y, how = {}) {
    const { align = "left", size = 0.85 } = how;
    text.call(this, words, x, y, how);
    const w = this.c.measureText(words).width, left = x - (align === "right" ? w : align === "center" ? w / 2 : 0);
    if (w) this.c.canvas.labels.push({ words, x: left, y: y - 0.75 * size * this.em, w, h: 0.9 * size * this.em });
  };
  Pen.prototype.note = function (x, y, w, h, what) {
    note.call(this, x, y, w, h, what);
    if (what.grip) this.c.canvas.labels.push({ words: `the grip of ${what.grip}`, x, y, w, h });
  };

  // crossed are the labels of a canvas that are cut off or lie over others.
  function crossed(canvas) {
    const found = [], { labels = [], clientWidth: w, clientHeight: h } = canvas ?? {};
    labels.forEach((a, i) => {
      if (w && (a.x < -3 || a.x + a.w > w + 3 || a.y < -3 || a.y + a.h > h + 3)) found.push(`${a.words} is cut off`);
      for (const b of labels.slice(i + 1)) if (Math.min(a.x + a.w, b.x + b.w) - Math.max(a.x, b.x) > 2 && Math.min(a.y + a.h, b.y + b.h) - Math.max(a.y, b.y) > 3) found.push(`${a.words} / ${b.words}`);
    });
    return found;
  }

  // labels are the faults of the pictures as they are, and of the one that a phone shows.
  function labels() {
    const l = book.look(), c = book.now.chapter, p = book.pages(c)[book.now.step], scene = (p.scene ?? c.scene)?.(l), phone = document.createElement("div"), canvas = document.createElement("canvas");
    const draw = p.figure ?? p.draw ?? c.draw ?? (scene && ((to) => machine(to, { at: 0.5, number: 0, still: true, ...scene })));
    const found = [el("machine"), !p.figure || el("drawn")].flatMap(crossed);
    phone.className = "apart";
    phone.style.cssText = "position: fixed; left: -9999px; width: 362px; height: 315px; --size: 15px";
    phone.append(canvas);
    el("book").append(phone);
    draw?.(canvas, l);
    found.push(...crossed(canvas).map((words) => `on a phone ${words}`));
    phone.remove();
    return found;
  }

  // shown is all that the page says and draws at this state.
  const shown = async (where) => ({
    Where: where, Words: el("book").innerText, Before: book.look().before.h, Handles: { ...book.now.h },
    Figures: [...el("book").querySelectorAll("[data-formula]")].map((b) => ({ Formula: b.dataset.formula, Value: b.dataset.value, Text: b.textContent, At: JSON.parse(b.dataset.at) })),
    Cases: [...el("book").querySelectorAll("[data-cases]")].map((b) => ({ Conditions: JSON.parse(b.dataset.cases), At: JSON.parse(b.dataset.at) })),
    Scene: book.seen?.scene, Lit: book.seen?.lit,
    Marks: el("drawn") && !el("drawn").closest("[hidden]") && book.figured?.knee ? book.figured : undefined,
    Coins: el("drawn") && !el("drawn").closest("[hidden]") ? book.figured?.coins?.map((c) => [c.id, c.held]) : undefined,
    Labels: book.now.chapter.plays ? [] : labels(),
    Frames: await framesOf(), Own: !!book.pages(book.now.chapter)[book.now.step].scene,
  });

  // look makes a move, waits until the page shows it, and returns what it shows, if that has a name.
  async function look(where, move) {
    move();
    do await pause(); while (!book.ready || document.body.dataset.ready !== "yes");
    return where && JSON.parse(JSON.stringify(await shown(where)));
  }

  // still keeps the pictures of the book from moving and from being painted while it walks.
  async function still(walks) {
    const style = document.head.appendChild(document.createElement("style"));
    style.textContent = "#book canvas { visibility: hidden; }";
    Object.defineProperty(document, "hidden", { value: true, configurable: true });
    try { return JSON.stringify(await walks()); } finally { style.remove(); delete document.hidden; }
  }

  // chapter reads each step, each handle at its least, its most and one more stop, and each answer.
  const chapter = (id, more) => still(async () => {
    const list = [await look("at first", () => book.enter(id))], c = book.now.chapter, pages = book.pages(c);
    for (const step of pages.keys()) list.push(await look(`step ${step + 1}`, () => book.go(step)));
    await look("", () => book.go(0));
    for (const [name, { stops }] of Object.entries(c.handles).sort(([a], [b]) => (a < b ? -1 : 1)))
      for (const i of new Set([0, stops.length - 1, Math.floor(more[name] * stops.length)]))
        list.push(await look(`${name} at ${stops[i]}`, () => book.set({ [name]: stops[i] })));
    for (const i of (c.ask?.answers ?? []).keys()) {
      await look("", () => book.go(pages.findIndex((p) => p.kind === "ask")));
      list.push(await look(`answer ${i + 1}`, () => book.choose(i)));
    }
    return list;
  });

  // opening stops at each moment at which the opening says something else, and gives each answer.
  const opening = () => still(async () => {
    const list = [], { steps, ask } = chapters.find((c) => c.plays);
    for (const [act, { says, lasts }] of steps.entries()) {
      await look("", () => book.go(act));
      for (const [from] of says) {
        const at = from / lasts + 0.001;
        list.push(await look(`act ${act + 1} at ${at}`, () => { book.now.playing = false; book.now.at = at; book.set({}); }));
      }
    }
    for (const i of ask.answers.keys()) list.push(await look(`answer ${i + 1}`, () => book.choose(i)));
    return list;
  });

  return { chapter, opening };
})();
