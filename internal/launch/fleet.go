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
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/scenarios"
)

// Bundle is all files that start a fleet.
type Bundle = manifests.Bundle

// Engines returns the names of the engines that are known; the first is the default.
func Engines() []string { return engines.Names() }

// EngineOf returns the name of the engine that a preset describes, and false where it describes no
// engine that can be started.
func EngineOf(preset string) (string, bool) {
	if e := engines.Of(preset); e != nil {
		return e.Name, true
	}
	return "", false
}

// CheckFolder returns an error unless path is free or an empty folder.
func CheckFolder(dir string) error { return manifests.CheckFolder(dir) }

// NewBundle describes what starts the fleet of a scenario. An empty engine is the one that the
// scenario's preset describes, or vLLM.
func NewBundle(simulation *scenarios.Simulation, engine string) (*Bundle, error) {
	s := &simulation.Scenario
	groups := engines.Groups(simulation)
	own, _ := EngineOf(s.Engine.Preset)
	if own == "" && len(groups) > 0 { // each pool may say it
		own, _ = EngineOf(groups[0].Engine.Preset)
	}
	e, err := engines.Find(cmp.Or(engine, own, Engines()[0]))
	if err != nil {
		return nil, err
	}
	b := &Bundle{Engine: e.Name, Port: e.Port, Flags: e.Table.Version.String(),
		Name: manifests.ObjectName(s.Model), Routing: s.Routing.Policy, Worker: e.Dynamo}
	for i := range groups {
		server, err := serverOf(e, &groups[i], s.Routing.Policy)
		if err != nil {
			return nil, err
		}
		b.Version = e.VersionOf(&groups[i].Replica).String()
		b.Servers = append(b.Servers, *server)
	}
	if p := s.Routing.Params; e.Name == "vllm" && s.Routing.Policy == "llm-d" &&
		p["index"] == "exact" && len(groups) > 0 {
		b.Exact = &manifests.Exact{BlockSize: groups[0].Memory.Params["block-size"],
			Prefix: p["prefix"], Usage: p["usage"], Queue: p["queue"]}
	}
	b.Notes = engines.Missing(simulation, e, groups)
	return b, nil
}

// serverOf returns what starts the replicas of a group.
func serverOf(e *engines.Engine, g *engines.Group, routing string) (*manifests.Server, error) {
	a := g.Server.Accelerator
	vendor, err := vendorOf(a)
	if err != nil {
		return nil, err
	}
	image, known, err := imageOf(e.Name, e.VersionOf(&g.Replica), a)
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
		Name: g.Name, Role: g.Role, Pool: g.Pool, ConfigFile: g.ConfigFile(),
		Image: image, Imageless: !known, Port: e.Port,
		Resource: vendor.Resource, Label: vendor.Label, Product: productLabel(a.Name),
		Model: g.Model, Gated: models.Gated(g.Model), Machine: perNode,
		Asks:       e.Asks(&g.Replica),
		Bytes:      g.Loads(),
		Autoscaler: e.Autoscaler(&g.Scaling), Replicas: g.Replicas,
		Accelerators: g.Accelerators(), Nodes: (g.Accelerators() + perNode - 1) / perNode,
	}
	s.RDMA = strings.HasPrefix(g.Hardware.Network, "infiniband") &&
		(g.Role != "mixed" || s.Nodes > 1)
	s.Command, s.Config = e.Words(&g.Replica)
	router, _ := manifests.RouterMode(routing)
	s.WorkerArgs, s.WorkerConfig = e.WorkerWords(&g.Replica, router == "kv")
	if e.Name == "vllm" && g.Role == "decode" {
		s.Port = engines.VLLMBehindSidecar
	}
	return s, s.Spread(e.Name, g.Ranks())
}
