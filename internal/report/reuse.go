package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/workload/reuse"
)

// Reuse is which share of the prompts of a trace caches of several sizes find.
type Reuse struct {
	*reuse.Curve
	Caches []ReuseCache `json:"caches"`
}

// ReuseCache is a cache of a number of blocks. Found is the share of all blocks of prompts that it
// finds if it keeps the blocks that were used last, and Bound what no cache of the size exceeds.
type ReuseCache struct {
	Blocks int     `json:"blocks"`
	Found  float64 `json:"found"`
	Bound  float64 `json:"bound"`
}

// NewReuse computes the shares for caches of the given sizes; without sizes, of parts of the number
// of different blocks.
func NewReuse(c *reuse.Curve, sizes []int) *Reuse {
	if len(sizes) == 0 {
		for part := 64; part > 0; part /= 2 {
			sizes = append(sizes, max(1, c.Distinct/part))
		}
		sizes = slices.Compact(sizes)
	}
	r, all := &Reuse{Curve: c}, float64(c.Blocks)
	for _, size := range sizes {
		r.Caches = append(r.Caches, ReuseCache{size, float64(c.Found(size)) / all,
			float64(c.Bound(size)) / all})
	}
	return r
}

// WriteText writes the shares as a table.
func (r *Reuse) WriteText(w io.Writer) error {
	var text strings.Builder
	blocks := "blocks"
	if r.BlockTokens > 0 {
		blocks += fmt.Sprintf(" of %d tokens", r.BlockTokens)
	}
	fmt.Fprintf(&text, "%d requests with %d %s, %d of them different. Blocks found:\n\n",
		r.Requests, r.Blocks, blocks, r.Distinct)
	fmt.Fprintf(&text, "%12s  %14s  %19s\n", "cache/blocks", "used last kept", "bound (used next)")
	for _, c := range r.Caches {
		fmt.Fprintf(&text, "%12d  %13.2f%%  %18.2f%%\n", c.Blocks, 100*c.Found, 100*c.Bound)
	}
	_, err := io.WriteString(w, text.String())
	return err
}
