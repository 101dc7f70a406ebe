package generate

import (
	"encoding/json"
	"io"
)

// AcceptanceTable is a measured acceptance table, the JSON that the simulator reads.
type AcceptanceTable struct {
	// Drafter, Algorithm, Gamma and the sampling parameters tell what was measured.
	Drafter     string  `json:"drafter"`
	Algorithm   string  `json:"algorithm"`
	Gamma       int     `json:"gamma"`
	Temperature float64 `json:"temperature"`
	TopK        int     `json:"top_k,omitempty"`
	TopP        float64 `json:"top_p,omitempty"`
	// Steps is the number of steps, one a stream; Tokens the number of tokens that they gave.
	Steps  int64 `json:"steps"`
	Tokens int64 `json:"tokens"`
	// Accepted[n] is the number of steps with n accepted tokens, 0 ≤ n ≤ Gamma.
	Accepted []int64 `json:"accepted"`
	// Positions gives the fate of the tokens at each place in the draft, given that all before were
	// accepted.
	Positions []Position `json:"positions"`
	// TokensPerStep is Tokens/Steps, between 1 and Gamma+1.
	TokensPerStep float64 `json:"tokens_per_step"`
}

// Position is one place in a draft.
type Position struct {
	// Position counts from 1.
	Position int `json:"position"`
	// Drafted is the number of tokens looked at there, Accepted of those accepted, and Rate their
	// ratio.
	Drafted  int64   `json:"drafted"`
	Accepted int64   `json:"accepted"`
	Rate     float64 `json:"acceptance_rate"`
}

// Table returns what the decoder measured so far.
func (d *Decoder) Table() AcceptanceTable {
	o := d.options
	t := AcceptanceTable{
		Drafter: d.drafter.Name(), Algorithm: o.Algorithm.String(), Gamma: o.Gamma,
		Temperature: o.Sampling.Temperature, TopK: o.Sampling.TopK, TopP: o.Sampling.TopP,
		Accepted: d.counts,
	}
	for n, steps := range d.counts {
		t.Steps += steps
		t.Tokens += steps * int64(n+1)
	}
	if t.Steps > 0 {
		t.TokensPerStep = float64(t.Tokens) / float64(t.Steps)
	}
	for i, c := range d.tries {
		p := Position{Position: i + 1, Drafted: c.drafted, Accepted: c.accepted}
		if c.drafted > 0 {
			p.Rate = float64(c.accepted) / float64(c.drafted)
		}
		t.Positions = append(t.Positions, p)
	}
	return t
}

// Write writes the table as one JSON document.
func (t AcceptanceTable) Write(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(t)
}
