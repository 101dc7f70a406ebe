package scenarios

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/registry"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/models/measured"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/sim"
)

// lookUp finds the entries of catalogues that a server names: a model, accelerators with their
// links, and an engine. It sets catalog, Config, fitted, and the defaults of hardware and engine.
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
		Memory:     deployment.Memory{Swap: float64(v.written.Memory.Swap)},
		MaxContext: v.written.Engine.MaxModelLen,
		Physics: deployment.Physics{
			Constants: v.file.Physics.of(&machine),
			Host:      v.written.Hardware.Host, Given: v.written.Steps.given(),
			Slowdown: v.s.Engine.Slowdown, Adjusted: engine.adjusted,
		},
	}
	if model != nil {
		v.Config.Physics.Spread = v.file.Physics.spread(model, v.written.Workload.Tokens)
	}
	v.fitted = v.applyDeployment(&v.s.Engine, &v.Config)
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
func (v *view) findModel() *models.Architecture {
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
func (v *view) findEngine() engine {
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
	if made.preset, err = v.file.Physics.engine(e.Preset); err != nil {
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
	v.chooseBackends(&made)
	made.preset.FusedAllReduce = made.preset.FusedAllReduce || e.FusedAllReduce
	if e.PromptGraphs != "" {
		made.preset.EagerPrompts = e.PromptGraphs == "off"
	}
	e.Slowdown = cmp.Or(e.Slowdown, 1)
	e.Graph = cmp.Or(e.Graph, made.preset.Graph)
	made.preset.Graph = e.Graph
	if kernel := v.written.Attention.Kernel; kernel != "" {
		naive := kernel == "naive"
		made.adjusted = made.adjusted || naive || made.preset.NaiveAttention
		made.preset.NaiveAttention = naive
	}
	return made
}

// chooseBackends has the engine take the back ends that the scenario asks for.
func (v *view) chooseBackends(made *engine) {
	e := &made.written
	made.preset.Marlin, made.preset.Asked = e.Marlin, e.Asked()
	for _, of := range engines.Asks() {
		if name := made.preset.Asked[of]; name != "" {
			if err := made.release.CheckBackend(of, name); err != nil {
				v.problem(of.Key(), "%v", err)
			}
		}
	}
	if e.Marlin && e.ExpertsBackend != "" && e.ExpertsBackend != "marlin" {
		v.problem("engine.marlin", "found true beside engine.experts-backend %s; leave one of "+
			"them out", e.ExpertsBackend)
	}
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

// readOperators reads the kernel tables that the scenario names; nil where it does not name tables.
func (v *view) readOperators(a *hardware.Accelerator, e *steptime.Engine) *steptime.Tables {
	folder := v.locate("hardware.operators", v.written.Hardware.Operators)
	if folder == "" {
		return nil
	}
	if info, err := fs.Stat(v.file.files(), folder); err != nil || !info.IsDir() {
		v.problem("hardware.operators",
			"found %q, which is no folder; want one with tables such as GPU__gemm.csv", folder)
		return nil
	}
	tables, err := steptime.ReadTables(files.Folder(v.file.files(), folder), measured.Wanted{
		Accelerator: append([]string{a.Name}, a.Aliases...),
		Engine:      e.Kernels, Version: v.written.Hardware.Kernels,
	})
	if err != nil {
		v.problem("hardware.operators", "%s: %v", folder, err)
	}
	return tables
}

// exchangeTimes copies the times that e gives into the preset, and the preset's other times into e.
// It reports whether the preset changed.
func (e *Engine) exchangeTimes(preset *steptime.Engine) (changed bool) {
	for _, pair := range []struct {
		asked  *Span
		preset *hardware.Seconds
	}{
		{&e.Request, &preset.Request},
		{&e.Step, &preset.Step},
		{&e.Sequence, &preset.Sequence},
		{&e.Layer, &preset.Layer},
		{&e.HostStep, &preset.HostStep},
		{&e.HostSequence, &preset.HostSequence},
		{&e.Launch, &preset.Launch},
		{&e.LaunchPrompt, &preset.LaunchPrompt},
	} {
		if *pair.asked > 0 && *pair.asked != Span(sim.Seconds(float64(*pair.preset))) {
			changed = true
			*pair.preset = hardware.Seconds(sim.Time(*pair.asked).Seconds())
		}
		*pair.asked = Span(sim.Seconds(float64(*pair.preset)))
	}
	return changed
}

// largestImage is the longest side of an image in pixels, and longestSound the longest sound.
const (
	largestImage = 1 << 14
	longestSound = 24 * 3600 * sim.Second
)

// findImages returns the images or sounds of the workload. The model must have a known way to make
// tokens of them.
func (v *view) findImages(model *models.Architecture) steptime.Images {
	asked, sounds := v.written.Workload.Images, v.written.Workload.Audio
	switch {
	case model == nil || asked == nil && sounds == nil:
		return steptime.Images{}
	case asked != nil && sounds != nil:
		v.problem("workload.audio", "prompts begin with images (workload.images) or with sounds; "+
			"leave one of the two out")
		return steptime.Images{}
	case sounds != nil && sim.Time(sounds.Length) > longestSound:
		v.problem("workload.audio.length", "found %v, want at most %v",
			sim.Time(sounds.Length), longestSound)
		return steptime.Images{}
	case sounds != nil:
		return v.reportImageTokens("workload.audio", "sounds", model, steptime.Images{
			Count: max(1, sounds.Count), Seconds: sim.Time(sounds.Length).Seconds()})
	}
	images := steptime.Images{Count: max(1, asked.Count)}
	var rest string
	n, _ := fmt.Sscanf(asked.Size+" .", "%dx%d %s", &images.Width, &images.Height, &rest)
	least, most := min(images.Width, images.Height), max(images.Width, images.Height)
	if n != 3 || rest != "." || least < 1 || most > largestImage {
		v.problem("workload.images.size",
			"found %q, want a width and a height from 1 to %d, such as 1024x768", asked.Size,
			largestImage)
		return steptime.Images{}
	}
	return v.reportImageTokens("workload.images", "images", model, images)
}

// reportImageTokens returns images, or sounds, that the model turns into tokens, and says how many.
func (v *view) reportImageTokens(field, kind string, model *models.Architecture,
	images steptime.Images) steptime.Images {
	tokens, _, err := steptime.ImageTokens(model, images)
	if err != nil {
		v.problem(field, "%v", err)
		return steptime.Images{}
	}
	v.warn("each prompt begins with %d %s of %d tokens, which its length counts", images.Count,
		kind, tokens)
	return images
}

// defaultSlots is the largest default number of slots.
const defaultSlots = 32

// findAdapters returns the adapters of a server on the machine, also with their defaults filled in.
func (v *view) findAdapters(m *machine) (*Adapters, steptime.Adapters) {
	if v.written.Adapters == nil {
		return nil, steptime.Adapters{}
	}
	a := *v.written.Adapters
	a.Slots = cmp.Or(a.Slots, min(a.Count, defaultSlots))
	a.MaxRank, a.Layers = cmp.Or(a.MaxRank, a.Rank), cmp.Or(a.Layers, "all")
	switch {
	case a.Rank > a.MaxRank:
		v.problem("adapters.rank", "found %d; a slot has room for a rank of %d "+
			"(adapters.max-rank); set max-rank to %d, or leave it out", a.Rank, a.MaxRank,
			roomOf(a.Rank))
	case a.Slots < a.Count && m.hostLink == nil && m.accelerator != nil:
		v.problem("adapters.slots", "found %d for %d adapters; %s has no link to host memory, so "+
			"each adapter needs a slot: set it to %d", a.Slots, a.Count, m.accelerator.Name,
			a.Count)
	case v.written.Steps != nil:
		v.problem("adapters", "given step times (steps) leave no place for those of adapters; "+
			"leave one of the two out")
	}
	if a.Slots > a.Count {
		v.warn("adapters.slots is %d for %d adapters; the others stay empty and take memory",
			a.Slots, a.Count)
	}
	if a.Slots < a.Count {
		v.warn("requests wait while those of other adapters use all %d slots (adapters.slots)",
			a.Slots)
	}
	if room := roomOf(a.MaxRank); room != a.MaxRank && strings.HasPrefix(
		cmp.Or(v.written.Engine.Preset, "vllm"), "vllm") {
		v.warn("vLLM has no slots for a rank of %d; the nearest adapters.max-rank is %d", a.MaxRank,
			room)
	}
	return &a, steptime.Adapters{Count: a.Count, Slots: a.Slots, Rank: a.Rank, Room: a.MaxRank,
		AttentionOnly: a.Layers == "attention", Zipf: a.Zipf}
}

// roomOf returns the smallest rank for which vLLM has slots that have room for adapters of a rank
// (MaxLoRARanks in vllm/config/lora.py, v0.15), and the rank itself where vLLM has no such slots.
func roomOf(rank int) int {
	for _, room := range []int{1, 8, 16, 32, 64, 128, 256, 320, 512} {
		if rank <= room {
			return room
		}
	}
	return rank
}

// machine is the accelerators of a replica with their links.
type machine struct {
	written                    Hardware // with the catalogue's link, network, node and price
	catalog                    hardware.Catalog
	accelerator                *hardware.Accelerator
	scaleUp, network, hostLink *hardware.Link // nil without one
}

// findMachine looks in the catalogue and in the user's own file.
func (v *view) findMachine() machine {
	m := machine{written: v.written.Hardware}
	h := &m.written
	var err error
	if m.catalog, err = v.hardwareCatalog(); err != nil {
		v.problem("hardware.file", "%v", err)
		return m
	}
	accelerator, err := m.catalog.Accelerator(h.Accelerator)
	if err != nil {
		v.problem("hardware.accelerator", "%v", err)
		return m
	}
	if v.file.Tune != nil {
		v.file.Tune(&accelerator)
	}
	h.Link = cmp.Or(h.Link, accelerator.ScaleUp)
	h.Network = cmp.Or(h.Network, accelerator.Network)
	h.PerNode = cmp.Or(h.PerNode, accelerator.PerNode)
	h.Price = cmp.Or(h.Price, Price{Amount: accelerator.Price})
	accelerator.PerNode = h.PerNode
	m.accelerator = &accelerator
	m.scaleUp = v.findLink(m.catalog, "hardware.link", h.Link)
	m.network = v.findLink(m.catalog, "hardware.network", h.Network)
	m.hostLink = v.findLink(m.catalog, "hardware.accelerator", accelerator.HostLink)
	if v.written.Memory.Swap > 0 && m.hostLink == nil {
		v.problem("memory.swap", "%s has no link to host memory; leave swap out", accelerator.Name)
	}
	return m
}

// engine returns the preset of that name.
func (p *Physics) engine(preset string) (steptime.Engine, error) {
	if p == nil || p.Engine == nil {
		return steptime.FindEngine(preset)
	}
	return p.Engine(preset)
}

// of returns the constants of a machine; nil means the shipped ones.
func (p *Physics) of(m *machine) *hardware.Constants {
	if p == nil || p.Constants == nil || m.accelerator == nil {
		return nil
	}
	return p.Constants(m.accelerator, m.scaleUp, m.network)
}

// spread returns how unevenly the model's routers choose experts for prompts of such tokens.
func (p *Physics) spread(model *models.Architecture, tokens string) float64 {
	list := models.Routings()
	if p != nil && p.Routing != nil {
		list = p.Routing
	}
	return models.SpreadOf(model.Family, list, tokens == "random")
}

// hardwareCatalog returns the catalogue with the entries of the scenario's own file, if one is
// given.
func (v *view) hardwareCatalog() (hardware.Catalog, error) {
	catalog, err := hardware.Load()
	path := v.locate("hardware.file", v.written.Hardware.File)
	if path == "" && err == nil && v.file.FS == nil {
		path, err = registered(registry.Hardware, v.written.Hardware.Accelerator)
	}
	if err != nil || path == "" {
		return catalog, err
	}
	data, err := files.Read(v.file.files(), path, strict.MostText)
	if err != nil {
		return catalog, plainPathError(err)
	}
	return catalog.With(path, data)
}

// findLink returns the link of a name, or nil if the name is empty.
func (v *view) findLink(catalog hardware.Catalog, field, name string) *hardware.Link {
	if name == "" {
		return nil
	}
	link, err := catalog.Link(name)
	if err != nil {
		v.problem(field, "%v", err)
	}
	return &link
}
