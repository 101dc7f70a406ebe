// Mouse, touch and keys.
"use strict";

function connect() {
  book.start();
  const on = (id, event, does) => el(id).addEventListener(event, does);
  on("door", "click", () => { location.hash = planner.values.model ? planAddress() : "plan"; });
  on("book-door", "click", () => { location.hash = "book"; });
  on("play-door", "click", () => { enterDoor("play"); keepAddress(); update(); render(); });
  on("play", "click", () => play());
  on("step", "click", () => step(true));
  on("back", "click", () => step(false));
  on("slower", "click", () => hasten(-1));
  on("faster", "click", () => hasten(1));
  on("time", "input", () => { if (app.playing) play(false); move(Number(el("time").value)); });
  on("all-controls", "click", () => { app.controls = !app.controls; update(); });
  on("reset", "click", () => { Object.assign(app.state, initialState()); app.controls = false; change(() => {}); });
  on("copy-link", "click", () => { settle(); offer("A link to this state", location.href); });
  on("copy-yaml", "click", async () => {
    try { offer("This scenario as a file", await simulator.yaml(scenarios().main), "Save it as my.yaml; then: llmsim scenario my.yaml"); }
    catch (error) { offer("This scenario cannot be written", error.message); }
  });
  on("copy-command", "click", () => {
    const { main, beside } = scenarios();
    const own = main.some((s) => /^hardware\.(bandwidth|memory|peak)=/.test(s));
    offer("This scenario as a command", [main, beside].filter(Boolean).map(command).join("\n\n"),
      own ? "The command line takes no hardware.bandwidth, .memory or .peak by --set: there, such a machine is a file of hardware." : "");
  });
  for (const i of [0, 1]) {
    on(`stage-${i}`, "pointermove", (e) => { if (e.pointerType === "mouse") point(e, i, false); });
    on(`stage-${i}`, "pointerleave", () => { if (!app.held) look({}); });
    on(`stage-${i}`, "click", (e) => point(e, i, true));
  }
  addEventListener("keydown", keys);
  // Keys go to the player after a click on a button, and to the button when it was reached by keys.
  addEventListener("click", (e) => { if (e.detail > 0) e.target.closest?.("button, summary")?.blur(); });
  addEventListener("pointerup", release);
  addEventListener("change", release);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
  new ResizeObserver(render).observe(el("stages"));
  addEventListener("hashchange", () => {
    const address = location.hash.slice(1);
    if (document.body.dataset.sheets) return location.reload();
    enterDoor(address);
    if (paper.isPaper(address)) return;
    if (isPlan(address) || book.isBook(address)) return;
    if (app.playing) play(false); // the address names the moment to show
    app.state = stateOf(address, app.options);
    change(() => {});
  });
}

// release ends the dragging of a slider.
function release() { app.drag = undefined; app.last = performance.now(); }

// look draws attention to a region, a request or a step, in the picture and in the text.
function look(view) {
  app.view = view;
  for (const word of document.querySelectorAll(".ref")) word.classList.toggle("on", word.dataset.region === view.region);
  render();
}

// point finds what is under the pointer. A click holds a request, or goes to a step and says what it waited for.
function point(e, i, click) {
  const { left, top } = el(`stage-${i}`).getBoundingClientRect(), x = e.clientX - left, y = e.clientY - top;
  const under = (app.hits?.[i] ?? []).filter((h) => x >= h.x && x <= h.x + h.w && y >= h.y && y <= h.y + h.h);
  const request = under.findLast((h) => h.request !== undefined && h.request >= 0), step = under.findLast((h) => h.step)?.step;
  if (app.held && !click) return;
  app.held = click && request !== undefined && app.view.request !== request.request;
  if (click && step && !app.held) {
    if (app.playing) play(false);
    app.view = { step: step.step };
    return move(step.to);
  }
  const region = under.findLast((h) => h.region)?.region;
  look(request ? { region, request: request.request } : { region });
  words(app.servers[i], i);
}

// keys play and step, wherever the focus is on nothing that uses these keys itself.
function keys(e) {
  if (planner.on || book.now.on || e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("select, textarea, dialog, input[type=text]")) return;
  const slides = e.target.closest?.("input"), pushes = e.target.closest?.("button, a, summary, label");
  const does = { " ": () => play(), ArrowRight: () => step(true), ArrowLeft: () => step(false), "+": () => hasten(1), "=": () => hasten(1), "-": () => hasten(-1) }[e.key];
  if (!does || slides && e.key.startsWith("Arrow") || pushes && e.key === " ") return;
  e.preventDefault();
  does();
}

// offer shows a text to take along, and puts it on the clipboard where that is allowed.
async function offer(title, text, note = "") {
  el("text-title").textContent = title;
  el("text-area").value = text;
  el("text-note").textContent = note;
  el("text-dialog").showModal();
  el("text-area").select();
  try {
    await navigator.clipboard.writeText(text);
    el("text-note").textContent = ("It is on the clipboard. " + note).trim();
  } catch { /* the text is selected */ }
}

const quoted = (s) => /^[\w.=,/:%+-]+$/.test(s) ? s : `'${s.replaceAll("'", `'\\''`)}'`;
const command = (settings) => ["llmsim scenario playground", ...settings.map((s) => `--set ${quoted(s)}`)].join(" \\\n  ");
