// The simulator at the program that serves the page: it is asked one call after another.
"use strict";
const page = Math.random().toString(36); // whose stages it keeps
let turn = Promise.resolve();
addEventListener("message", ({ data }) => { if (typeof data !== "string") turn = turn.then(() => ask(data)); });

// ask hears an empty line after each simulation of a call that takes seconds, and then the answer.
async function ask({ id, call, args }) {
  const began = performance.now();
  try {
    const reply = await fetch(`${location.origin}/call`, { method: "POST", body: JSON.stringify({ page, call, args }) });
    if (!reply.ok) throw new Error(await reply.text());
    let text = "";
    for await (const part of reply.body.pipeThrough(new TextDecoderStream())) {
      text += part;
      for (; text[0] === "\n"; text = text.slice(1)) postMessage({ id, ran: true });
    }
    postMessage({ id, took: performance.now() - began, ...JSON.parse(text) });
  } catch (error) { postMessage({ id, error: `The program that serves this page does not answer: ${error.message}` }); }
}
