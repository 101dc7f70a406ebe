// The coin of speculative sampling: a drafter guesses words by its own law, and a coin decides which are kept.
"use strict";

// What was drawn so far: how often each word came out, how many drafts were kept, and the last draws.
const coin = { words: [], source: undefined, out: [], drafts: 0, kept: 0, last: [] };
const mostDraws = 20; // that are kept one by one
const mostDrafts = 1e6;

// readCoin takes the two laws from the page, and begins with the same random numbers each time.
function readCoin() {
  if (coin.words.length) return;
  coin.words = JSON.parse(el("words-data").textContent);
  coin.out = coin.words.map(() => 0);
  coin.source = randomNumbers(1);
}

// randomNumbers returns a source of numbers from 0 up to 1 (mulberry32, public domain).
function randomNumbers(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

// drawBy returns a word by its chances, of which the sum is 1.
function drawBy(chance) {
  let left = coin.source();
  const i = coin.words.findIndex((w) => (left -= chance(w)) < 0);
  return i < 0 ? coin.words.length - 1 : i;
}

// toss drafts words, one after another, and keeps each where the coin is below p/q. In place of one that is not
// kept, a word is drawn from what the drafter draws too rarely (Leviathan et al., ICML 2023, algorithm 1).
function toss(times) {
  for (let n = 0; n < times && coin.drafts < mostDrafts; n++) {
    const drafted = drawBy((w) => w.draft), side = coin.source(), kept = side < coin.words[drafted].accept;
    const out = kept ? drafted : drawBy((w) => w.residual);
    coin.drafts++;
    if (kept) coin.kept++;
    coin.out[out]++;
    coin.last = [...coin.last.slice(1 - mostDraws), { drafted, side, kept, out }];
  }
  update();
}

// coinFigures returns what was drawn beside the closed form: the chance of a draft is the sum of the lesser of both
// probabilities (Leviathan et al., corollary 3.6). far is the distance of what came out from the model's law.
function coinFigures() {
  const sum = (of) => coin.words.reduce((s, w, i) => s + of(w, i), 0), n = Math.max(1, coin.drafts);
  return {
    chance: sum((w) => Math.min(w.target, w.draft)), drafts: coin.drafts, kept: coin.kept / n,
    far: sum((w, i) => Math.abs(coin.out[i] / n - w.target)) / 2, apart: sum((w) => Math.abs(w.draft - w.target)) / 2,
  };
}

// CoinControls throws the coin.
function CoinControls() {
  return html`<p><button type="button" id="toss" onClick=${() => toss(1)}>Draft a word</button> <button type="button" id="toss-many" onClick=${() => toss(1000)}>1,000 words</button></p>`;
}

// CoinChart shows both laws, what came out, and the last draft with its coin.
function CoinChart() {
  const size = { width: 640, height: 330, left: 50, bottom: 40, top: 30 }, top = 0.45;
  const y = (v) => size.height - size.bottom - v / top * (size.height - size.bottom - size.top), foot = y(0);
  const step = (size.width - size.left) / coin.words.length, wide = step * 0.25, last = coin.last.at(-1), n = coin.drafts;
  const bar = (x, v, kind) => html`<rect class=${kind} x=${x} width=${wide - 3} y=${y(v)} height=${foot - y(v)} />`;
  const key = [["q", "drafter q"], ["p", "model p"], ["came", `came out, of ${number(n)}`]];
  return html`<figure><svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label=${coinWords()}>
    ${key.map(([kind, words], i) => html`<rect class=${kind} x=${size.left + 150 * i} y="6" width="12" height="12" /><text x=${size.left + 17 + 150 * i} y="16">${words}</text>`)}
    ${[0, 0.1, 0.2, 0.3, 0.4].map((v) => html`<line class="grid" x1=${size.left} x2=${size.width} y1=${y(v)} y2=${y(v)} /><text x=${size.left - 6} y=${y(v) + 4} text-anchor="end">${Math.round(100 * v)}%</text>`)}
    ${coin.words.map((w, i) => { const x = size.left + step * (i + 0.12); return html`<g>${bar(x, w.draft, "q")}${bar(x + wide, w.target, "p")}${bar(x + 2 * wide, n ? coin.out[i] / n : 0, "came")}
      <text x=${x + 1.5 * wide} y=${foot + 17} text-anchor="middle" class=${last?.out === i ? "now" : ""}>${w.word}</text>
      <text x=${x + 1.5 * wide} y=${foot + 33} text-anchor="middle" class="soft">kept: ${percent(w.accept)}</text></g>`; })}
  </svg><${CoinLine} last=${last} /><figcaption id="coin-words">${coinWords()}</figcaption></figure>`;
}

// CoinLine shows the coin of the last draft between 0 and 1, and where it has to be.
function CoinLine({ last }) {
  if (!last) return null;
  const x = (v) => 50 + 540 * v, w = coin.words[last.drafted];
  return html`<svg viewBox="0 0 640 44" aria-hidden="true"><rect class="off" x=${x(0)} width="540" y="14" height="14" /><rect class="keep" x=${x(0)} width=${540 * w.accept} y="14" height="14" />
    <line class="coin" x1=${x(last.side)} x2=${x(last.side)} y1="8" y2="34" /><text x=${x(0)} y="42">0</text><text x=${x(1)} y="42" text-anchor="end">1</text></svg>`;
}

// coinWords says what the picture shows.
function coinWords() {
  const last = coin.last.at(-1);
  if (!last) return "Six words, with the drafter's chance, the model's, and how often a draft of the word is kept. Nothing is drafted yet.";
  const w = coin.words[last.drafted], { kept, drafts } = coinFigures();
  return `“${w.word}” was drafted. The coin shows ${last.side.toFixed(2)}; it has to be below ${w.accept.toFixed(2)}. ${last.kept ? "The word is kept." : `The word is rejected, and “${coin.words[last.out].word}” is drawn in its place.`} ${percent(kept)} of ${number(drafts)} drafts are kept so far.`;
}
