package scenarios

import (
	"cmp"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// lookUp finds the entries of catalogues that a server names: a model, accelerators with their
// links, and an engine. It sets catalog, Config and twin, and the defaults of hardware and engine.
func (v *server) lookUp() {
	if v.written.Model == "" {
		v.problem("model", "must be given, at the top or in the pool")
		return
	}
	if v.written.Hardware.Accelerator == "" {
		v.problem("hardware", "must be given, at the top or in the pool")
		return
	}
	if v.written.Steps != nil && v.written.Steps.Decode == (DecodeTimes{}) {
		v.problem("steps.decode", "steps take no time; give step, token or context")
	}
	model, machine, engine := v.findModel(), v.findMachine(), v.findEngine()
	v.catalog = machine.catalog
	v.s.Hardware, v.s.Engine = machine.written, engine.written
	v.Config = deployment.Config{
		Model: model, Accelerator: machine.accelerator, Engine: engine.preset,
		Release: engine.release, Parallel: v.written.Parallelism.degrees(),
		ScaleUp: machine.scaleUp, Network: machine.network, HostLink: machine.hostLink,
		Memory: deployment.Memory{Swap: float64(v.written.Memory.Swap)},
		Physics: deployment.Physics{
			Host: v.written.Hardware.Host, Given: v.written.Steps.given(),
			Slowdown: v.s.Engine.Slowdown, Adjusted: engine.adjusted,
		},
	}
	v.twin = v.takeDeployment(&v.s.Engine, &v.Config)
	if images := v.findImages(model); images.Count > 0 { // no server was measured with images
		v.Config.Physics.Images, v.Config.Physics.Adjusted = images, true
		v.Config.EncoderCache = v.written.Engine.EncoderCache
		v.Config.EncodersApart = v.file.Scenario.Fleet.Encoders > 0
	} else if v.file.Scenario.Fleet.Encoders > 0 {
		v.problem("fleet.encoders", "prompts begin neither with images nor with sounds; add "+
			"workload.images or workload.audio, or leave it out")
	} else if v.written.Engine.EncoderCache > 0 {
		v.problem("engine.encoder-cache", "prompts begin neither with images nor with sounds; "+
			"add workload.images or workload.audio, or leave it out")
	}
	if v.s.Adapters, v.Config.Adapters = v.findAdapters(&machine); v.s.Adapters != nil {
		v.Config.Physics.Adjusted = true // no server was measured with adapters
	}
	if len(v.problems) == 0 {
		v.Config.Physics.Operators = v.readOperators(machine.accelerator, &engine.preset)
	}
}

// Model returns the architecture of the scenario's model.
func (f *File) Model() (*models.Architecture, error) {
	s := &f.Scenario
	model, _, err := findModel(f.files(), s.Model, f.locate("model", s.Model), s.Shape.Assume)
	return model, err
}

// findModel finds the model, in the shape that the scenario gives it.
func (v *server) findModel() *models.Architecture {
	path := v.locate("model", v.written.Model)
	model, warnings, err := findModel(v.file.files(), v.written.Model, path, v.written.Shape.Assume)
	v.addWarnings(warnings)
	if err != nil {
		v.problem("model", "%v", err)
		return nil
	}
	if heads := v.written.Shape.KVHeads; heads > 0 {
		if model, err = model.WithKVHeads(heads); err != nil {
			v.problem("shape.kv-heads", "%v", err)
		}
	}
	return model
}

// engine is a preset with the changes of the scenario.
type engine struct {
	written  Engine // with all of the preset's times
	preset   steptime.Engine
	release  engines.Release
	adjusted bool // the preset's times are not its own
}

// findEngine looks up the engine, its version and its preset, and sets the times that the scenario
// changes.
func (v *server) findEngine() engine {
	made := engine{written: v.written.Engine}
	e := &made.written
	name := cmp.Or(e.Preset, "vllm-v1")
	release, err := engines.Find(name, e.Version)
	if err != nil {
		field := "engine.preset"
		if _, unknown := engines.Find(name, ""); unknown == nil {
			field = "engine.version"
		}
		v.problem(field, "%v", err)
		return made
	}
	v.addWarnings(release.Notes())
	made.release, e.Preset, e.Version = release, release.Preset, release.Version.String()
	if made.preset, err = steptime.FindEngine(e.Preset); err != nil {
		v.problem("engine.preset", "%v", err)
		return made
	}
	made.adjusted = v.schedule(&made)
	if e.Eager && e.Graph > 0 {
		v.problem("engine.graph", "found %d beside engine.eager, without which there are no "+
			"captured graphs. Leave one of them out", e.Graph)
	}
	if e.Eager && made.preset.Graph > 0 {
		made.preset, made.adjusted = made.preset.Eager(), true
	}
	if e.exchangeTimes(&made.preset) {
		made.adjusted = true
	}
	if e.Sampling != "" {
		made.preset.Sorted = e.Sampling == "sorted"
	}
	made.preset.Marlin = e.Marlin
	e.Slowdown = cmp.Or(e.Slowdown, 1)
	e.Graph = cmp.Or(e.Graph, made.preset.Graph)
	made.preset.Graph = e.Graph
	if v.written.Attention.Kernel == "naive" {
		made.preset.NaiveAttention, made.adjusted = true, true
	}
	return made
}

// schedule makes the engine schedule as the scenario asks, and reports whether it would not by
// itself. An engine keeps its constants whether it schedules ahead or not: they were fitted to the
// way in which its version does it.
func (v *server) schedule(e *engine) (changed bool) {
	asked := e.written.Scheduling
	ahead := e.preset.Lookahead > 0
	if asked == "" || (asked == "asynchronous") == ahead {
		return false
	}
	if _, known := e.release.Setting("scheduling", engines.Place{
		Accelerator: &hardware.Accelerator{}}); !known || e.release.Preset == "vllm-v0" {
		v.problem("engine.scheduling", "found %s; %s schedules in one way only. Leave it out",
			asked, e.release.Preset)
		return false
	}
	e.preset.Lookahead = 1
	if asked == "synchronous" {
		e.preset.Lookahead = 0
	}
	return true
}
