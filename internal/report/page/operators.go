package page

import (
	"slices"

	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/scenarios"
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

// StepBatches is the number of batch sizes whose steps are shown.
const StepBatches = 5

// shown lists the parts of decode steps in the order of the chart. There are no more without drafts
// than it has colours.
func shown() []steptime.Part {
	return []steptime.Part{steptime.ReadingWeights, steptime.ReadingKV,
		steptime.MovingActivations, steptime.Calculating, steptime.Exchanging,
		steptime.FixedTimes, steptime.OnHost, steptime.Drafting, steptime.Undivided}
}

// Rank returns the place of a part among all parts, which is also its colour's.
func Rank(part string) int {
	return slices.IndexFunc(shown(), func(p steptime.Part) bool { return p.String() == part })
}

// StepParts breaks decode steps of several sizes down, each sequence with the mean context of the
// run.
func StepParts(s *scenarios.Steps, r *scenarios.Result) []PartTime {
	context := 1024
	if d := r.Decode; d != nil && d.Batch > 0 {
		context = int(d.Context) / d.Batch
	}
	var list []PartTime
	for _, batch := range [StepBatches]int{1, 4, 16, 64, 256} {
		sum := s.Decode(batch, context-1).Ledger.Sum()
		for rank, part := range shown() {
			if t := sum.Parts[part]; t > 0 {
				list = append(list, PartTime{Batch: batch, Name: part.String(), Rank: rank,
					Time: t.Milliseconds(), Fits: batch <= s.Room(context)})
			}
		}
	}
	return slices.Clip(list)
}
