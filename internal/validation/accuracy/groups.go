package accuracy

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
)

// GroupError is the error of a latency or a rate of servers that have engine, release, GPU, model
// and number format in common, in percent.
type GroupError struct {
	Engine  string `json:"engine" csv:"engine"`
	Version string `json:"version,omitempty" csv:"version"`
	GPU     string `json:"gpu" csv:"gpu"`
	Model   string `json:"model" csv:"model"`
	DType   string `json:"dtype" csv:"dtype"`
	// Quantity is TPOT, TTFT or rate, or the name of a kind of step.
	Quantity string `json:"quantity" csv:"quantity"`
	Rows     int    `json:"rows" csv:"rows"`
	// Median is the median absolute error, Bias the median error.
	Median float64 `json:"median_pct" csv:"median_pct" format:"%.1f"`
	Bias   float64 `json:"bias_pct" csv:"bias_pct" format:"%.1f"`
}

// leastGroup is the number of rows from which on a group has a recorded error.
const leastGroup = 4

// key names the group.
func (g *GroupError) key() string {
	return strings.Join([]string{g.Engine, g.Version, g.GPU, g.Model, g.DType, g.Quantity}, ",")
}

// String names the group for people.
func (g *GroupError) String() string {
	return strings.Join(strings.Fields(strings.Join([]string{g.Engine, g.Version, g.GPU, g.Model,
		g.DType, g.Quantity}, " ")), " ")
}

// gated returns what the errors of groups call a measured quantity, or "".
func gated(c *Comparison) string {
	if c.Engine == "" {
		return ""
	}
	if strings.HasSuffix(c.Quantity, " step") {
		return c.Quantity
	}
	return ColumnOf(c)
}

// GroupErrors returns the errors of all groups of leastGroup rows or more.
func (r *Report) GroupErrors() []GroupError {
	return groupErrors(r.Rows(func(*Comparison) bool { return true }), leastGroup)
}

func groupErrors(rows []Comparison, least int) []GroupError {
	of := map[string][]Comparison{}
	groups := map[string]GroupError{}
	for i := range rows {
		c := &rows[i]
		quantity := gated(c)
		if quantity == "" {
			continue
		}
		g := GroupError{Engine: c.Engine, Version: c.Version, GPU: c.GPU, Model: c.Model,
			DType: c.DType, Quantity: quantity}
		of[g.key()] = append(of[g.key()], *c)
		groups[g.key()] = g
	}
	var list []GroupError
	for _, key := range slices.Sorted(maps.Keys(of)) {
		if g := groups[key]; len(of[key]) >= least {
			g.Rows, g.Median, g.Bias = len(of[key]), SumUp(of[key]).Median,
				MedianBias(of[key])
			list = append(list, g)
		}
	}
	return list
}

// worst returns the group of at least that many rows with the largest median error; nil without
// one.
func worst(rows []Comparison, least int) *GroupError {
	list := groupErrors(rows, least)
	if len(list) == 0 {
		return nil
	}
	g := slices.MaxFunc(list, func(a, b GroupError) int { return cmp.Compare(a.Median, b.Median) })
	return &g
}

// groups.csv has the errors of the groups of the tables that the constants were fitted to.
//
//go:embed groups.csv
var groupsCSV string

// Worsening is by how many points of a percentage a group may become worse before a test fails.
const Worsening = 1.5

// Recorded returns the recorded errors by group.
var Recorded = sync.OnceValue(func() map[string]GroupError {
	all := map[string]GroupError{}
	for _, g := range files.MustReadTable[GroupError]("groups.csv", groupsCSV) {
		all[g.key()] = g
	}
	return all
})

// Worsened returns what became worse than the record by more than worsening points, and what is no
// longer compared.
func (r *Report) Worsened() []string {
	var list []string
	now := map[string]GroupError{}
	for _, g := range r.GroupErrors() {
		now[g.key()] = g
	}
	for _, key := range slices.Sorted(maps.Keys(Recorded())) {
		was := Recorded()[key]
		switch g, ok := now[key]; {
		case !ok:
			list = append(list, fmt.Sprintf("%s is no longer compared", &was))
		case g.Median > was.Median+Worsening:
			list = append(list, fmt.Sprintf("%s: %.1f %% of %d rows, recorded %.1f %%", &g,
				g.Median, g.Rows, was.Median))
		}
	}
	return list
}
