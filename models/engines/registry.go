// Package engines says what a serving engine does by itself, by version: which constants describe
// it, its limits of batches and its shares of memory, whether it schedules ahead, and which kernels
// it takes. It is data, in registry/*.yaml, each entry with the file of the engine's source that
// says so.
//
// Presets of package steptime are the constants that were fitted to servers. A preset belongs to
// one engine and a range of its versions.
package engines

import (
	"embed"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
)

//go:embed registry/*.yaml
var presets embed.FS

// Engine describes one serving engine: its versions, defaults, limits and kernels.
type Engine struct {
	// Name is the name in scenarios, Title the name for people.
	Name, Title string
	// Presets are the fitted constants by version, the newest versions last.
	Presets []Preset
	// Evidence lists the versions with measured servers, oldest first.
	Evidence []Evidence
	// Releases are the days of releases, oldest first.
	Releases []Dated
	// Settings are the engine's defaults without further flags. Of several with the same key, the
	// first one counts whose conditions hold.
	Settings []Setting
	// Memory is the accelerator memory that the engine itself takes. The first entry counts whose
	// conditions hold; where none holds, the preset's fitted memory does.
	Memory []Memory
	// Kernels are the back ends that the engine has. Unasked, it takes the first one of an operator
	// whose conditions hold.
	Kernels []Backend
	// Switches are flags and environment variables that choose back ends.
	Switches []Switch
}

// Preset names the constants that describe a range of versions.
type Preset struct {
	Name     string
	Versions Range `yaml:",inline"`
}

// Evidence is a version with measured servers, the preset that was fitted to them, and the tables
// that have them.
type Evidence struct {
	Version Version
	Preset  string
	Tables  []string
	// Narrow reports whether servers of one accelerator alone were measured, so that the version is
	// not assumed for an engine whose version is not given.
	Narrow bool
}

// Dated is the day on which a version was released.
type Dated struct {
	Version Version
	Date    string
	// Source is the page of the release; where the day is not on it, what else dates it.
	Source string
	// month is in months from the year 0.
	month float64
}

// Month returns when a version of an engine, or of an engine's preset, was released, in months from
// the year 0; false where it is older than all releases whose days are known. A version between two
// releases counts as the older one. Of a version newer than all is known only that it is later: it
// counts as laterMonths younger than the newest.
func Month(engine, version string) (month float64, known bool) {
	e, _ := lookUp(engine)
	v, err := ParseVersion(version)
	if e == nil || err != nil {
		return 0, false
	}
	for i, r := range e.Releases {
		if r.Version.Compare(v) > 0 {
			break
		}
		month = r.month
		if known = true; i == len(e.Releases)-1 && r.Version.Compare(v) < 0 {
			month += laterMonths
		}
	}
	return month, known
}

// laterMonths is by how much a version is taken to be younger than the newest release whose day is
// known.
const laterMonths = 3

// Of returns the engine of a preset: vllm of vllm-v1-sync.
func Of(preset string) string {
	if e, _ := lookUp(preset); e != nil {
		return e.Name
	}
	return preset
}

// MonthsToMeasured returns the number of months between a version of an engine, or of an engine's
// preset, and the nearest one with measured servers; false where that is not known.
func MonthsToMeasured(engine, version string) (months float64, known bool) {
	at, dated := Month(engine, version)
	e, _ := lookUp(engine)
	if !dated {
		return 0, false
	}
	months = math.Inf(1)
	for i := range e.Evidence {
		if other, dated := Month(engine, e.Evidence[i].Version.String()); dated {
			months, known = min(months, math.Abs(at-other)), true
		}
	}
	return months, known
}

// Setting is a value that an engine takes unless a flag says otherwise.
type Setting struct {
	// Key is a key of a scenario, such as "batching.max-sequences", or of Server, such as
	// "async-scheduling".
	Key string
	// Presets are the presets that have the value; an empty list means all.
	Presets  []string
	Versions Range `yaml:",inline"`
	// When are the conditions under which the value holds.
	When Conditions
	// Value is the value, or Computed names the rule that gives it.
	Value    string
	Computed string
	// PerRank reports whether each data-parallel rank has the value for itself.
	PerRank bool `yaml:"per_rank"`
	// Source names the version and the file of the engine's source that were read.
	Source string
}

// Memory is the accelerator memory that a range of versions takes, as servers logged it when they
// started.
type Memory struct {
	Versions Range `yaml:",inline"`
	// When are the conditions under which it holds.
	When Conditions
	// ContextGiB is the memory of driver and libraries on each accelerator, in GiB, beside what the
	// largest step needs, and LogitBytes the peak bytes of sampling an element of the logits.
	ContextGiB float64 `yaml:"context_gib"`
	LogitBytes float64 `yaml:"logit_bytes"`
	// BuffersGiB, Hidden, Workspaces and Rotary are as in steptime.EngineMemory.
	BuffersGiB         float64 `yaml:"buffers_gib"`
	Hidden, Workspaces bool
	Rotary             float64
	// Source names the logs.
	Source string
}

// Conditions restrict a setting to some servers.
type Conditions struct {
	// MemoryFrom and MemoryBelow bound the accelerator's memory in GiB; 0 does not bind.
	MemoryFrom  float64 `yaml:"memory_from"`
	MemoryBelow float64 `yaml:"memory_below"`
	// TensorFrom and TensorBelow bound the degree of tensor parallelism; 0 does not bind.
	TensorFrom  int `yaml:"tensor_from"`
	TensorBelow int `yaml:"tensor_below"`
	// ContextAbove is a number of tokens that the longest context served is above, of a model that
	// is Place.Plain; 0 does not bind.
	ContextAbove int `yaml:"context_above"`
	// Not is a prefix of the names of accelerators for which the setting does not hold, and Only a
	// prefix of the names without which it does not hold; "" does not bind.
	Not, Only string
	// Expert is whether routed experts are spread over accelerators, and Data whether there are
	// data-parallel ranks; nil does not bind.
	Expert, Data *bool
	// Models are prefixes of names of models; an empty list means all.
	Models []string
}

// Backend is the library whose kernels an engine takes for an operator.
type Backend struct {
	// Of is the operator; empty for routed experts.
	Of Operator
	// Attention is the kind of attention that it is for, as in Place; empty for any.
	Attention string
	// Formats are number formats of the weights, or of the KV cache for attention, and Generations
	// are generations of accelerators. Empty lists mean any.
	Formats     []hardware.DType
	Generations []string
	Versions    Range `yaml:",inline"`
	// When are further conditions.
	When Conditions
	// Asked is set where the engine takes it only when it is asked to.
	Asked bool
	// Name is the library, such as "triton", "deepgemm" or "marlin".
	Name string
	// Few is the library that the engine takes in its place for fewer tokens than FewBelow.
	Few      string
	FewBelow int `yaml:"few_below"`
	Source   string
}

// Switch maps flags or environment variables to the back end of an operator.
type Switch struct {
	// Of is the operator; empty for routed experts.
	Of Operator
	// Set are the variables or flags, without leading hyphens, and their values.
	Set      map[string]string
	Versions Range `yaml:",inline"`
	// Backend is the name of a back end, or a "no-" before the beginning of the names of back ends
	// that are not taken.
	Backend string
	Source  string
}

// All returns the engines of the registry by name. They are shared: do not change them.
func All() []*Engine { return registry() }

var registry = sync.OnceValue(func() []*Engine {
	names, err := presets.ReadDir("registry")
	if err != nil {
		panic(err)
	}
	var list []*Engine
	for _, name := range names {
		data, err := presets.ReadFile("registry/" + name.Name())
		if err != nil {
			panic(err)
		}
		e := new(Engine)
		if err := files.DecodeYAML(data, e); err != nil {
			panic(fmt.Sprintf("engines: %s: %v", name.Name(), err))
		}
		for i := range e.Releases {
			day, err := time.Parse(time.DateOnly, e.Releases[i].Date)
			if err != nil {
				panic(fmt.Sprintf("engines: %s: %v", name.Name(), err))
			}
			e.Releases[i].month = float64(12*day.Year()+int(day.Month())) + float64(day.Day())/31
		}
		list = append(list, e)
	}
	return list
})
