// Package launch writes what starts a simulated fleet for real, and reads such commands back: the
// command lines of vLLM, SGLang and TensorRT-LLM, and Kubernetes manifests around them.
//
// Flags are those of vLLM 0.15 (vllm serve --help), SGLang 0.5 (sglang.launch_server --help) and
// TensorRT-LLM 1.0 (trtllm-serve --help).
package launch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/scenarios"
)

// Server is a group of replicas that are started by the same command.
type Server struct {
	// Name is unique in a fleet and made of lower-case letters, digits and hyphens.
	Name string
	// Role is mixed, prefill or decode.
	Role string
	// Command is the program and its arguments.
	Command []string
	// Leader and Worker are the commands of the first pod and of the others of a replica that spans
	// nodes, which LeaderWorkerSet lets find each other; nil where a replica has one node.
	Leader, Worker []string
	// headless is what the command of start.sh has on all nodes but the first, for a POSIX shell;
	// empty where all nodes have the same.
	headless string
	// Config is the text of the YAML file that the command names, ConfigFile its name; empty where
	// it needs none. Each group has its own: pools may differ.
	Config, ConfigFile string
	// WorkerArgs are the arguments of Dynamo's worker for the same replica, WorkerConfig the text
	// of the YAML file that they name, by the name ConfigFile; empty where it needs none.
	WorkerArgs   []string
	WorkerConfig string
	// Replicas is how many there are, Accelerators how many each has, on Nodes of them.
	Replicas, Accelerators, Nodes int
	// Autoscaler says how they are started and stopped; nil where the scenario does not, or the
	// engine has no metric for it.
	Autoscaler *Autoscaler
	// Port is the one on which the engine listens.
	Port int
	// Resource is the name under which Kubernetes counts the accelerators, such as nvidia.com/gpu.
	Resource string
}

// PerNode is the number of accelerators of each node.
func (s *Server) PerNode() int { return (s.Accelerators + s.Nodes - 1) / s.Nodes }

// Line returns the command as a line for a POSIX shell.
func (s *Server) Line() (string, error) { return line(s.Command, nil) }

// line returns a command as a line for a POSIX shell, with variables of LeaderWorkerSet replaced
// by what a shell evaluates within double quotes.
func line(command []string, inShell map[string]string) (string, error) {
	words := make([]string, len(command))
	for i, word := range command {
		quoted, err := syntax.Quote(word, syntax.LangPOSIX)
		if err != nil {
			return "", fmt.Errorf("%q cannot be written for a shell: %w", word, err)
		}
		for variable, value := range inShell {
			if rest, found := strings.CutPrefix(word, variable); found {
				quoted = `"` + value + rest + `"`
			}
		}
		words[i] = quoted
	}
	return strings.Join(words, " "), nil
}

// engine is what is known of a serving engine.
type engine struct {
	name    string // of the program, as people write it
	version string // whose flags these are
	image   string // container image
	port    int    // on which it listens by default
	// preset is the prefix of the engine presets that describe it.
	preset string
	// waiting and running are the Prometheus metrics of the requests that wait and that run; empty
	// where the engine exports none.
	waiting, running string
	// write returns the command of a replica and its configuration file, if it needs one.
	write func(d *deployed) (command []string, config string)
	// program returns the number of words that start the engine at the beginning of a command; 0
	// for another program.
	program func(words []string) int
	options func() []option
	settle  func(r *reading)
	worker  dynamoWorker
}

// engines returns the engines that are known; the first is the default.
func engines() []engine { return []engine{vllm(), sglang(), trtllm()} }

// Engines returns the names of the engines that are known.
func Engines() []string {
	var names []string
	for _, e := range engines() {
		names = append(names, e.name)
	}
	return names
}

// find returns the engine of that name.
func find(name string) (engine, error) {
	all := engines()
	i := slices.IndexFunc(all, func(e engine) bool { return e.name == name })
	if i < 0 {
		return engine{}, errors.New(nearest.Unknown("engine", name, Engines()))
	}
	return all[i], nil
}

// EngineOf returns the name of the engine that a preset describes, and false where it describes
// none that can be started.
func EngineOf(preset string) (string, bool) {
	for _, e := range engines() {
		if strings.HasPrefix(preset, e.preset) {
			return e.name, true
		}
	}
	return "", false
}

// Fleet returns what starts the replicas of a scenario under an engine. The second result says what
// of the scenario no flag of the engine expresses.
func Fleet(simulation *scenarios.Simulation, engineName string) ([]Server, []string, error) {
	e, err := find(engineName)
	if err != nil {
		return nil, nil, err
	}
	list, all := []Server{}, groups(simulation)
	router, _ := routerMode(simulation.Scenario.Routing.Policy)
	events := router == "kv"
	for i := range all {
		g := &all[i]
		kind, err := resource(g.hardware.Accelerator)
		if err != nil {
			return nil, nil, err
		}
		if p := g.parallelism; e.name == "trtllm" && p.Data > 1 && p.Tensor > 1 {
			return nil, nil, fmt.Errorf("parallelism has tensor %d and data %d: with data, "+
				"TensorRT-LLM has a rank on each accelerator; set tensor to 1, or choose vllm or "+
				"sglang", p.Tensor, p.Data)
		}
		command, config := e.write(&g.deployed)
		perNode := max(1, g.hardware.PerNode)
		server := Server{
			Name: g.name, Role: g.role, Command: command, Config: config,
			ConfigFile: g.configFile(), Resource: kind, Port: e.port,
			Autoscaler: e.autoscaler(&g.scaling), Replicas: g.replicas, Accelerators: g.gpus(),
			Nodes: (g.gpus() + perNode - 1) / perNode,
		}
		server.WorkerArgs, server.WorkerConfig = e.worker.write(&g.deployed, command, events)
		if e.name == "vllm" && g.role == "decode" {
			server.Port = vllmBehindSidecar
		}
		if err := e.spread(&server, &g.deployed); err != nil {
			return nil, nil, err
		}
		list = append(list, server)
	}
	return list, missing(simulation, &e, all), nil
}

// resource returns the name under which Kubernetes counts an accelerator.
func resource(accelerator string) (string, error) {
	switch {
	case strings.HasPrefix(accelerator, "mi"):
		return "amd.com/gpu", nil
	case strings.HasPrefix(accelerator, "tpu"):
		return "google.com/tpu", nil
	case strings.HasPrefix(accelerator, "gaudi"):
		return "habana.ai/gaudi", nil
	case strings.HasPrefix(accelerator, "trainium"):
		return "aws.amazon.com/neuron", nil
	case strings.Contains(accelerator, "cpu"), strings.HasPrefix(accelerator, "desktop"),
		strings.HasPrefix(accelerator, "apple"):
		return "", fmt.Errorf(
			"%s is no accelerator that a serving engine is started on in a cluster", accelerator)
	}
	return "nvidia.com/gpu", nil
}
