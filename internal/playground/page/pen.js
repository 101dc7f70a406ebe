// A pen draws on a canvas in the colours and the type size of the page, and knows afterwards what is where.
"use strict";

// Colours of requests in turn: Okabe and Ito's, which colour-blind people tell apart, and two more. Nothing else
// on the page has a colour: the phases differ by form, and the parts of a step by texture.
const hues = ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#8c6bb1", "#b8ad1c", "#cc79a7"];
const colourOf = (id) => hues[id % hues.length];

class Pen {
  constructor(canvas) {
    const scale = devicePixelRatio || 1, style = getComputedStyle(canvas);
    this.width = canvas.clientWidth;
    this.height = canvas.clientHeight;
    if (canvas.width !== Math.round(this.width * scale) || canvas.height !== Math.round(this.height * scale)) {
      canvas.width = Math.round(this.width * scale);
      canvas.height = Math.round(this.height * scale);
    }
    this.c = canvas.getContext("2d");
    this.c.setTransform(scale, 0, 0, scale, 0, 0);
    this.c.clearRect(0, 0, this.width, this.height);
    this.em = parseFloat(style.fontSize);
    this.family = style.fontFamily;
    for (const name of ["ink", "soft", "line", "faint", "act", "paper"]) this[name] = style.getPropertyValue(`--${name}`).trim();
    this.hits = []; // {x, y, w, h, …}: what is where, the last one on top
  }

  // note remembers that something is at a place, for the mouse and for touch.
  note(x, y, w, h, what) { this.hits.push({ x, y, w, h, ...what }); }

  box(x, y, w, h, colour, alpha = 1) {
    this.c.globalAlpha = alpha;
    this.c.fillStyle = colour;
    this.c.fillRect(x, y, Math.max(w, 0.5), h);
    this.c.globalAlpha = 1;
  }

  frame(x, y, w, h, colour, width = 1.5) {
    this.c.strokeStyle = colour;
    this.c.lineWidth = width;
    this.c.strokeRect(x, y, w, h);
  }

  text(words, x, y, { colour = this.soft, align = "left", size = 0.85, bold = false, halo = false } = {}) {
    this.c.font = `${bold ? "600 " : ""}${size * this.em}px ${this.family}`;
    this.c.textAlign = align;
    this.c.textBaseline = "alphabetic";
    if (halo) {
      this.c.strokeStyle = this.paper;
      this.c.lineWidth = 4;
      this.c.strokeText(words, x, y);
    }
    this.c.fillStyle = colour;
    this.c.fillText(words, x, y);
  }

  wide(words, size = 0.85, bold = false) {
    this.c.font = `${bold ? "600 " : ""}${size * this.em}px ${this.family}`;
    return this.c.measureText(words).width;
  }

  path(points, colour, width = 1.5) {
    this.c.strokeStyle = colour;
    this.c.lineWidth = width;
    this.c.beginPath();
    points.forEach(([x, y], i) => i ? this.c.lineTo(x, y) : this.c.moveTo(x, y));
    this.c.stroke();
  }

  area(points, base, colour, alpha) {
    this.c.globalAlpha = alpha;
    this.c.fillStyle = colour;
    this.c.beginPath();
    this.c.moveTo(points[0][0], base);
    for (const [x, y] of points) this.c.lineTo(x, y);
    this.c.lineTo(points.at(-1)[0], base);
    this.c.fill();
    this.c.globalAlpha = 1;
  }

  // mark draws a step under the roof: a square where it computes prompts, else a circle.
  mark(x, y, r, square, alpha = 1) {
    this.c.globalAlpha = alpha;
    this.c.fillStyle = this.ink;
    this.c.beginPath();
    if (square) this.c.rect(x - r, y - r, 2 * r, 2 * r); else this.c.arc(x, y, r, 0, 2 * Math.PI);
    this.c.fill();
    this.c.globalAlpha = 1;
  }

  // textured fills a box with the texture of a part of a step, shifted to the left as it streams past.
  textured(x, y, w, h, part, shift = 0) {
    const { c } = this;
    c.save();
    c.beginPath();
    c.rect(x, y, Math.max(w, 0.5), h);
    c.clip();
    textures[part](this, x, y, w, h, shift);
    c.restore();
    this.frame(x + 0.5, y + 0.5, Math.max(w - 1, 0.5), h - 1, this.soft, 1);
  }
}

// lines draws slanted lines of a distance over a box.
function lines(pen, x, y, w, h, { every, slant, width, shift }) {
  for (let k = -h - every - (shift % every); k < w + h; k += every)
    pen.path([[x + k, y + (slant < 0 ? h : 0)], [x + k + Math.abs(slant) * h, y + (slant < 0 ? 0 : h)]], pen.ink, width);
}

// What memory has to deliver is dark or slanted and streams; arithmetic is dotted; the rest stands still.
const textures = {
  weights(pen, x, y, w, h, shift) {
    pen.box(x, y, w, h, pen.soft);
    for (let k = -(shift % 14); k < w; k += 14) pen.box(x + k, y, 4, h, pen.faint, 0.55);
  },
  kv: (pen, x, y, w, h, shift) => lines(pen, x, y, w, h, { every: 7, slant: 1, width: 2, shift }),
  scores: (pen, x, y, w, h, shift) => lines(pen, x, y, w, h, { every: 4, slant: 1, width: 1, shift }),
  activations(pen, x, y, w, h, shift) { for (let k = 3 - (shift % 10); k < w; k += 10) pen.box(x + k, y + h * 0.35, 4, h * 0.3, pen.ink); },
  arithmetic(pen, x, y, w, h) {
    for (let i = 3; i < w; i += 6) for (let j = 3; j < h; j += 6) pen.box(x + i, y + j, 2.4, 2.4, pen.ink);
  },
  exchange: (pen, x, y, w, h) => lines(pen, x, y, w, h, { every: 7, slant: -1, width: 1, shift: 0 }),
  fixed: (pen, x, y, w, h) => lines(pen, x, y, w, h, { every: 5, slant: 0, width: 1, shift: 0 }),
  host(pen, x, y, w, h) { for (let j = 3; j < h; j += 5) pen.box(x, y + j, w, 1, pen.ink); },
  rest() { /* empty */ },
};
