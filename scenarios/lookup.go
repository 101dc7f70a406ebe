package scenarios

import (
	"cmp"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// entries holds the entries of catalogues that a view names: a model, accelerators with their
// links, and an engine.
type entries struct {
	*view
	s       Scenario // with the defaults of hardware and engine
	config  deployment.Config
	catalog hardware.Catalog
	own     *evidence.Own // of the deployment to which the predictions are fitted; nil for none
}

// lookUp finds what the view names.
func lookUp(v *view) *entries {
	if v.s.Model == "" {
		v.problem("model", "must be given, at the top or in the pool")
		return nil
	}
	if v.s.Hardware.Accelerator == "" {
		v.problem("hardware", "must be given, at the top or in the pool")
		return nil
	}
	if v.s.Steps != nil && v.s.Steps.Decode == (DecodeTimes{}) {
		v.problem("steps.decode", "steps take no time; give step, token or context")
	}
	model, machine, engine := v.findModel(), v.findMachine(), v.findEngine()
	f := &entries{view: v, s: v.s, catalog: machine.catalog}
	f.s.Hardware, f.s.Engine = machine.written, engine.written
	f.config = deployment.Config{
		Model: model, Accelerator: machine.accelerator, Engine: engine.preset,
		Release: engine.release, Parallel: v.s.Parallelism.degrees(),
		ScaleUp: machine.scaleUp, Network: machine.network, HostLink: machine.hostLink,
		Memory: deployment.Memory{Swap: float64(v.s.Memory.Swap)},
		Physics: deployment.Physics{
			Host: v.s.Hardware.Host, Given: v.s.Steps.given(),
			Slowdown: f.s.Engine.Slowdown, Adjusted: engine.adjusted,
		},
	}
	f.own = v.takeDeployment(&f.s.Engine, &f.config)
	if images := v.findImages(model); images.Count > 0 { // no server was measured with images
		f.config.Physics.Images, f.config.Physics.Adjusted = images, true
		f.config.EncoderCache = v.s.Engine.EncoderCache
		f.config.EncodersApart = v.file.Scenario.Fleet.Encoders > 0
	} else if v.file.Scenario.Fleet.Encoders > 0 {
		v.problem("fleet.encoders", "prompts begin neither with images nor with sounds; add "+
			"workload.images or workload.audio, or leave it out")
	} else if v.s.Engine.EncoderCache > 0 {
		v.problem("engine.encoder-cache", "prompts begin neither with images nor with sounds; "+
			"add workload.images or workload.audio, or leave it out")
	}
	if f.s.Adapters, f.config.Adapters = v.findAdapters(&machine); f.s.Adapters != nil {
		f.config.Physics.Adjusted = true // no server was measured with adapters
	}
	if len(v.problems) == 0 {
		f.config.Physics.Operators = v.readOperators(machine.accelerator, &engine.preset)
	}
	return f
}

// Model returns the architecture of the scenario's model.
func (f *File) Model() (*models.Architecture, error) {
	s := &f.Scenario
	model, _, err := findModel(f.files(), s.Model, f.locate("model", s.Model), s.Shape.Assume)
	return model, err
}

// findModel finds the model, in the shape that the view gives it.
func (v *view) findModel() *models.Architecture {
	path := v.locate("model", v.s.Model)
	model, warnings, err := findModel(v.file.files(), v.s.Model, path, v.s.Shape.Assume)
	v.addWarnings(warnings)
	if err != nil {
		v.problem("model", "%v", err)
		return nil
	}
	if heads := v.s.Shape.KVHeads; heads > 0 {
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
func (v *view) findEngine() engine {
	made := engine{written: v.s.Engine}
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
	if v.s.Attention.Kernel == "naive" {
		made.preset.NaiveAttention, made.adjusted = true, true
	}
	return made
}

// schedule makes the engine schedule as the scenario asks, and reports whether it would not by
// itself. An engine keeps its constants whether it schedules ahead or not: they were fitted to the
// way in which its version does it.
func (v *view) schedule(e *engine) (changed bool) {
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
