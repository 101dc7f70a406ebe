package build

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/candidate"
	"github.com/llmsim/llmsim/internal/planner/capacity/menu"
	"github.com/llmsim/llmsim/scenarios"
)

// Options lists every combination of the menu.
func Options(f *asked.File) ([]*candidate.Option, error) {
	kinds := &kinds{file: f, mixture: mixture(f), known: map[string]*candidate.Server{},
		shapes: map[string]string{}}
	list, err := kinds.together()
	for i := range f.Plan.Menu.Disaggregated {
		if err != nil {
			break
		}
		var more []*candidate.Option
		more, err = kinds.apart(&f.Plan.Menu.Disaggregated[i])
		if list = append(list, more...); len(list) > candidate.MostOptions {
			err = tooMany(len(list))
		}
	}
	for i, o := range list {
		o.Index = i
	}
	return list, err
}

// mixture reports whether the model of a plan has routed experts. A model that cannot be read has
// none; its error is found where a server is built.
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
			candidate.MostOptions))
}

// kinds makes servers. Options with equal servers share one.
type kinds struct {
	file *asked.File
	// mixture reports whether the model has routed experts.
	mixture bool
	known   map[string]*candidate.Server
	shapes  map[string]string // each once
}

// server returns the server for the given choices.
func (k *kinds) server(list []candidate.Dimension, choices []int) *candidate.Server {
	s, d := candidate.NewServer(k.file, list, choices)
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
func (k *kinds) together() ([]*candidate.Option, error) {
	m := &k.file.Plan.Menu
	list := candidate.Dimensions(m, nil, nil, k.mixture)
	sizes := sizesOf(list)
	n, routes, ways := candidate.Combinations(sizes), max(1, len(m.Routing)), m.Scalings()
	if each := routes * len(ways); n > candidate.MostOptions/each {
		return nil, tooMany(n * each)
	}
	options := make([]*candidate.Option, 0, n*routes*len(ways))
	servers := make([]*candidate.Server, n)
	for i := range n {
		servers[i] = k.server(list, candidate.Digits(i, sizes))
	}
	for i, s := range servers {
		if s.Twin {
			continue
		}
		alike, standing := &candidate.Parts{Prefill: s}, basesOf(k.file, servers, i)
		for route := range routes {
			o := &candidate.Option{Parts: alike, Prefills: 1, Routing: int32(route), GPUs: s.GPUs}
			options = withBases(o, standing, o.Each(ways, options))
		}
		if len(options) > candidate.MostOptions {
			return nil, tooMany(len(options))
		}
	}
	return options, nil
}

// apart lists the options with separate replicas for prompts. The choices that both sides leave to
// the menu are common to both. They come first, then the choices of each side, and then the numbers
// of replicas.
func (k *kinds) apart(split *menu.Split) ([]*candidate.Option, error) {
	m := &k.file.Plan.Menu
	prefill, decode := candidate.Dimensions(m, &split.Prefill, &split.Decode, k.mixture),
		candidate.Dimensions(m, &split.Decode, &split.Prefill, k.mixture)
	own := len(prefill) // where the choices of prefill replicas alone stand
	sizes := append(sizesOf(prefill), sizesOf(decode)...)
	for i, d := range prefill {
		if d.Common {
			sizes[own+i] = 1
		}
	}
	sizes = append(sizes, split.Prefill.Replicas.Size(), split.Decode.Replicas.Size(),
		max(1, len(m.Routing)))
	n, ways := candidate.Combinations(sizes), m.Scalings()
	if n > candidate.MostOptions/len(ways) {
		return nil, tooMany(n * len(ways))
	}
	options := make([]*candidate.Option, 0, n*len(ways))
	servers := map[int]*candidate.Server{}
	remembered := func(key int, list []candidate.Dimension, choices []int) *candidate.Server {
		if servers[key] == nil {
			servers[key] = k.server(list, choices)
		}
		return servers[key]
	}
	numbers := sizes[2*own:] // of replicas, and ways of routing: the options of the same parts
	for i := range n / product(numbers) {
		place := candidate.Digits(i, sizes[:2*own])
		first, second := place[:own], slices.Clone(place[own:])
		for j, d := range decode {
			if d.Common {
				second[j] = first[j]
			}
		}
		both := &candidate.Parts{
			Prefill: remembered(2*(i/product(sizes[own:2*own])), prefill, first),
			Decode:  remembered(2*i+1, decode, second)}
		if both.Prefill.Twin || both.Decode.Twin ||
			!k.file.Plan.Joins(both.Prefill.Offer, both.Decode.Offer) {
			continue
		}
		for k := range product(numbers) {
			rest := candidate.Digits(k, numbers)
			prefills, decodes := split.Prefill.Replicas.From+rest[0],
				split.Decode.Replicas.From+rest[1]
			options = (&candidate.Option{Parts: both, Prefills: int32(prefills),
				Decodes: int32(decodes), Routing: int32(rest[2]),
				GPUs: prefills*both.Prefill.GPUs + decodes*both.Decode.GPUs}).Each(ways, options)
		}
	}
	return options, nil
}

func product(list []int) int {
	n := 1
	for _, v := range list {
		n *= v
	}
	return n
}

func sizesOf(list []candidate.Dimension) []int {
	sizes := make([]int, len(list))
	for i, d := range list {
		sizes[i] = d.Size
	}
	return sizes
}
