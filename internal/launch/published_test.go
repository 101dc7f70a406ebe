package launch

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// publishedOptions reads the options of an engine as it publishes them: whether each takes a value.
func publishedOptions(t *testing.T, name string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
			list[words[0]] = len(words) == 1
		}
	}
	if len(list) < 50 {
		t.Fatalf("%d options", len(list))
	}
	return list
}

// parse reads the arguments of a command by published options, strictly: the model, then options
// that are known, each once and with its value.
func parse(words []string, options map[string]bool) error {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") {
		return fmt.Errorf("%q begins with no model", words)
	}
	var seen []string
	for words = words[1:]; len(words) > 0; {
		name := words[0]
		takes, known := options[name]
		if rest, negated := strings.CutPrefix(name, "--no-"); !known && negated {
			takes, known = options["--"+rest]
			known = known && !takes
		}
		switch {
		case !known:
			return fmt.Errorf("%s is not published", name)
		case slices.Contains(seen, name):
			return fmt.Errorf("%s is there twice", name)
		case takes && (len(words) < 2 || strings.HasPrefix(words[1], "-")):
			return fmt.Errorf("%s has no value", name)
		}
		seen = append(seen, name)
		if words = words[1:]; takes {
			words = words[1:]
		}
	}
	return nil
}

// Every command of vLLM that is written, of leaders and workers too, parses by the options that
// vLLM publishes.
func TestCommandsParseByPublishedOptions(t *testing.T) {
	options := publishedOptions(t, "vllm-serve-options.txt")
	rapid.Check(t, func(t *rapid.T) {
		settings := draw(t, vllm())
		more := rapid.SampledFrom([]string{"", "parallelism={tensor: 16}",
			"parallelism={tensor: 8, pipeline: 2}",
			"parallelism={tensor: 1, data: 16, redundant-experts: 16}", "engine.kv-cache=fp8",
			"batching=priority", "fleet.pools=[{role: prefill, replicas: 1}, {role: decode, " +
				"replicas: 1}]"}).Draw(t, "more")
		if more != "" {
			settings = append(settings, more)
		}
		s := built(t, settings)
		servers, _, err := Fleet(&s.Scenario, s.Model, "vllm")
		if err != nil {
			t.Fatalf("%q: %v", settings, err)
		}
		for i := range servers {
			for _, command := range [][]string{servers[i].Command, servers[i].Leader,
				servers[i].Worker} {
				if len(command) == 0 || command[0] == "/bin/sh" {
					continue // a worker's shell command has the leader's options
				}
				if err := parse(command[2:], options); err != nil {
					t.Fatalf("%q: %v", command, err)
				}
			}
		}
	})
}

// The parser for published options accepts and refuses what vLLM does.
func TestParsePublished(t *testing.T) {
	options := publishedOptions(t, "vllm-serve-options.txt")
	for text, good := range map[string]bool{
		"m -tp 2 --enable-expert-parallel --no-enable-prefix-caching": true,
		"m --max-num-seqs 4 --max-num-seqs 4":                         false,
		"m --max-num-seq 4":                                           false,
		"m --max-num-seqs":                                            false,
		"m --no-max-num-seqs":                                         false,
		"m --enforce-eager true":                                      false,
		"--max-num-seqs 4":                                            false,
	} {
		if err := parse(strings.Fields(text), options); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
