// Going from stop to stop.
"use strict";

// placeOf returns the tour and the stop that a name such as "batching.2" means; undefined where there is none.
function placeOf(name) {
  const [id, n] = name.split(".");
  const tour = tours.find((t) => t.id === id), stop = tour?.stops[Number(n) - 1];
  return stop && { tour, stop, n: Number(n) };
}

const stopAt = (name) => placeOf(name)?.stop;

// stateAt returns the state that a stop sets.
function stateAt(name) {
  const { more = [], beside = "", at = 0, ...values } = stopAt(name).set;
  const state = Object.assign(initialState(), { beside, at, more: [...more], tour: name });
  Object.assign(state.values, values);
  return state;
}

// enter goes to a stop.
function enter(name) {
  if (app.playing) play(false);
  const { machine } = app.state;
  Object.assign(app, { state: { ...stateAt(name), machine }, controls: false });
  change(() => {});
  el("tour-title")?.focus();
}

// leave ends the tour. The server stays as it is.
function leave() {
  app.state.tour = "";
  app.answered = undefined;
  keepAddress();
  update();
  el("story")?.focus();
}

// without returns a state without some settings.
function without(state, keys) {
  return { ...state, more: state.more.filter((s) => !keys.includes(s.split("=")[0])) };
}

// f names a figure of a run, and times how many times as large it is as another one.
const f = (key, form, run = "main") => ({ run, key, form });
const times = (key, run, otherKey, other) => ({ run, key, by: { run: other, key: otherKey }, form: (x) => `${Number(x.toPrecision(2))} times` });

function makeTours() {
  el("tour-choice").append(...tours.map((t) => Object.assign(document.createElement("option"), { value: t.id, textContent: t.name })));
}
