// Package engines knows what replicas of serving engines are asked for, in the terms of their
// options, and what such terms mean in a scenario.
package engines

import (
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/internal/launch/options"
	registry "github.com/llmsim/llmsim/models/engines"
)

// Engine is what is known of a serving engine.
type Engine struct {
	Name string // of the program, as people write it
	// Port is the one on which it listens by default.
	Port int
	// Table is its options.
	Table *options.Table
	// preset is the prefix of the engine presets that describe it.
	preset string
	// Waiting and Running are the Prometheus metrics of the requests that wait and that run; empty
	// where the engine does not export it.
	Waiting, Running string
	// Dynamo is the worker by which Dynamo starts it.
	Dynamo Dynamo
	// programs are the words that start the engine, where python stands for Python of any version,
	// and others are words that begin alike and start something else. start is the words that a
	// file of ours starts it with.
	programs, others []string
	start            []string
	// express returns the terms of a replica, and interpret turns terms that were read into keys of
	// a scenario.
	express   func(d *Replica) options.Terms
	interpret func(r *Reading)
}

// Dynamo is how NVIDIA Dynamo starts an engine.
type Dynamo struct {
	Module string // of Python
	Image  string
	// Version is the engine's in the image, by docs/reference/support-matrix.md of ai-dynamo/dynamo
	// at 00552b23.
	Version string
}

// describes reports whether a preset describes the engine.
func (e *Engine) describes(preset string) bool { return strings.HasPrefix(preset, e.preset) }

// VersionOf returns the version that starts a replica: the one that is simulated, or the table's
// where the scenario has another engine.
func (e *Engine) VersionOf(d *Replica) registry.Version {
	v, err := registry.ParseVersion(d.Engine.Version)
	if !e.describes(d.Engine.Preset) || err != nil {
		return e.Table.Version
	}
	return v
}

// Words returns the command of a replica, and its configuration file, if it needs one.
func (e *Engine) Words(d *Replica) (words []string, config string) {
	w := e.Table.Write(e.terms(d), e.VersionOf(d), d.Ranks(), options.Server)
	return slices.Concat(e.start, w.Words), w.Config
}

// WorkerWords returns the arguments of Dynamo's worker for a replica, and its configuration file.
// With events, the router learns which prompts are cached.
func (e *Engine) WorkerWords(d *Replica, events bool) (words []string, config string) {
	terms := e.terms(d)
	switch {
	case !events:
	case e.Name == "vllm" && d.Role != "decode": // docs/components/router/README.md at 02a5f28f
		terms["events"] = `{"publisher":"zmq","topic":"kv-events",` +
			`"endpoint":"tcp://*:20080","enable_kv_cache_events":true}`
	case e.Name == "sglang":
		terms["events"] = `{"publisher":"zmq","topic":"kv-events","endpoint":"tcp://*:5557"}`
	case e.Name == "trtllm":
		terms["events"] = "true"
	}
	if terms["config"] != "" {
		terms["config"] = "/config/" + terms["config"]
	}
	w := e.Table.Write(terms, e.VersionOf(d), d.Ranks(), options.Worker)
	return w.Words, w.Config
}

// Starts returns the number of words that start the engine at the beginning of a command; 0 for
// another program.
func (e *Engine) Starts(words []string) int {
	if slices.ContainsFunc(e.others, func(other string) bool {
		return begins(words, strings.Fields(other)) > 0
	}) {
		return 0
	}
	for _, own := range e.programs {
		if n := begins(words, strings.Fields(own)); n > 0 {
			return n
		}
	}
	return 0
}

// begins returns the number of words at the beginning of a command that name a program, 0 for
// another one. A program may stand in a folder, and Python may be of any version and have flags of
// its own before the module: python3 -u -m MODULE.
func begins(words, program []string) int {
	if len(words) == 0 {
		return 0
	}
	n, name := 1, strings.TrimSuffix(commands.Base(words[0]), ".exe")
	if program[0] == "python" && strings.HasPrefix(name, "python") {
		name = "python"
		for n < len(words) && strings.HasPrefix(words[n], "-") && words[n] != "-m" {
			n++
		}
	}
	if rest := program[1:]; name == program[0] && len(words) >= n+len(rest) &&
		slices.Equal(words[n:n+len(rest)], rest) {
		return n + len(rest)
	}
	return 0
}

// IsImage reports whether a container image is one that an engine publishes, from its own registry
// or from a copy. Others have tags that say nothing of the engine.
func IsImage(image string) bool {
	repository := image
	if slash := strings.LastIndexByte(image, '/'); slash >= 0 {
		name, _, _ := strings.Cut(image[slash:], ":")
		repository = image[:slash] + name
	}
	for _, own := range []string{"vllm/vllm-openai", "vllm/vllm-openai-rocm", "vllm/vllm-tpu",
		"rocm/vllm", "lmsysorg/sglang", "nvidia/tensorrt-llm/release"} {
		if repository == own || strings.HasSuffix(repository, "/"+own) {
			return true
		}
	}
	return false
}
