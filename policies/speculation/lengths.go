package speculation

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/sim"
)

// Lengths decides how many tokens are drafted in a row: γ in Leviathan et al., K in Chen et al.
type Lengths interface {
	// Length returns the length for the step that o describes, in [0, o.Most()]; 0 means that no
	// sequence drafts.
	Length(o *Outlook) int
}

// ByRequest is a Lengths that distinguishes requests of the same step.
type ByRequest interface {
	Lengths
	// LengthOf returns the length for one sequence, in [0, length], where length belongs to the
	// step.
	LengthOf(s *sim.Sequence, length int) int
}

// Learner is a Lengths that is told how many drafted tokens were accepted.
type Learner interface {
	Lengths
	// Learn is called when a draft for s was verified: accepted of its length tokens in a row were
	// accepted.
	Learn(s *sim.Sequence, length, accepted int)
}

// Fixed always drafts the largest allowed number of tokens.
type Fixed struct{}

// Length implements Lengths.
func (Fixed) Length(o *Outlook) int { return o.Most() }

// ByBatch takes the length from a table by the number of decoding sequences.
type ByBatch struct{ steps []batchStep }

type batchStep struct{ sequences, length int }

// NewByBatch reads a table such as "1:5, 16:3, 64:0": 5 tokens from 1 sequence on, 3 from 16 on,
// and 0 from 64 on.
func NewByBatch(schedule string) (*ByBatch, error) {
	var b ByBatch
	for _, entry := range strings.Split(schedule, ",") {
		from, length, ok := strings.Cut(strings.TrimSpace(entry), ":")
		sequences, err := strconv.Atoi(from)
		tokens, err2 := strconv.Atoi(strings.TrimSpace(length))
		if !ok || err != nil || err2 != nil || sequences < 1 || tokens < 0 {
			return nil, fmt.Errorf("found %q, want sequences and tokens such as 16:3", entry)
		}
		if n := len(b.steps); n > 0 && sequences <= b.steps[n-1].sequences {
			return nil, fmt.Errorf("%d sequences come after %d; want them to rise", sequences,
				b.steps[n-1].sequences)
		}
		b.steps = append(b.steps, batchStep{sequences, tokens})
	}
	return &b, nil
}

// Length implements Lengths.
func (b *ByBatch) Length(o *Outlook) int {
	length := 0
	for _, s := range b.steps {
		if o.Sequences() >= s.sequences {
			length = s.length
		}
	}
	return min(length, o.Most())
}

// Optimal takes the length that gives the most tokens a second, from the true acceptance and the
// predicted times for the batch and its contexts. This is the rule of Leviathan et al. 2023,
// section 3.5, with predicted costs in place of c. The length is 0 if a step is bound by
// arithmetic.
type Optimal struct{}

// Length implements Lengths.
func (Optimal) Length(o *Outlook) int { return o.best(o.Mean) }

// best returns the length with the largest rate of tokens. mean returns the number of tokens of a
// sequence in a step for each length.
func (o *Outlook) best(mean func(length int) float64) int {
	best, most := 0, 0.0
	for length := 0; length <= o.Most(); length++ {
		if rate := mean(length) / o.Time(length).Seconds(); rate > most {
			best, most = length, rate
		}
	}
	return best
}
