package speculation

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/sim"
)

// Lengths decides how many tokens are drafted in a row: γ in Leviathan et al., K in Chen et al.
type Lengths interface {
	// Length returns the length for the step that o describes, in [0, o.Most()]; 0 means that
	// nobody drafts.
	Length(o *Outlook) int
}

// ByRequest is a Lengths that distinguishes requests of the same step.
type ByRequest interface {
	Lengths
	// LengthOf returns the length for one sequence, in [0, length] with the length for the step.
	LengthOf(s *sim.Sequence, length int) int
}

// Learner is a Lengths that is told how drafts fare.
type Learner interface {
	Lengths
	// Learn is called when a draft for s of length tokens in a row had accepted of them accepted.
	Learn(s *sim.Sequence, length, accepted int)
}

// Fixed drafts as many tokens as it may, always.
type Fixed struct{}

// Length implements Lengths.
func (Fixed) Length(o *Outlook) int { return o.Most() }

// ByBatch looks the length up by the number of sequences that decode.
type ByBatch struct{ steps []batchStep }

type batchStep struct{ sequences, length int }

// NewByBatch reads a schedule such as "1:5, 16:3, 64:0": from 1 sequence on 5 tokens, from 16 on 3,
// from 64 on none.
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

// Optimal takes the length that gives most tokens a second, from the acceptance that is known and
// the times that are predicted for the batch and its contexts: Leviathan et al. 2023, section 3.5,
// with real costs in place of c. It is 0 once arithmetic binds.
type Optimal struct{}

// Length implements Lengths.
func (Optimal) Length(o *Outlook) int { return o.best(o.Mean) }

// best returns the length with the largest rate of tokens, where mean gives the tokens a sequence
// and step by length.
func (o *Outlook) best(mean func(length int) float64) int {
	best, most := 0, 0.0
	for length := 0; length <= o.Most(); length++ {
		if rate := mean(length) / o.Time(length).Seconds(); rate > most {
			best, most = length, rate
		}
	}
	return best
}
