package page

import (
	"slices"
	"strings"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// PartTime is the time of a part of a decode step of a batch, in milliseconds.
type PartTime struct {
	Batch int     `json:"batch"`
	Name  string  `json:"name"`
	Rank  int     `json:"rank"` // among the parts
	Time  float64 `json:"ms"`
	// Fits reports whether the KV memory has room for the batch.
	Fits bool `json:"fits"`
}

// The parts of a step, in the order of the chart. There are no more than it has colours.
const (
	projections   = "weights: attention"
	mlp           = "weights: MLP"
	attention     = "attention over the KV cache"
	head          = "output head, sampling"
	elementwise   = "element-wise"
	communication = "communication"
	host          = "host, launching"
)

func parts() []string {
	return []string{projections, mlp, attention, head, elementwise, communication, host}
}

// StepBatches is the number of batch sizes of which steps are shown.
const StepBatches = 5

// Rank returns the place of a part among all parts, which is also that of its colour.
func Rank(part string) int { return slices.Index(parts(), part) }

// part returns the part of a step to which an operator belongs.
func part(operator string) string {
	switch {
	case strings.HasPrefix(operator, "attention"):
		return attention
	case operator == "lm_head" || operator == "sampling" || strings.HasPrefix(operator, "project_"):
		return head
	case operator == "elementwise":
		return elementwise
	case operator == "host" || operator == "launch" || operator == "gaps":
		return host
	case strings.HasSuffix(operator, "up") || strings.HasSuffix(operator, "down") ||
		operator == "router" || operator == "shared_weight":
		return mlp
	case operator == "qkv" || operator == "out" || strings.HasPrefix(operator, "q") ||
		strings.HasPrefix(operator, "kv_"):
		return projections
	}
	return communication
}

// StepParts breaks decode steps of several sizes down, each sequence with the mean context of the
// run's.
func StepParts(s *scenarios.Steps, r *scenarios.Result) []PartTime {
	context := int64(1024)
	if d := r.Decode; d != nil && d.Batch > 0 {
		context = d.Context / int64(d.Batch)
	}
	var list []PartTime
	for _, batch := range [StepBatches]int{1, 4, 16, 64, 256} {
		step := sim.Step{Decodes: batch, DecodeTokens: batch, Context: int64(batch) * context}
		times := map[string]float64{}
		for _, op := range s.Clock.Breakdown(&step) {
			times[part(op.Name)] += op.Time.Milliseconds()
		}
		for rank, name := range parts() {
			if times[name] > 0 {
				list = append(list, PartTime{Batch: batch, Name: name, Rank: rank,
					Time: times[name], Fits: batch <= s.Room(int(context))})
			}
		}
	}
	return slices.Clip(list)
}
