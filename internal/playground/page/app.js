// The page: controls, results, and the player of the stages.
"use strict";
const el = (id) => document.getElementById(id);
const app = { options: undefined, state: undefined, figures: [], stages: [], playing: false, at: 0, speed: 3, last: 0 };

// Simulated milliseconds in a second of the player.
const speeds = [5, 10, 20, 40, 80, 150, 300, 600, 1500, 4000, 10000];

function element(tag, properties = {}, ...children) {
  const e = Object.assign(document.createElement(tag), properties);
  e.append(...children);
  return e;
}

// makeControls fills the form, one group after another.
function makeControls() {
  const form = el("controls");
  for (const group of ["Server", "Users", "Scheduler"]) {
    const set = element("fieldset", {}, element("legend", { textContent: group }));
    for (const c of controls.filter((c) => c.group === group)) set.append(c.stops ? slider(c) : choices(c));
    form.append(set);
  }
  const more = element("input", { type: "text", id: "more", spellcheck: false, placeholder: "seed=1 workload.requests=20" });
  more.addEventListener("change", () => change((s) => { s.more = more.value.split(/\s+/).filter(Boolean); }));
  form.append(element("label", { className: "control" }, "Other settings, as --set takes them", more));
  form.addEventListener("submit", (e) => e.preventDefault());
}

function slider(c) {
  const input = element("input", { type: "range", id: c.id, min: 0, max: c.stops.length - 1, step: 1 });
  const output = element("output", { id: `${c.id}-value` });
  output.setAttribute("for", c.id);
  input.addEventListener("input", () => change((s) => { s.values[c.id] = String(c.stops[input.value]); }));
  return element("label", { className: "control" }, element("span", { className: "top" }, c.label, output), input);
}

function choices(c) {
  const select = element("select", { id: c.id });
  const { models, accelerators, batching } = app.options;
  const list = c.id === "model" ? models.map((m) => [m.name, `${m.name} (${billions(m.parameters)})`])
    : c.id === "hardware" ? accelerators.map((a) => [a.name, `${a.name} (${Math.round(a.memory / 1e9)} GB, ${number(Math.round(a.bandwidth / 1e9))} GB/s)`])
      : batching.map((p) => [p.name, p.name]);
  for (const [value, textContent] of list) select.append(element("option", { value, textContent }));
  select.addEventListener("change", () => change((s) => {
    s.values[c.id] = select.value;
    if (c.id === "batching") s.values.limit = s.values.budget = "";
  }));
  return element("label", { className: "control" }, element("span", { className: "top" }, c.label), select);
}

const billions = (n) => n >= 1e9 ? `${Number((n / 1e9).toPrecision(3))} B` : `${Math.round(n / 1e6)} M`;

// show puts the state into the controls.
function show() {
  const { values } = app.state, policy = policyOf(app.options, values.batching);
  for (const c of controls) {
    const input = el(c.id);
    if (!c.stops) { input.value = values[c.id]; continue; }
    const i = c.stops.map(String).indexOf(String(values[c.id]));
    if (i >= 0) input.value = i;
    input.disabled = c.id === "limit" && !policy.limit || c.id === "budget" && !policy.budget || c.id === "accept" && values.draft === "0";
    const words = input.disabled ? (c.id === "accept" ? "no drafts" : "it has none") : c.show(String(values[c.id]));
    el(`${c.id}-value`).textContent = words;
    input.setAttribute("aria-valuetext", words);
  }
  el("more").value = app.state.more.join(" ");
  el("beside").value = app.state.beside;
}

// change changes the state, and all that follows from it.
function change(edit) {
  document.body.dataset.ready = "";
  edit(app.state);
  app.state.at = 0;
  show();
  keepAddress();
  simulate();
}

function keepAddress() {
  const address = addressOf(app.state, app.options);
  history.replaceState(null, "", "#" + address);
}

// variants returns the settings of the scenario, and of the one beside it.
function variants() {
  const { state, options } = app;
  const list = [{ name: state.values.batching, settings: settingsOf(state, options) }];
  if (state.beside) list.push({ name: state.beside, settings: settingsOf(state, options, state.beside) });
  return list;
}

// simulate runs the scenarios: of what changes while one runs, the last state only.
async function simulate() {
  app.wanted = true;
  if (app.busy) return app.busy;
  app.busy = (async () => {
    while (app.wanted) {
      app.wanted = false;
      el("figures").classList.add("stale");
      const list = variants();
      try {
        app.figures = [];
        for (const v of list) app.figures.push(await simulator.result(v.settings));
        report("", list);
      } catch (error) {
        app.figures = [];
        report(error.message, list);
      }
    }
    app.busy = undefined;
    clearTimeout(app.settling);
    app.settling = setTimeout(reopen, 150); // once the slider rests
  })();
  return app.busy;
}

// tiles are the figures shown: a name, the value, and a note.
const tiles = [
  ["Time to first token", (r) => milliseconds(r.mean_ttft_ms), (r) => `99% within ${milliseconds(r.p99_ttft_ms)}`],
  ["Time per output token", (r) => r.mean_tpot_ms ? milliseconds(r.mean_tpot_ms) : "–", (r) => r.mean_tpot_ms ? `99% within ${milliseconds(r.p99_tpot_ms)}` : "answers come at once"],
  ["Throughput", (r) => `${number(Math.round(r.output_throughput))} tokens/s`, (r) => r.offered_rate ? `${r.request_throughput.toFixed(2)} of ${r.offered_rate.toFixed(2)} requests/s` : `${r.request_throughput.toFixed(2)} requests/s`],
  ["Within the SLO", (r) => percent(r.slo_attainment.all), (r) => `TTFT ${percent(r.slo_attainment.ttft)}, TPOT ${percent(r.slo_attainment.tpot)}`],
  ["Batch", (r) => `${r.mean_decode_batch.toFixed(1)} decode`, (r) => `${r.peak_batch} at most`],
  ["KV memory", (r) => percent(r.kv_usage), (r) => `${percent(r.peak_kv_usage)} at most, ${number(r.preemptions)} preempted`],
  ["Queue", (r) => `${r.mean_waiting.toFixed(1)} wait`, (r) => `${number(r.peak_waiting)} at most`],
  ["Cost", (r) => r.cost_per_million_output_tokens ? `$${r.cost_per_million_output_tokens.toPrecision(3)}` : "–", () => "for a million output tokens"],
];
const percent = (share) => share >= 1 ? "100%" : `${(100 * share).toPrecision(share < 0.1 ? 2 : 3)}%`;

// report shows the results, or what is wrong.
function report(problem, list) {
  el("problem").textContent = problem;
  const runs = app.figures.map((f) => f.figures);
  el("figures").classList.toggle("stale", problem !== "");
  if (problem) {
    el("verdict").textContent = el("insight").textContent = el("took").textContent = "";
    el("figures").replaceChildren();
    return;
  }
  el("figures").replaceChildren(...tiles.map(([name, value, note]) => {
    const tile = element("div", {}, element("dt", { textContent: name }));
    const both = runs.length > 1;
    runs.forEach((r, i) => tile.append(element("dd", { className: "value", textContent: value(r) }),
      element("dd", { className: "note", textContent: (both ? `${list[i].name}; ` : "") + note(r) })));
    return tile;
  }));
  const r = runs[0], took = app.figures.reduce((t, f) => t + f.took, 0);
  el("verdict").textContent = r.slo_met ? "– the SLO is met" : "– the SLO is missed";
  el("verdict").className = r.slo_met ? "met" : "missed";
  el("insight").textContent = r.insights.slice(0, 3).join(" ");
  el("took").textContent = `${number(runs.reduce((n, r) => n + r.completed, 0))} requests, ${number(runs.reduce((n, r) => n + r.steps, 0))} steps, simulated in ${Math.round(took)} ms. SLO: TTFT ${limit(r.slo.ttft)}, TPOT ${limit(r.slo.tpot)}, ${r.slo.percentile}% of requests.`;
  el("summary").textContent = `TTFT ${milliseconds(r.mean_ttft_ms)}, ${Math.round(r.output_throughput)} tokens a second, ${percent(r.slo_attainment.all)} within the SLO.`;
  document.dispatchEvent(new Event("figures"));
}

// limit writes a limit of the SLO.
const limit = (l) => l === undefined ? "any" : typeof l === "string" ? l : JSON.stringify(l);

// reopen begins the stages anew.
async function reopen() {
  const list = variants(), { at } = app.state;
  app.stages = list.map((v, i) => app.stages[i] ?? new Stage(i, el(`stage-${i}`)));
  document.querySelectorAll(".stage").forEach((figure, i) => { figure.hidden = i >= list.length; });
  list.forEach((v, i) => { el(`name-${i}`).textContent = list.length > 1 ? v.name : ""; });
  await Promise.all(app.stages.map((s, i) => s.open(list[i].settings)));
  await Promise.all(app.stages.map((s) => s.fetchTo(at)));
  move(at || firstSight());
  document.body.dataset.ready = "yes";
}

// firstSight returns a moment at which there is something to see: the first at which a prompt is computed
// beside answers, of the frames that are known.
function firstSight() {
  const { frames } = app.stages[0];
  const busy = (f) => f.running.filter((r) => r.does === "decode").length;
  const both = frames.filter((f) => busy(f) && f.running.some((r) => r.does === "prefill"));
  const best = both.length ? both.reduce((a, b) => busy(b) > busy(a) ? b : a) : frames.at(-1);
  return best?.to ?? 0;
}

// move shows another moment.
function move(at) {
  app.at = Math.max(0, at);
  render();
  describe();
}

function render() {
  for (const s of app.stages) s.draw(app.at);
  const end = Math.max(1, ...app.stages.map((s) => s.end()));
  const time = el("time");
  time.max = Math.max(end, Number(time.max) > end && app.playing ? Number(time.max) : end);
  time.value = app.at;
  time.setAttribute("aria-valuetext", milliseconds(app.at));
  el("clock").textContent = milliseconds(app.at);
}

// describe says in words what the pictures show, when they stand still.
function describe() {
  app.stages.forEach((s, i) => {
    const words = s.words(app.at);
    el(`words-${i}`).textContent = words;
    el(`stage-${i}`).setAttribute("aria-label", `${i ? app.state.beside : app.state.values.batching}. ${words}`);
  });
  app.state.at = app.at;
  keepAddress();
}

function play(on = !app.playing) {
  app.playing = on;
  el("play").textContent = on ? "Pause" : "Play";
  if (!on) return describe();
  app.last = performance.now();
  app.drawn = 0;
  app.since = app.last;
  requestAnimationFrame(tick);
}

// tick moves on by the time that passed, and waits where frames are still to come.
function tick(now) {
  if (!app.playing) return;
  const next = app.at + (now - app.last) / 1000 * speeds[app.speed];
  app.last = now;
  app.drawn++;
  for (const s of app.stages) if (s.end() - next < speeds[app.speed]) s.fetch();
  const known = Math.min(...app.stages.map((s) => s.over ? Infinity : s.end()));
  const end = Math.max(...app.stages.map((s) => s.end()));
  app.at = Math.min(next, known, end);
  render();
  if (app.stages.every((s) => s.over) && app.at >= end) return play(false);
  requestAnimationFrame(tick);
}

// step moves to where the next step ends (or the last one before).
async function step(on) {
  if (app.playing) play(false);
  if (on) await Promise.all(app.stages.map((s) => s.fetchTo(app.at + 1e-6)));
  if (on) await Promise.all(app.stages.map((s) => s.index(app.at) >= s.frames.length - 2 ? s.fetch() : undefined));
  const ends = app.stages.flatMap((s) => {
    const i = s.index(app.at);
    return [i - 2, i - 1, i, i + 1, i + 2].map((k) => s.frames[k]?.to).filter((t) => t !== undefined);
  });
  const tiny = 1e-9 * (1 + app.at);
  const there = on ? Math.min(...ends.filter((t) => t > app.at + tiny)) : Math.max(...ends.filter((t) => t < app.at - tiny));
  if (Number.isFinite(there)) move(there);
}

function hasten(by) {
  app.speed = Math.min(speeds.length - 1, Math.max(0, app.speed + by));
  const s = speeds[app.speed];
  el("speed").textContent = s < 1000 ? `1/${Math.round(1000 / s)} of real time` : s === 1000 ? "real time" : `${s / 1000} × real time`;
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

function connect() {
  el("play").addEventListener("click", () => play());
  el("step").addEventListener("click", () => step(true));
  el("back").addEventListener("click", () => step(false));
  el("slower").addEventListener("click", () => hasten(-1));
  el("faster").addEventListener("click", () => hasten(1));
  el("time").addEventListener("input", () => { if (app.playing) play(false); move(Number(el("time").value)); });
  el("beside").addEventListener("change", () => change((s) => { s.beside = el("beside").value; }));
  el("reset").addEventListener("click", () => { endTour(); change((s) => Object.assign(s, initialState())); });
  el("copy-link").addEventListener("click", () => { describe(); offer("A link to this state", location.href); });
  el("copy-yaml").addEventListener("click", async () => {
    try { offer("This scenario as a file", await simulator.yaml(variants()[0].settings), "Save it as my.yaml; then: llmsim scenario my.yaml"); }
    catch (error) { offer("This scenario cannot be written", error.message); }
  });
  el("copy-command").addEventListener("click", () => offer("This scenario as a command", variants().map((v) => command(v.settings)).join("\n\n")));
  el("jump").addEventListener("click", () => el("controls").scrollIntoView());
  document.addEventListener("keydown", keys);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => render());
  new ResizeObserver(() => render()).observe(el("stages"));
  addEventListener("hashchange", () => { app.state = stateOf(location.hash.slice(1), app.options); show(); openTour(); simulate(); });
}

// keys play and step, wherever the focus is on nothing that uses them itself.
function keys(e) {
  if (e.target.closest("input, select, textarea, button, dialog, a") || e.ctrlKey || e.metaKey || e.altKey) return;
  const does = { " ": () => play(), ArrowRight: () => step(true), ArrowLeft: () => step(false), "+": () => hasten(1), "=": () => hasten(1), "-": () => hasten(-1) }[e.key];
  if (!does) return;
  e.preventDefault();
  does();
}

async function begin() {
  try {
    await simulator.start();
    app.options = await simulator.options();
  } catch (error) {
    el("problem").textContent = `The simulator does not start in this browser: ${error.message}`;
    return;
  }
  el("version").textContent = app.options.version;
  makeControls();
  el("beside").append(element("option", { value: "", textContent: "nothing" }),
    ...app.options.batching.map((p) => element("option", { value: p.name, textContent: p.name })));
  app.state = stateOf(location.hash.slice(1), app.options);
  hasten(0);
  show();
  makeTours();
  makeMachines();
  connect();
  openTour();
  await simulate();
  document.body.dataset.interactive = Math.round(performance.now()); // since the page was opened
}
