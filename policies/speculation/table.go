package speculation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/llmsim/llmsim/internal/files"
)

// Table holds the measured acceptance of a drafter: the part of the JSON of `llmsim gpt2` that the
// simulator needs.
type Table struct {
	// Steps is the number of measured steps, counted for each sequence.
	Steps int64 `json:"steps"`
	// Positions holds the counts for each position of a draft, in order, given that all tokens
	// before it were accepted.
	Positions []struct {
		// Drafted is the number of tokens examined at this position, and Accepted the number of
		// them that were accepted.
		Drafted  int64 `json:"drafted"`
		Accepted int64 `json:"accepted"`
	} `json:"positions"`
}

// mostPositions bounds the positions of a table. Drafts have fewer tokens.
const mostPositions = 1000

// ReadTable reads a table of at least one position.
func ReadTable(r io.Reader) (*Table, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors begin files with it
	if err := files.CheckFields(data); err != nil {
		return nil, fmt.Errorf("not an acceptance table: %w", err)
	}
	var t Table
	if err := json.Unmarshal(data, &t); err != nil {
		return nil, fmt.Errorf("not an acceptance table: %w", err)
	}
	if len(t.Positions) > mostPositions {
		return nil, fmt.Errorf("found %d positions; drafts have at most %d tokens",
			len(t.Positions), mostPositions)
	}
	before := t.Steps
	for i, p := range t.Positions {
		if p.Accepted < 0 || p.Accepted > p.Drafted || p.Drafted > before {
			return nil, fmt.Errorf(
				"position %d: %d of %d drafted tokens accepted, after %d steps or acceptances "+
					"before it; want each at most the one before", i+1, p.Accepted, p.Drafted,
				before)
		}
		before = p.Accepted
	}
	if len(t.Positions) == 0 || t.Positions[0].Drafted == 0 {
		return nil, fmt.Errorf(
			"the table has no drafted tokens; want positions with drafted and accepted")
	}
	return &t, nil
}

// Acceptance returns the measured rates. Positions that were never reached count as rejected.
func (t *Table) Acceptance() Acceptance {
	rates := make([]float64, len(t.Positions))
	for i, p := range t.Positions {
		if p.Drafted > 0 {
			rates[i] = float64(p.Accepted) / float64(p.Drafted)
		}
	}
	return Acceptance{rates}
}

// Match returns the share of steps in which the drafter had a proposal, in (0, 1].
func (t *Table) Match() float64 { return float64(t.Positions[0].Drafted) / float64(t.Steps) }
