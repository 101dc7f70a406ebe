package speculation

// Drafter proposes tokens.
type Drafter interface {
	// Draft fills in Drafted and Distributions of each stream, with at most Want tokens. Of a
	// stream with a Prompt it computes that.
	Draft(streams []*Stream) error
	// Forget means that a stream is over.
	Forget(s *Stream)
	// Name describes the drafter for tables.
	Name() string
}

// Proposal is what a drafter proposes for one stream.
type Proposal struct {
	// Want is the largest number of tokens wanted; at least 0.
	Want int
	// Prompt is the number of tokens of the text that the target is about to have computed, where
	// it computes a prompt; 0 where the stream decodes. A drafter that computes prompts too can do
	// so at the same time.
	Prompt int
	// Drafted are the proposed tokens.
	Drafted []int32
	// Distributions are what the tokens were drawn from; nil if the proposer was certain.
	Distributions [][]float64
}

// reset makes room for a new proposal, keeping the space of the last.
func (p *Proposal) reset(want int) {
	p.Want, p.Prompt, p.Drafted, p.Distributions = want, 0, p.Drafted[:0], p.Distributions[:0]
}

// room adds a distribution over vocab tokens and returns it to be filled in.
func (p *Proposal) room(vocab int) []float64 {
	n := len(p.Distributions)
	if n < cap(p.Distributions) {
		p.Distributions = p.Distributions[:n+1]
	} else {
		p.Distributions = append(p.Distributions, nil)
	}
	if p.Distributions[n] == nil {
		p.Distributions[n] = make([]float64, vocab)
	}
	return p.Distributions[n]
}
