package candidate

import "github.com/llmsim/llmsim/internal/planner/capacity/asked"

// Copies returns options of their own for another plan, in which nothing was found out of servers
// yet but what their steps take. Where reprice is not nil, only prices change, by it, and all that
// was found out holds.
func Copies(options []*Option, f *asked.File, reprice func(*Option)) []*Option {
	var copies []*Option
	servers, known := map[*Server]*Server{}, map[*Parts]*Parts{}
	again := func(old *Server) *Server {
		if old != nil && servers[old] == nil {
			other := *old
			other.File = f
			servers[old] = &other
		}
		return servers[old]
	}
	for i, o := range options {
		other := *o
		other.Index = i
		copies = append(copies, &other)
		if reprice != nil {
			reprice(&other)
			continue
		}
		if known[o.Parts] == nil {
			both := *o.Parts
			both.Prefill, both.Decode = again(o.Prefill), again(o.Decode)
			known[o.Parts] = &both
		}
		other.Parts, other.Scaling = known[o.Parts], o.Scaling.Copied()
	}
	return copies
}
