// Package launch writes what starts a simulated fleet for real, and reads such files back: the
// command lines of vLLM, SGLang and TensorRT-LLM, and the manifests around them.
//
// Texts become commands (package commands), whose options a table of the engine makes terms
// (options), which the engine makes keys of a scenario (engines); writing goes the other way, and
// ends in files (manifests).
package launch

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/engines"
	"github.com/llmsim/llmsim/internal/launch/manifests"
	"github.com/llmsim/llmsim/scenarios"
)

// Bundle is all files that start a fleet.
type Bundle = manifests.Bundle

// Engines returns the names of the engines that are known; the first is the default.
func Engines() []string { return engines.Names() }

// EngineOf returns the name of the engine that a preset describes, and false where it describes
// none that can be started.
func EngineOf(preset string) (string, bool) {
	if e := engines.Of(preset); e != nil {
		return e.Name, true
	}
	return "", false
}

// Flag returns the flag of an engine that sets a key of a scenario, and false where none does.
func Flag(engine, key string) (string, bool) {
	e, err := engines.Find(engine)
	if err != nil {
		return "", false
	}
	return e.Table.Flag(key)
}

// CheckFolder returns an error unless path is free or an empty folder.
func CheckFolder(dir string) error { return manifests.CheckFolder(dir) }

// NewBundle describes what starts the fleet of a scenario. An empty engine is the one that the
// scenario's preset describes, or vLLM.
func NewBundle(simulation *scenarios.Simulation, engine string) (*Bundle, error) {
	s := &simulation.Scenario
	own, _ := EngineOf(s.Engine.Preset)
	e, err := engines.Find(cmp.Or(engine, own, Engines()[0]))
	if err != nil {
		return nil, err
	}
	b := &Bundle{Engine: e.Name, Port: e.Port,
		Name: manifests.ObjectName(s.Model), Routing: s.Routing.Policy, Worker: e.Dynamo}
	groups := engines.Groups(simulation)
	for i := range groups {
		server, err := serverOf(e, &groups[i], s.Routing.Policy)
		if err != nil {
			return nil, err
		}
		b.Version = e.VersionOf(&groups[i].Replica).String()
		b.Servers = append(b.Servers, *server)
	}
	b.Notes = engines.Missing(simulation, e, groups)
	return b, nil
}

// serverOf returns what starts the replicas of a group.
func serverOf(e *engines.Engine, g *engines.Group, routing string) (*manifests.Server, error) {
	kind, err := resource(g.Hardware.Accelerator)
	if err != nil {
		return nil, err
	}
	if p := g.Parallelism; e.Name == "trtllm" && p.Data > 1 && p.Tensor > 1 {
		return nil, fmt.Errorf("parallelism has tensor %d and data %d: with data, TensorRT-LLM "+
			"has a rank on each accelerator; set tensor to 1, or choose vllm or sglang", p.Tensor,
			p.Data)
	}
	perNode := max(1, g.Hardware.PerNode)
	s := &manifests.Server{
		Name: g.Name, Role: g.Role, ConfigFile: g.ConfigFile(),
		Image: image(e, &g.Replica), Resource: kind, Port: e.Port,
		Autoscaler: e.Autoscaler(&g.Scaling), Replicas: g.Replicas,
		Accelerators: g.Accelerators(), Nodes: (g.Accelerators() + perNode - 1) / perNode,
	}
	s.Command, s.Config = e.Words(&g.Replica)
	router, _ := manifests.RouterMode(routing)
	s.WorkerArgs, s.WorkerConfig = e.WorkerWords(&g.Replica, router == "kv")
	if e.Name == "vllm" && g.Role == "decode" {
		s.Port = engines.VLLMBehindSidecar
	}
	return s, s.Spread(e.Name, g.Ranks())
}

// image returns the container image of an engine in the version of a replica.
func image(e *engines.Engine, d *engines.Replica) string {
	return map[string]string{"vllm": "vllm/vllm-openai:v", "sglang": "lmsysorg/sglang:v",
		"trtllm": "nvcr.io/nvidia/tensorrt-llm/release:"}[e.Name] + e.VersionOf(d).String()
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
