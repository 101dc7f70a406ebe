// The book on paper: all chapters as slides (#slides, 16:9, one a step) or as pages to read (#handout), with the pictures
// and the figures that the book has at the state of each step. A browser prints them, or saves them as HTML or PDF.
"use strict";
const paper = (() => {
  const kinds = { slides: { width: 1200, high: 440, type: 26, sheet: "1280px 720px" }, handout: { width: 1100, high: 400, type: 22, sheet: "A4" } };
  const style = (kind) => `@page { size: ${kinds[kind].sheet}; margin: ${kind === "slides" ? 0 : "14mm"}; }
    * { box-sizing: border-box; } body { margin: 0; background: #fff; color: #17191e; font: 22px/1.35 Inter, "Avenir Next", "Segoe UI", system-ui, sans-serif; font-variant-numeric: tabular-nums; }
    h1 { font-size: 19px; font-weight: 500; color: #555b66; margin: 0; } h2 { font-size: 34px; line-height: 1.12; margin: 0; letter-spacing: -.02em; } p, ul { margin: 6px 0; } .say { font-size: 26px; line-height: 1.25; }
    img { max-width: 100%; min-height: 0; object-fit: contain; object-position: left; } .pictures { display: flex; gap: 20px; min-height: 0; } .pictures img:only-child { max-width: 100%; } .pictures img { max-width: 49%; }
    .board { border-top: 1px solid #d6d2c7; font-size: 23px; } .line { display: flex; gap: 24px; align-items: center; margin: 4px 0; } .line small { margin-left: auto; color: #555b66; }
    .over { display: inline-grid; text-align: center; vertical-align: middle; } .over > :first-child { border-bottom: 2px solid; } .unseen { display: none; }
    .weights { color: #1c69ab; } .kv { color: #a84f00; } .arithmetic { color: #00795a; } .prompt { color: #7d3f9e; } .alarm { color: #b3261e; } li { margin: 3px 0; }
    .slides section { width: 1280px; height: 720px; padding: 28px 40px; display: grid; grid-template-rows: auto auto auto minmax(0, 1fr) auto; overflow: hidden; break-after: page; border-bottom: 1px solid #d6d2c7; }
    .slides .more { display: none; } .handout section { max-width: 1100px; margin: 0 auto; padding: 18px 0; break-inside: avoid; border-bottom: 1px solid #d6d2c7; } .handout h2 { font-size: 27px; } .handout, .handout .say, .handout .board { font-size: 19px; }
    @media print { section { border: 0 !important; } }`;

  // words writes a text as the book has it at this state, without what only hands use.
  function words(text, l) {
    const place = document.createElement("div");
    htmPreact.render(htmPreact.html`<${book.Say} text=${text} l=${l} />`, place);
    for (const handle of place.querySelectorAll(".handle")) handle.replaceWith(Object.assign(document.createElement("b"), { textContent: handle.textContent, className: handle.className }));
    return place.innerHTML;
  }
  const plain = (text) => Object.assign(document.createElement("i"), { textContent: text }).innerHTML;

  // sheet is a step: what it says, shows and computes.
  function sheet(c, s, l, pictures) {
    const say = s.says ? s.says.map(([, t]) => t).join(" ") : s.kind === "ask" ? c.ask.text : s.kind === "check" ? c.check.text : s.kind === "measured" ? c.measured.text : s.lead;
    const answers = s.kind === "ask" || c.plays && s === c.steps.at(-1) ? `<ul>${c.ask.answers.map((a) => `<li>${plain(a.say)}</li>`).join("")}</ul>` : "";
    const source = s.kind === "measured" ? `<p>Source: ${plain(c.measured.source)}</p>` : "";
    return `<section><h1>${c.number} ${plain(c.title)}</h1><h2>${words(s.title, l)}</h2><div><p class="say">${words(say, l)}</p>${answers}${source}${(s.text ?? []).map((t) => `<p class="more">${words(t, l)}</p>`).join("")}</div>
      <div class="pictures">${pictures.map((p) => `<img src="${p}" alt="${plain(book.said(l)).replaceAll('"', "&quot;")}">`).join("")}</div>
      <div class="board">${(s.board ?? []).map(([line, note]) => `<p class="line"><span>${words(line, l)}</span>${note ? `<small>${words(note, l)}</small>` : ""}</p>`).join("")}</div></section>`;
  }

  // make makes all sheets of a kind, in the order of the book.
  async function make(kind) {
    const { width, high, type } = kinds[kind], sheets = [], stage = document.createElement("div");
    const size = `position: fixed; left: -9999px; width: ${width}px; height: ${high}px; --size: ${type}px`;
    document.body.append(Object.assign(document.createElement("p"), { id: "making", role: "status", textContent: "The sheets are being made …" }));
    document.body.classList.add("papering");
    await book.open(true, "book");
    for (const c of chapters) {
      for (const [i, s] of book.pages(c).entries()) {
        await book.enter(c.id, i);
        while (!book.ready) await book.set({});
        if (c.plays) { book.now.playing = false; book.now.at = 0.8; await book.set({}); }
        stage.style.cssText = size;
        sheets.push(sheet(c, s, book.look(), book.pictures(stage)));
      }
    }
    return sheets;
  }

  // show puts sheets in the place of the page.
  async function show(kind, sheets) {
    sheets ??= await make(kind);
    book.leave();
    document.querySelector("style").textContent = style(kind);
    document.body.className = kind;
    document.body.innerHTML = sheets.join("\n");
    document.body.dataset.ready = document.body.dataset.sheets = "yes";
  }

  return { make, show, isPaper: (address) => address in kinds };
})();
