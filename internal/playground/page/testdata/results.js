// Runs the packed simulator under Node: for each list of settings in the JSON array on standard input, it
// prints a line with what the page would be told.
const fs = require("fs"), path = require("path"), fzstd = require("../vendor/fzstd.js");
const folder = process.argv[2];
require(path.resolve(folder, "wasm_exec.js"));
(async () => {
  const go = new Go();
  const program = fzstd.decompress(fs.readFileSync(path.join(folder, "playground.wasm.zst")));
  const { instance } = await WebAssembly.instantiate(program, go.importObject);
  go.run(instance);
  const call = (name, settings) => JSON.parse(llmsim(name, JSON.stringify([settings])));
  for (const settings of JSON.parse(fs.readFileSync(0, "utf8")))
    console.log(JSON.stringify({ result: call("result", settings), yaml: call("yaml", settings) }));
  process.exit(0);
})();
