// The page's memory, and what follows when a reader changes it: results, the whole run, and the stage.
"use strict";
const el = (id) => document.getElementById(id);
const app = {
  options: undefined, state: undefined, problem: "", runs: {}, overviews: [], seeds: [], servers: [new Frames(0), new Frames(1)],
  playing: false, at: 0, speed: 4, last: 0, view: {}, controls: false,
};

// Simulated milliseconds in a second of the player, and where a reader who asked for no moment arrives.
const speeds = [5, 10, 20, 40, 100, 200, 400, 1000, 2500, 6000, 15000];
const arrival = 2000;

const count = () => app.state.beside ? 2 : 1;

// scenarios returns the settings of the runs that the page shows: the first server, and the one beside it.
function scenarios() {
  const { state, options } = app;
  const list = { main: settingsOf(state, options) };
  if (state.beside) list.beside = settingsOf(besideOf(state, options), options);
  return list;
}

// change changes the state, and all that follows from it.
function change(edit) {
  edit(app.state);
  app.view = {};
  app.at = app.state.at;
  keepAddress();
  simulate();
}

// control changes what a control is for. Other requests come to a server that runs; another server starts anew.
function control(c, value) {
  const { state } = app, { values } = state;
  if (c.group === "Users" && app.at > 0) {
    if (app.drag === undefined && Math.abs((state.past.at(-1)?.until ?? -9) - app.at) > 1) {
      const before = Object.fromEntries(controls.filter((c) => c.group === "Users").map((c) => [c.id, values[c.id]]));
      state.past = [...state.past.filter((p) => p.until < app.at), { until: app.at, values: before }];
    }
    state.at = app.drag ??= app.at;
  } else Object.assign(state, { at: 0, past: [] });
  values[c.id] = value;
  if (c.id === "batching") values.limit = values.budget = "";
  change(() => {});
}

function keepAddress() { history.replaceState(null, "", "#" + addressOf(app.state, app.options)); }

// simulate runs the scenarios: of what changes while one runs, the last state only.
function simulate() {
  app.wanted = true;
  document.body.dataset.ready = document.body.dataset.seeds = "";
  update();
  app.busy ??= (async () => {
    while (app.wanted) {
      app.wanted = false;
      app.stale = true;
      try {
        await run();
        app.problem = "";
      } catch (error) {
        Object.assign(app, { runs: {}, problem: error.message });
      }
      app.stale = false;
      update();
      if (!app.wanted) await reopen();
    }
    app.busy = undefined;
    document.body.dataset.ready = "yes";
    update();
    seeds();
  })();
  return app.busy;
}

// run gets the results of all scenarios.
async function run() {
  const runs = {};
  app.seeds = [];
  for (const [name, settings] of Object.entries(scenarios())) {
    if (app.wanted) return;
    runs[name] = { settings, ...await simulator.result(settings) };
  }
  priceAlike(Object.values(runs).map((r) => r.figures));
  app.runs = runs;
}

// priceAlike gives results that stand beside each other one denominator of prices: the offered rate if each of
// them is priced at it, and otherwise each result's whole run.
function priceAlike(results) {
  const priced = results.filter((r) => r.priced_over);
  if (new Set(priced.map((r) => r.priced_over)).size < 2) return;
  for (const r of priced) if (r.cost) r.cost_per_million_output_tokens = r.cost / r.total_output_tokens * 1e6;
}

// reopen begins the stage and the picture of the whole run anew.
async function reopen() {
  const { state, options } = app, past = phasesOf(state, options), list = scenarios();
  const names = ["main", "beside"].slice(0, count());
  if (app.problem) return;
  for (const [i, name] of names.entries()) {
    await app.servers[i].open(list[name], past, state.at || arrival);
    if (app.wanted) return;
  }
  if (!state.at) app.at = firstSight();
  const overviews = [];
  for (const name of names) overviews.push(await simulator.overview(list[name], past));
  app.overviews = overviews;
  render();
}

// seeds runs the scenario with other arrivals, while nothing else is asked for.
async function seeds() {
  const mine = app.runs.main;
  if (!mine) return;
  const own = Number(mine.figures.seed), found = [mine.figures];
  const plain = mine.settings.filter((s) => !s.startsWith("seed="));
  for (let seed = own + 1; seed < own + 5; seed++) {
    try { found.push((await simulator.result([...plain, `seed=${seed}`])).figures); } catch { return; }
    if (app.busy || app.runs.main !== mine) return;
  }
  app.seeds = found;
  document.body.dataset.seeds = "yes";
  update();
}

// firstSight returns a moment at which there is something to see: a prompt is computed beside answers.
function firstSight() {
  const { list } = app.servers[0];
  const busy = (f) => f.running.filter((r) => r.does === "decode").length;
  const both = list.filter((f) => busy(f) && f.running.some((r) => r.does === "prefill"));
  return (both.at(-1) ?? list.at(-1))?.to ?? 0;
}

// move shows another moment, of which the frames may be still to come.
async function move(at) {
  app.at = Math.max(0, at);
  const moving = app.moving = {};
  const shown = app.servers.slice(0, count());
  render();
  for (const s of shown) {
    if (s.has(app.at)) await s.fetchTo(app.at);
    else if (s.settings) await s.open(s.settings, s.past, app.at);
    if (app.moving !== moving) return;
  }
  render();
  settle();
}

// settle notes the moment in the address, and says it in words.
function settle() {
  app.state.at = app.at;
  keepAddress();
  update();
}

// render draws the stage and the whole run.
function render() {
  const { at, view } = app;
  app.hits = app.servers.slice(0, count()).map((s, i) => drawServer(el(`stage-${i}`), s, at, view));
  drawRun(el("run"), app.overviews, at, app.state.past);
  const time = el("time");
  time.max = Math.max(1, ...app.overviews.map((o) => o.ends));
  time.value = at;
  time.setAttribute("aria-valuetext", milliseconds(at));
  el("clock").textContent = milliseconds(at);
  app.servers.slice(0, count()).forEach((s, i) => { if (!app.playing || performance.now() - (app.worded ?? 0) > 400) words(s, i); });
}

// words says what a stage shows.
function words(server, i) {
  app.worded = performance.now();
  const text = app.view.request !== undefined ? server.life(app.view.request, app.at) : inWords(server, app.at);
  el(`words-${i}`).textContent = text;
  el(`stage-${i}`).setAttribute("aria-label", text);
}

function play(on = !app.playing) {
  app.playing = on;
  el("play").textContent = on ? "Pause" : "Play";
  if (!on) { render(); return settle(); }
  app.last = performance.now();
  requestAnimationFrame(tick);
}

// tick moves on by the time that passed, and waits where frames are still to come.
function tick(now) {
  if (!app.playing) return;
  const shown = app.servers.slice(0, count());
  const next = app.at + (now - app.last) / 1000 * speeds[app.speed];
  app.last = now;
  for (const s of shown) if (s.settings && s.end() - next < 2 * speeds[app.speed]) s.fetch();
  const known = Math.min(...shown.map((s) => s.over ? Infinity : s.end()));
  const end = Math.max(...shown.map((s) => s.end()));
  if (app.drag === undefined) app.at = Math.max(app.at, Math.min(next, known, end));
  render();
  document.body.dataset.moved ??= String(Math.round(performance.now()));
  if (shown.every((s) => s.over) && app.at >= end) return play(false);
  requestAnimationFrame(tick);
}

// step moves to where the next step ends, or the last one before.
async function step(on) {
  if (app.playing) play(false);
  const shown = app.servers.slice(0, count()), tiny = 1e-9 * (1 + app.at);
  for (const s of shown) {
    if (on) await s.fetchTo(app.at + 1e-6);
    if (on && s.index(app.at) >= s.list.length - 2) await s.fetch();
    if (!on && s.index(app.at) < 2 && s.from) await s.open(s.settings, s.past, app.at);
  }
  const ends = shown.flatMap((s) => {
    const i = s.index(app.at);
    return [i - 2, i - 1, i, i + 1, i + 2].map((k) => s.list[k]?.to).filter((t) => t !== undefined);
  });
  const there = on ? Math.min(...ends.filter((t) => t > app.at + tiny)) : Math.max(...ends.filter((t) => t < app.at - tiny));
  if (Number.isFinite(there)) await move(there);
}

function hasten(by) {
  app.speed = Math.min(speeds.length - 1, Math.max(0, app.speed + by));
  const s = speeds[app.speed];
  el("speed").textContent = s < 1000 ? `1/${Math.round(1000 / s)} of real time` : s === 1000 ? "real time" : `${s / 1000} × real time`;
}

// enterDoor opens the door that an address leads to: the book, a plan, or free play.
async function enterDoor(address) {
  if (paper.isPaper(address)) return paper.show(address);
  const plans = isPlan(address), reads = book.isBook(address);
  if (plans) readQuestion(address);
  if (!reads && book.now.on) book.open(false);
  if (plans || planner.on) showPlanner(plans);
  for (const [id, on] of [["door", plans], ["book-door", reads], ["play-door", !plans && !reads]]) el(id).setAttribute("aria-pressed", String(on));
  if (reads) await book.open(true, address);
}

// begin opens the door of the address with what came with the page: the first frames of free play, the first acts of
// the book. Once that is painted, it starts the simulator.
async function begin() {
  const first = JSON.parse(el("first").textContent);
  app.options = first.options;
  for (const { asked, answer } of first.steps) ledger.knows(asked, answer);
  const address = location.hash.slice(1), elsewhere = isPlan(address) || book.isBook(address) || paper.isPaper(address);
  app.state = stateOf(elsewhere ? "" : address, app.options);
  app.at = app.state.at;
  hasten(0);
  connect();
  const plain = elsewhere || address === "play";
  if (plain) {
    app.servers[0].begin(first.frames);
    app.servers[0].from = first.from;
    app.overviews = [first.overview];
    app.runs = { main: { settings: [], text: first.result, took: 0, figures: JSON.parse(first.result) } };
    app.at = first.frames[Math.floor(first.frames.length / 3)].from;
    if (!matchMedia("(prefers-reduced-motion: reduce)").matches && !elsewhere) play(true);
  }
  const opened = enterDoor(address);
  if (!elsewhere) { update(); render(); }
  await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
  try {
    await simulator.start();
    await simulator.options();
  } catch (error) {
    app.problem = `The simulator does not start in this browser: ${error.message}`;
    return update();
  }
  document.body.dataset.interactive = Math.round(performance.now()); // since the page was opened
  await opened;
  if (paper.isPaper(address)) return;
  if (plain && !app.wanted && !app.busy) await adopt(first.from);
  else if (!plain) await simulate();
  update();
  document.body.dataset.ready = "yes";
  if (plain && !elsewhere) seeds();
}

// adopt lets the simulator go on where the first frames end.
async function adopt(from) {
  const [s] = app.servers, last = s.end();
  Object.assign(s, { settings: [], past: [], from });
  s.fetching = simulator.open(0, [], [], last + 1e-6).then(() => { s.fetching = undefined; });
  await s.fetching;
}
