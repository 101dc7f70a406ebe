package report

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/models"
)

// ConfigEntry is what is read of a config.json: counts of parameters, bytes of weights by number
// format, and the bytes that a sequence of 1k, 32k and 128k tokens keeps with a 16-bit cache; or
// why it is refused.
type ConfigEntry struct {
	Name       string                   `json:"name"`
	Refused    string                   `json:"refused,omitempty"`
	Parameters int64                    `json:"parameters,omitempty"`
	Active     int64                    `json:"active_parameters,omitempty"`
	Predictors int64                    `json:"predictor_parameters,omitempty"`
	Weights    map[hardware.DType]int64 `json:"weights,omitempty"`
	State      []int64                  `json:"state_bytes,omitempty"`
	Warnings   []string                 `json:"warnings,omitempty"`
}

// stateTokens returns the lengths, in tokens, for which the state of a sequence is listed.
func stateTokens() []int { return []int{1 << 10, 32 << 10, 128 << 10} }

// ConfigList reads the files of a folder that are named config.json, or end in _config.json, with
// hf_quant_config.json beside them.
func ConfigList(dir fs.FS) ([]ConfigEntry, error) {
	var list []ConfigEntry
	names, err := fs.Glob(dir, "*config.json")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, "hf_quant_config.json") {
			list = append(list, configEntry(dir, name))
		}
	}
	if list == nil {
		return nil, fmt.Errorf("no file named config.json or ending in _config.json")
	}
	return list, nil
}

func configEntry(dir fs.FS, name string) ConfigEntry {
	e := ConfigEntry{Name: strings.TrimSuffix(strings.TrimSuffix(path.Base(name), "config.json"),
		"_")}
	if e.Name == "" {
		e.Name = name
	}
	config, err := dir.Open(name)
	if err != nil {
		e.Refused = err.Error()
		return e
	}
	defer config.Close()
	p := models.Checkpoint{Config: config}
	if beside := strings.TrimSuffix(name, "config.json") + "hf_quant_config.json"; files.Exists(dir,
		beside) {
		if quantised, err := dir.Open(beside); err == nil {
			defer quantised.Close()
			p.Quantisation = quantised
		}
	}
	m, warnings, err := p.Read(e.Name)
	if err != nil {
		e.Refused = strings.TrimPrefix(err.Error(), e.Name+": ")
		return e
	}
	e.Parameters, e.Active, e.Predictors, e.Warnings = m.Parameters().Total(),
		m.ActiveParameters().Total(), m.PredictorParameters(), warnings
	e.Weights = map[hardware.DType]int64{}
	for _, s := range m.Storage() {
		e.Weights[s.DType] = s.Bytes
	}
	for _, n := range stateTokens() {
		e.State = append(e.State, m.KVBytesOfSequence(n, hardware.BF16, 1))
	}
	return e
}

// Configs prints what is read of config.json files, then the refused files.
func Configs(list []ConfigEntry) (p doc.Blocks) {
	width := 0
	for _, e := range list {
		width = max(width, len(e.Name))
	}
	const columns = "%-*s %10s %9s %9s %-9s %9s %9s %9s"
	p.Line(fmt.Sprintf(columns, width, "config", "parameters", "active", "weights", "mostly",
		"state, 1k", "32k", "128k"))
	for _, e := range list {
		if e.Refused == "" {
			bytes, mostly := total(e.Weights)
			p.Line(fmt.Sprintf(columns, width, e.Name, billions(e.Parameters), billions(e.Active),
				decimalBytes(float64(bytes)), mostly,
				decimalBytes(float64(e.State[0])), decimalBytes(float64(e.State[1])),
				decimalBytes(float64(e.State[2]))))
		}
	}
	for _, e := range list {
		if e.Refused != "" {
			p.Gap()
			p.Line(e.Name + " is refused: " + e.Refused)
		}
	}
	return p
}

// total returns the bytes of all number formats, and the one that takes most.
func total(weights map[hardware.DType]int64) (bytes int64, mostly hardware.DType) {
	for _, d := range slices.Sorted(maps.Keys(weights)) {
		if bytes += weights[d]; mostly == "" || weights[d] > weights[mostly] {
			mostly = d
		}
	}
	return bytes, mostly
}
