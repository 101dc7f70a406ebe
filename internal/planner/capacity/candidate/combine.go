package candidate

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/stat/combin"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/scenarios"
)

// Options lists every combination of the menu.
func Options(f *asked.File) ([]*Option, error) {
	kinds := &kinds{file: f, mixture: mixture(f), known: map[string]*Server{},
		shapes: map[string]string{}}
	list, err := kinds.together()
	for i := range f.Plan.Menu.Disaggregated {
		if err != nil {
			break
		}
		var more []*Option
		more, err = kinds.apart(&f.Plan.Menu.Disaggregated[i])
		if list = append(list, more...); len(list) > mostOptions {
			err = tooMany(len(list))
		}
	}
	for i, o := range list {
		o.Index, o.From = i, i
	}
	if err == nil {
		err = checkRouting(f, list)
	}
	return list, err
}

// mixture reports whether the model of a plan has routed experts. For a model that cannot be read
// it returns false; the error is found where a server is built.
func mixture(f *asked.File) bool {
	first := &f.Plan.Menu.Hardware[0] // a scenario must have some
	file, err := f.File(scenarios.Scenario{Model: f.Plan.Model, Workload: f.Plan.Workload,
		Hardware: scenarios.Hardware{Accelerator: first.Accelerator, File: first.File},
	}, f.Plan.Peak(), 1)
	if err != nil {
		return false
	}
	model, err := file.Model()
	return err == nil && model.Experts() != nil
}

func tooMany(n int) error {
	return scenarios.BadInput(
		fmt.Errorf("the menu has %d combinations and more, allowed: %d; shorten its lists", n,
			mostOptions))
}

// kinds makes servers. Options with equal servers share one.
type kinds struct {
	file *asked.File
	// mixture reports whether the model has routed experts.
	mixture bool
	known   map[string]*Server
	shapes  map[string]string // each once
}

// server returns the server for the given choices.
func (k *kinds) server(list []dimension, choices []int) *Server {
	s, d := newServer(k.file, list, choices)
	if shape, known := k.shapes[s.Shape]; known {
		s.Shape = shape
	} else {
		k.shapes[s.Shape] = s.Shape
	}
	if len(k.file.Plan.Menu.Disaggregated) == 0 {
		return s // every combination is another
	}
	key := fmt.Sprintf("%p %+v %+v %+v %+v", s.Offer, d.Scenario.Parallelism, d.Scenario.Engine,
		d.Scenario.Batching, d.Scenario.Memory)
	if way := d.Scenario.Speculation; way != nil {
		key += fmt.Sprintf(" %+v", *way)
	}
	if known := k.known[key]; known != nil {
		return known
	}
	k.known[key] = s
	return s
}

// together lists the options in which replicas do both.
func (k *kinds) together() ([]*Option, error) {
	m := &k.file.Plan.Menu
	list := dimensions(m, nil, nil, k.mixture)
	sizes := sizesOf(list)
	n, routes, ways := combinations(sizes), max(1, len(m.Routing)), m.Scalings()
	if each := routes * len(ways); n > mostOptions/each {
		return nil, tooMany(n * each)
	}
	options := make([]*Option, 0, n*routes*len(ways))
	servers := make([]*Server, n)
	for i := range n {
		servers[i] = k.server(list, combin.SubFor(nil, i, sizes))
	}
	for i, s := range servers {
		if s.Twin {
			continue
		}
		alike, standing := &Parts{Prefill: s}, basesOf(k.file, servers, i)
		for route := range routes {
			o := &Option{Parts: alike, Prefills: 1, Routing: int32(route), GPUs: s.GPUs}
			options = withBases(o, standing, o.Each(ways, options))
		}
		if len(options) > mostOptions {
			return nil, tooMany(len(options))
		}
	}
	return options, nil
}

// apart lists the options with separate replicas for prompts. The choices that both sides leave to
// the menu are common to both. They come first, then the choices of each side, and then the numbers
// of replicas.
func (k *kinds) apart(split *asked.Split) ([]*Option, error) {
	m := &k.file.Plan.Menu
	prefill, decode := dimensions(m, &split.Prefill, &split.Decode, k.mixture),
		dimensions(m, &split.Decode, &split.Prefill, k.mixture)
	own := len(prefill) // where the choices of prefill replicas alone stand
	sizes := append(sizesOf(prefill), sizesOf(decode)...)
	for i, d := range prefill {
		if d.common {
			sizes[own+i] = 1
		}
	}
	sizes = append(sizes, split.Prefill.Replicas.Size(), split.Decode.Replicas.Size(),
		max(1, len(m.Routing)))
	n, ways := combinations(sizes), m.Scalings()
	if n > mostOptions/len(ways) {
		return nil, tooMany(n * len(ways))
	}
	options := make([]*Option, 0, n*len(ways))
	servers := map[int]*Server{}
	remembered := func(key int, list []dimension, choices []int) *Server {
		if servers[key] == nil {
			servers[key] = k.server(list, choices)
		}
		return servers[key]
	}
	numbers := sizes[2*own:] // of replicas, and ways of routing: the options of the same parts
	for i := range n / combin.Card(numbers) {
		place := combin.SubFor(nil, i, sizes[:2*own])
		first, second := place[:own], slices.Clone(place[own:])
		for j, d := range decode {
			if d.common {
				second[j] = first[j]
			}
		}
		both := &Parts{
			Prefill: remembered(2*(i/combin.Card(sizes[own:2*own])), prefill, first),
			Decode:  remembered(2*i+1, decode, second)}
		if both.Prefill.Twin || both.Decode.Twin ||
			!k.file.Plan.Joins(both.Prefill.Offer, both.Decode.Offer) {
			continue
		}
		for k := range combin.Card(numbers) {
			rest := combin.SubFor(nil, k, numbers)
			prefills, decodes := split.Prefill.Replicas.From+rest[0],
				split.Decode.Replicas.From+rest[1]
			options = (&Option{Parts: both, Prefills: int32(prefills),
				Decodes: int32(decodes), Routing: int32(rest[2]),
				GPUs: prefills*both.Prefill.GPUs + decodes*both.Decode.GPUs}).Each(ways, options)
		}
	}
	return options, nil
}

func sizesOf(list []dimension) []int {
	sizes := make([]int, len(list))
	for i, d := range list {
		sizes[i] = d.size
	}
	return sizes
}

// mostBase bounds the base beside spot replicas.
const mostBase = 64

// withBases adds an option of spot replicas to a list with a base of each server: of every size up
// to eight, and larger ones a quarter apart.
func withBases(o *Option, standing []*Server,
	list []*Option) []*Option {
	for _, s := range standing {
		for n := 1; n <= mostBase; n += max(1, n/4) {
			other := *o
			other.Base, other.Standing = int32(n), s
			list = append(list, &other)
		}
	}
	return list
}

// basesOf returns the servers that may be a base beside server i of a list, in which the choice of
// the accelerator varies slowest: they differ from it in terms alone. A base is tried for the
// cheapest fleet of a fixed number of replicas.
func basesOf(f *asked.File, servers []*Server, i int) (list []*Server) {
	p := &f.Plan
	if p.Goal.Find != asked.FindCheapest || p.Scaled() {
		return nil
	}
	each := len(servers) / len(p.Menu.Hardware)
	for k := i % each; k < len(servers); k += each {
		if p.Stays(servers[k].Offer, servers[i].Offer) {
			list = append(list, servers[k])
		}
	}
	return list
}

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
		other.Index, other.From = i, i
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

// Whole returns n replicas or groups as a number of replicas or groups that are all alike.
func (o *Option) Whole(n int) (*Option, int) {
	if !o.Paired {
		return o, n
	}
	one := *o
	prefills, decodes := o.sizes(n)
	one.Prefills, one.Decodes, one.Paired = int32(prefills), int32(decodes), false
	one.GPUs = prefills*o.Prefill.GPUs + decodes*o.Decode.GPUs
	return &one, 1
}

// Total returns how many accelerators n replicas or groups have.
func (o *Option) Total(n int) int {
	whole, n := o.Whole(n)
	return n * whole.GPUs
}
