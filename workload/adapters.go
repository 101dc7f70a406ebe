package workload

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/lengths"
)

// adapted is a workload whose requests ask for adapters.
type adapted struct {
	ended
	table *lengths.Table
	key   uint64
	sent  uint64
}

// ended is a source that knows when it was to end. It has no Open, so that a source around it
// cannot inherit the answer: whether requests are known ahead is for each source to say.
type ended interface {
	Source
	sim.Timed
}

// withAdapters returns a source whose requests ask for adapters, drawn by the seed.
func withAdapters(of ended, a *Adapters, seed uint64) (ended, error) {
	if a.Count < 1 || a.Count > maxTexts || !(a.Zipf >= 0) || math.IsInf(a.Zipf, 1) {
		return nil, fmt.Errorf("workload: adapters: found %d with zipf %v, allowed: 1 to %d, and "+
			"finite numbers from 0", a.Count, a.Zipf, maxTexts)
	}
	table, err := lengths.NewTable(zipf(a.Count, a.Zipf))
	if err != nil {
		return nil, fmt.Errorf("workload: adapters: %w", err)
	}
	return &adapted{ended: of, table: table, key: adapterStream.key(seed)}, nil
}

// Open implements sim.OpenLoop. Done is the inner source's.
func (a *adapted) Open() bool {
	inside, ok := a.ended.(sim.OpenLoop)
	return ok && inside.Open()
}

// Next implements sim.Source. The same text has other KV under another adapter, so its name
// differs.
func (a *adapted) Next(r *sim.Request) {
	a.ended.Next(r)
	of := 2 * a.sent
	if r.Session != 0 {
		of = 2*uint64(r.Session) + 1
	}
	a.sent++
	r.Adapter = 1 + a.table.At(content.Hash(a.key^content.Hash(of)))
	for i := range r.Content {
		r.Content[i].ID = content.Hash(r.Content[i].ID + uint64(r.Adapter))
	}
	if r.Answer != 0 {
		r.Answer = content.Hash(r.Answer + uint64(r.Adapter))
	}
}
