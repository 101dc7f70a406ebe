package scenarios

import (
	"fmt"
	"strings"

	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/engines"
)

// setup describes the servers in words.
func setup(kinds []kind) string {
	if len(kinds) == 1 {
		return kinds[0].describe()
	}
	list := make([]string, len(kinds))
	for i, k := range kinds {
		list[i] = "pool " + strings.Join(k.names(), ", ") + ": " + k.describe()
	}
	return strings.Join(list, "; ")
}

// kind is the pools that have the same server.
type kind []*pool

// kindsOf groups pools by their servers.
func kindsOf(pools []pool) []kind {
	var list []kind
	at := map[*server]int{}
	for i := range pools {
		p := &pools[i]
		n, known := at[p.server]
		if !known {
			n, at[p.server] = len(list), len(list)
			list = append(list, nil)
		}
		list[n] = append(list[n], p)
	}
	return list
}

func (k kind) names() []string {
	names := make([]string, len(k))
	for i, p := range k {
		names[i] = p.name
	}
	return names
}

// describe describes the replicas in words.
func (k kind) describe() string {
	replicas, accelerators := 0, 0
	for _, p := range k {
		replicas += p.size
		accelerators += p.accelerators()
	}
	s := k[0].server
	p := &s.s.Parallelism
	text := fmt.Sprintf("%s (%s) on %d × %s", s.Model.Name, s.s.Engine.Weights, accelerators,
		s.Accelerator.Title)
	if replicas > 1 {
		text += fmt.Sprintf(", %d replicas", replicas)
	}
	for _, degree := range []struct {
		name string
		n    int
	}{{"tensor", p.Tensor}, {"pipeline", p.Pipeline}, {"data", p.Data}, {"expert", p.Expert}} {
		if degree.n > 1 {
			text += fmt.Sprintf(", %s parallelism %d", degree.name, degree.n)
		}
	}
	text += fmt.Sprintf("; engine %s%s, batching %s, memory %s", s.s.Engine.Preset,
		releaseWords(&s.Config.Release), s.s.Batching.Policy, s.s.Memory.Policy)
	if sp := s.s.Speculation; sp != nil {
		text += fmt.Sprintf(", speculative decoding by %s, up to %s in a row", sp.Method,
			units.Plural(sp.Tokens, "token"))
	}
	return text
}

// releaseWords says which release of an engine is predicted; "" for an engine without releases.
func releaseWords(r *engines.Release) string {
	if r.Version.IsZero() {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", r.Title, r.Version)
}
