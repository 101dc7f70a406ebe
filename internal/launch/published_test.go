package launch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

// parse checks the options of a command against the options that an engine publishes: it returns an
// error for an unknown option, for one that is given twice, and for one without its value.
func parse(words []string, options map[string]values) error {
	var seen []string
	for len(words) > 0 {
		name := words[0]
		takes, known := options[name]
		if rest, negated := strings.CutPrefix(name, "--no-"); !known && negated {
			takes, known = options["--"+rest]
			known = known && takes == none
		}
		switch {
		case !known:
			return fmt.Errorf("%s is not published", name)
		case slices.Contains(seen, name):
			return fmt.Errorf("%s is there twice", name)
		case takes != none && (len(words) < 2 || strings.HasPrefix(words[1], "-")):
			return fmt.Errorf("%s has no value", name)
		}
		seen = append(seen, name)
		words = takes.after(words[1:], false)
	}
	return nil
}

// Every command that is written, of leaders and workers too, parses by the options that its engine
// publishes, and what TensorRT-LLM finds in its file are fields that it has.
func TestCommandsParseByPublishedOptions(t *testing.T) {
	for _, e := range engines() {
		options := e.published()
		if len(options) < 50 {
			t.Fatalf("%s publishes %d options", e.name, len(options))
		}
		t.Run(e.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				settings := draw(t, e)
				if e.name != "trtllm" && rapid.Bool().Draw(t, "nodes") {
					settings = append(settings, "model=deepseek-v2-lite", "fleet.pools=[]",
						rapid.SampledFrom([]string{"parallelism={tensor: 16}",
							"parallelism={tensor: 8, pipeline: 2}",
							"parallelism={tensor: 1, data: 16}"}).Draw(t, "over nodes"))
				}
				s, err := build(settings)
				if err != nil {
					t.Skip(err)
				}
				servers, _, err := Fleet(s, e.name)
				if err != nil {
					t.Fatalf("%q: %v", settings, err)
				}
				for i := range servers {
					for _, command := range [][]string{servers[i].Command, servers[i].Leader,
						servers[i].Worker} {
						if len(command) == 0 || command[0] == "/bin/sh" {
							continue // a worker's shell command has the leader's options
						}
						words := command[e.program(command):]
						if e.name != "sglang" {
							words = words[1:] // the model
						}
						if err := parse(words, options); err != nil {
							t.Fatalf("%q: %v", command, err)
						}
					}
					if err := parse(servers[i].WorkerArgs, ofWorkers(&e)); err != nil {
						t.Fatalf("%q: %v", servers[i].WorkerArgs, err)
					}
					var config trtllmConfig
					if err := yaml.Unmarshal([]byte(servers[i].Config), &config); err != nil ||
						len(config.Others) > 0 || len(config.Cache.Others) > 0 {
						t.Fatalf("%v in\n%s", err, servers[i].Config)
					}
				}
			})
		})
	}
}

// ofWorkers returns the options of Dynamo's worker for an engine.
func ofWorkers(e *engine) map[string]values {
	switch options := publishedBy("dynamo"); e.name {
	case "vllm":
		maps.Copy(options, e.published())
		options["--model"] = one // in place of the first argument of vllm serve
		return options
	case "trtllm": // has none of the engine's own
		return options
	}
	return e.published()
}

// Each flag that is read is one that an engine publishes, or did before.
func TestFlagsThatAreReadArePublished(t *testing.T) {
	before := []string{"--tp", "--pp", "--dp", // which argparse completes
		"--model",                      // of the module that vllm serve replaced
		"--kv-transfer-config.kv_role", // a part of an option of vLLM
		"--kv-transfer-config.kv_connector",
		"-O",                                     // vLLM, --optimization-level since v0.15
		"--swap-space", "--disable-log-requests", // vLLM before v0.12
		"--enable-log-requests", "--moe-backend", "--language-model-only", // vLLM since
		"--uvicorn-log-level", "--disable-uvicorn-access-log"}
	all := map[string]values{}
	for _, name := range append(Engines(), "dynamo") {
		maps.Copy(all, publishedBy(name))
	}
	for _, e := range engines() {
		own := e.published()
		for _, o := range e.options() {
			for _, f := range o.flags {
				v, known := own[f]
				if _, elsewhere := all[f]; !known && !elsewhere && !slices.Contains(before, f) {
					t.Errorf("%s: %s is not published", e.name, f)
				}
				if known && o.isSwitch != (v == none) {
					t.Errorf("%s: %s is a switch here: %t", e.name, f, o.isSwitch)
				}
			}
		}
	}
}

// The parser for published options accepts and refuses what vLLM does.
func TestParsePublished(t *testing.T) {
	e := vllm()
	for text, good := range map[string]bool{
		"-tp 2 --enable-expert-parallel --no-enable-prefix-caching": true,
		"--served-model-name a b --seed 1":                          true,
		"--max-num-seqs 4 --max-num-seqs 4":                         false,
		"--max-num-seq 4":                                           false,
		"--max-num-seqs":                                            false,
		"--no-max-num-seqs":                                         false,
		"--enforce-eager true":                                      false,
	} {
		if err := parse(strings.Fields(text), e.published()); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
