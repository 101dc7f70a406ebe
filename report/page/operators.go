package page

import (
	"slices"
	"strings"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// partTime is the time of a part of a decode step of a batch, in milliseconds.
type partTime struct {
	Batch int     `json:"batch"`
	Name  string  `json:"name"`
	Rank  int     `json:"rank"` // among the parts
	Time  float64 `json:"ms"`
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

// part tells to which part of a step an operator belongs.
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
	case strings.HasSuffix(operator, "up") || strings.HasSuffix(operator, "down") || operator == "router" || operator == "shared_weight":
		return mlp
	case operator == "qkv" || operator == "out" || strings.HasPrefix(operator, "q") || strings.HasPrefix(operator, "kv_"):
		return projections
	}
	return communication
}

// stepParts breaks decode steps of several sizes down, each sequence with the mean context of the run's.
func stepParts(s *scenarios.Steps, r *scenarios.Result) []partTime {
	context := int64(1024)
	if d := r.Decode; d != nil && d.Batch > 0 {
		context = d.Context / int64(d.Batch)
	}
	var list []partTime
	for _, batch := range []int{1, 4, 16, 64, 256} {
		step := sim.Step{Decodes: batch, DecodeTokens: batch, Context: int64(batch) * context}
		times := map[string]float64{}
		for _, op := range s.Clock.Breakdown(&step) {
			times[part(op.Name)] += op.Time.Milliseconds()
		}
		for rank, name := range parts() {
			if times[name] > 0 {
				list = append(list, partTime{Batch: batch, Name: name, Rank: rank, Time: times[name]})
			}
		}
	}
	return slices.Clip(list)
}
