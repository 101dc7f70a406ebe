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
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/models"
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
	// Config is the text of the YAML file that the command names, ConfigFile its name; empty where
	// it needs none. Each group has its own: pools may differ.
	Config, ConfigFile string
	// Replicas is how many there are, Accelerators how many each has, on Nodes of them.
	Replicas, Accelerators, Nodes int
	// Least is the fewest replicas where the scenario starts and stops them; else 0.
	Least int
	// Port is the one on which the engine listens.
	Port int
	// Resource is the name under which Kubernetes counts the accelerators, such as nvidia.com/gpu.
	Resource string
}

// Line returns the command as a line for a POSIX shell.
func (s *Server) Line() (string, error) {
	words := make([]string, len(s.Command))
	for i, word := range s.Command {
		quoted, err := syntax.Quote(word, syntax.LangPOSIX)
		if err != nil {
			return "", fmt.Errorf("%q cannot be written for a shell: %w", word, err)
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
	// waiting is the Prometheus metric of the requests that wait; empty where the engine exports
	// none.
	waiting string
	// write returns the command of a replica and its configuration file, if it needs one.
	write func(d *deployed) (command []string, config string)
	// program returns the number of words that start the engine at the beginning of a command; 0
	// for another program.
	program func(words []string) int
	options func() []option
	settle  func(r *reading)
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

// deployed is a group of replicas as an engine sees it, with every default filled in.
type deployed struct {
	// name is that of the group.
	name, model, role string
	hardware          scenarios.Hardware
	parallelism       scenarios.Parallelism
	engine            scenarios.Engine
	batching          scenarios.Policy
	memory            scenarios.KVMemory
}

// configFile is the name of the file in which an engine finds settings that have no flag.
func (d *deployed) configFile() string { return d.name + "-extra-llm-api-config.yaml" }

// perRank returns a parameter of the batching policy, which limits all data-parallel ranks
// together, as the limit of one of them.
func (d *deployed) perRank(name string) string {
	n, err := strconv.Atoi(d.batching.Params[name])
	if ranks := max(1, d.parallelism.Data); err == nil && ranks > 1 {
		return strconv.Itoa((n + ranks - 1) / ranks)
	}
	return d.batching.Params[name]
}

// gpus is the number of accelerators of a replica.
func (d *deployed) gpus() int {
	p := d.parallelism
	return max(1, p.Tensor) * max(1, p.Pipeline) * max(1, p.Data)
}

// Fleet returns what starts the replicas of a scenario whose defaults are filled in, under an
// engine. The second result says what of the scenario no flag of the engine expresses.
func Fleet(s *scenarios.Scenario, model *models.Architecture, engineName string) ([]Server,
	[]string, error) {
	e, err := find(engineName)
	if err != nil {
		return nil, nil, err
	}
	var list []Server
	for _, g := range groups(s, published(s, model)) {
		resource, err := resource(g.hardware.Accelerator)
		if err != nil {
			return nil, nil, err
		}
		command, config := e.write(&g.deployed)
		perNode := max(1, g.hardware.PerNode)
		server := Server{
			Name: g.name, Role: g.role, Command: command, Config: config,
			ConfigFile: g.configFile(), Resource: resource, Port: e.port, Least: g.least,
			Replicas: g.replicas, Accelerators: g.gpus(), Nodes: (g.gpus() + perNode - 1) / perNode,
		}
		if e.name == "vllm" && g.role == "decode" {
			server.Port = vllmBehindSidecar
		}
		if err := e.spread(&server, &g.deployed); err != nil {
			return nil, nil, err
		}
		list = append(list, server)
	}
	return list, missing(s, e), nil
}

// group is replicas that are alike.
type group struct {
	deployed
	replicas int
	least    int // of Server
}

// groups returns the pools of a scenario, or the one group of all its replicas.
func groups(s *scenarios.Scenario, model string) []group {
	all := deployed{name: "server", model: model, role: "mixed", hardware: s.Hardware,
		parallelism: s.Parallelism, engine: s.Engine, batching: s.Batching, memory: s.Memory}
	if len(s.Fleet.Pools) == 0 {
		return []group{{deployed: all, replicas: max(1, s.Replicas)}}
	}
	list := make([]group, len(s.Fleet.Pools))
	for i := range s.Fleet.Pools {
		p, one := &s.Fleet.Pools[i], all
		if p.Role != "" {
			one.role = p.Role
		}
		if p.Hardware.Accelerator != "" {
			one.hardware = p.Hardware
		}
		if p.Parallelism != (scenarios.Parallelism{}) {
			one.parallelism = p.Parallelism
		}
		if p.Engine != (scenarios.Engine{}) {
			one.engine = p.Engine
		}
		if p.Batching.Policy != "" {
			one.batching = p.Batching
		}
		if p.Memory.Policy != "" {
			one.memory = p.Memory
		}
		one.name = fmt.Sprintf("%s-%d", one.role, i)
		list[i] = group{deployed: one, replicas: p.Replicas}
		if p.Scaling.Policy != "" {
			list[i].least = max(1, p.Scaling.Min)
		}
	}
	return list
}

// published returns the name of the model on Hugging Face, or what the scenario calls it.
func published(s *scenarios.Scenario, model *models.Architecture) string {
	for _, alias := range model.Aliases {
		if strings.Contains(alias, "/") {
			return alias
		}
	}
	return s.Model
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

// missing says what of a scenario no flag expresses.
func missing(s *scenarios.Scenario, e engine) []string {
	var list []string
	if s.Speculation != nil {
		list = append(list, "speculation: give the engine its draft model; the acceptance that "+
			"the scenario takes for granted is a property of your texts")
	}
	if known, ok := EngineOf(s.Engine.Preset); !ok || known != e.name {
		list = append(list, fmt.Sprintf("engine.preset %s is simulated; the commands start %s",
			s.Engine.Preset, e.name))
	}
	switch s.Batching.Policy {
	case "vllm-v1", "sglang", "trtllm":
	case "priority":
		if e.name != "vllm" {
			list = append(list, "batching priority: only vLLM has a flag for it here")
		}
	default:
		list = append(list, fmt.Sprintf("batching %s: %s has its own scheduler", s.Batching.Policy,
			e.name))
	}
	picker := "a gateway with an endpoint picker"
	if e.name == "vllm" {
		picker = "llm-d.yaml, whose endpoint picker comes near"
	}
	if s.Routing.Policy != "" && s.Routing.Policy != "round-robin" && s.Replicas > 1 {
		list = append(list, fmt.Sprintf("routing %s: a Kubernetes Service spreads connections at "+
			"random; use %s", s.Routing.Policy, picker))
	}
	for _, g := range groups(s, "") {
		list = append(list, missingOf(g.parallelism, e)...)
		if g.role == "prefill" && e.name == "vllm" {
			list = append(list, "fleet.pools: a request goes to prefill and then to decode only "+
				"by way of llm-d.yaml; with kubernetes.yaml alone, decode replicas do both")
		} else if g.role == "prefill" {
			list = append(list, "fleet.pools: clients need a proxy in front that sends a request "+
				"to prefill and then to decode, such as the engine's own router")
		}
		if g.hardware.Accelerator != s.Hardware.Accelerator {
			list = append(list, "fleet.pools: where a cluster has several accelerators, give each "+
				"pool a nodeSelector, which is the cluster's own")
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// missingOf says what of a group's parallelism no flag of the engine expresses.
func missingOf(p scenarios.Parallelism, e engine) (list []string) {
	if p.Redundant > 0 && e.name == "trtllm" {
		list = append(list, fmt.Sprintf("parallelism.redundant-experts %d: "+
			"TensorRT-LLM reads copies of experts from a file of its load balancer, which is not "+
			"written", p.Redundant))
	}
	if p.Overlap != "" && e.name != "sglang" {
		list = append(list, fmt.Sprintf("parallelism.overlap %s: no flag of %s is written for it",
			p.Overlap, e.name))
	}
	return list
}
