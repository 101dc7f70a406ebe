// Package engines knows what replicas of serving engines are asked for, in the terms of their
// options, and what such terms mean in a scenario.
package engines

import (
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/internal/launch/options"
)

// Engine is what is known of a serving engine.
type Engine struct {
	Name string // of the program, as people write it
	// Port is the one on which it listens by default.
	Port int
	// Table is its options, and Version the one whose options are written.
	Table   *options.Table
	Version string
	// preset is the prefix of the engine presets that describe it.
	preset string
	// Waiting and Running are the Prometheus metrics of the requests that wait and that run; empty
	// where the engine exports none.
	Waiting, Running string
	// Dynamo is the worker by which Dynamo starts it.
	Dynamo Dynamo
	// program returns the number of words that start the engine at the beginning of a command; 0
	// for another program. start is what is written.
	program func(words []string) int
	start   []string
	// express returns the terms of a replica, and settle turns terms that were read into keys of a
	// scenario.
	express func(d *Replica) options.Terms
	settle  func(r *Reading)
}

// Dynamo is how NVIDIA Dynamo starts an engine.
type Dynamo struct {
	Module string // of Python
	Image  string
	// Version is that of the engine in the image, by docs/reference/support-matrix.md of
	// ai-dynamo/dynamo at 00552b23.
	Version string
}

// Words returns the command of a replica, and its configuration file, if it needs one.
func (e *Engine) Words(d *Replica) (words []string, config string) {
	w := e.Table.Write(e.express(d), d.Ranks(), options.Server)
	return slices.Concat(e.start, w.Words), w.Config
}

// WorkerWords returns the arguments of Dynamo's worker for a replica, and its configuration file.
// With events, the router learns which prompts are cached.
func (e *Engine) WorkerWords(d *Replica, events bool) (words []string, config string) {
	terms := e.express(d)
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
	w := e.Table.Write(terms, d.Ranks(), options.Worker)
	return w.Words, w.Config
}

// isPython reports whether a program is Python.
func isPython(program string) bool {
	return strings.HasPrefix(commands.Base(program), "python")
}

// Starts returns the number of words that start the engine at the beginning of a command; 0 for
// another program.
func (e *Engine) Starts(words []string) int { return e.program(words) }

// IsImage reports whether the repository of a container image is one of an engine.
func IsImage(repository string) bool {
	repository = strings.TrimPrefix(repository, "docker.io/")
	return strings.HasPrefix(repository, "vllm/vllm-") || repository == "rocm/vllm" ||
		repository == "lmsysorg/sglang" || repository == "nvcr.io/nvidia/tensorrt-llm/release"
}
