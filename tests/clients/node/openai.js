// The official client for Node against llmsim serve: streams, tools, errors, abort.
import assert from "node:assert/strict";
import OpenAI from "openai";

const baseURL = process.argv[2] + "/v1";
const model = "llama-3.1-8b";
const client = new OpenAI({ baseURL, apiKey: "secret", maxRetries: 0 });
const messages = [{ role: "user", content: "Hello" }];

const whole = await client.chat.completions.create({ model, messages, max_completion_tokens: 6 });
assert.equal(whole.usage.completion_tokens, 6);
assert.equal(whole.choices[0].finish_reason, "length");

const stream = await client.chat.completions.create({
  model, messages, max_completion_tokens: 6, stream: true, stream_options: { include_usage: true },
});
let text = "", usage = null;
for await (const chunk of stream) {
  text += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
}
assert.equal(text, whole.choices[0].message.content);
assert.equal(usage.completion_tokens, 6);

const tools = [{ type: "function", function: { name: "weather", parameters: {
  type: "object", properties: { city: { type: "string" } }, required: ["city"] } } }];
const called = await client.chat.completions.create({ model, messages, tools, max_completion_tokens: 200 });
const call = called.choices[0].message.tool_calls[0];
assert.equal(call.function.name, "weather");
assert.equal(typeof JSON.parse(call.function.arguments).city, "string");
const runner = client.chat.completions.runTools({ model, messages, max_completion_tokens: 200, tools: [{ type: "function",
  function: { name: "weather", parameters: tools[0].function.parameters, parse: JSON.parse, function: () => "sunny" } }] });
assert.ok((await runner.finalContent()).length > 0);

const answer = await client.responses.create({ model, input: "Hello", max_output_tokens: 5 });
assert.equal(answer.output_text.trim().split(" ").length, 5);

const completion = await client.completions.create({ model, prompt: ["a", "b"], max_tokens: 3, n: 2 });
assert.equal(completion.choices.length, 4);

await assert.rejects(new OpenAI({ baseURL, apiKey: "wrong", maxRetries: 0 }).models.list(),
  (e) => e instanceof OpenAI.AuthenticationError && e.code === "invalid_api_key");
await assert.rejects(client.chat.completions.create({ model: "gpt-9", messages }), (e) => e instanceof OpenAI.NotFoundError);
await assert.rejects(client.chat.completions.create({ model, messages, max_completion_tokens: 1 << 20 }),
  (e) => e instanceof OpenAI.BadRequestError && e.code === "context_length_exceeded");

const controller = new AbortController();
const long = await client.chat.completions.create(
  { model, messages, max_completion_tokens: 10000, ignore_eos: true, stream: true }, { signal: controller.signal });
let pieces = 0;
for await (const chunk of long) {
  if (chunk && ++pieces === 5) controller.abort();
}
assert.ok(pieces < 100);
console.log("ok");
