package capacity

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/evidence"
)

// option is one combination of the menu: a kind of replica, or of a group of prefill and decode
// replicas.
type option struct {
	index int
	// prefill is the kind of the replicas that compute prompts, or do both, and decode of those
	// that go on from there; nil where there are none. Prefills and decodes are their numbers
	// in a group.
	prefill, decode   *server
	prefills, decodes int
	routing           int // of the menu's

	gpus  int     // accelerators of a replica, or a group
	price float64 // of these, in $/h
	watts float64 // that these draw at most
	// physics says how wrong its step times may be, grade why; slow is the factor on step times
	// under which it must keep the SLO.
	physics physics
	grade   evidence.Grade
	slow    float64
	// distrust says why the plan does not trust the evidence; empty where it does.
	distrust string
	// ceiling is an upper bound of the rate that a replica, or a group, sustains, in requests/s,
	// and least a lower bound of their number. Alone is the share of requests that could keep the
	// SLO with a replica to themselves, and excess the mean, over requests, of how many times their
	// limits they would take. Tight reports whether alone is not enough.
	ceiling float64
	least   int
	alone   float64
	excess  float64
	tight   bool
}

// mostOptions bounds a menu.
const mostOptions = 2_000_000

// options lists every combination of the menu.
func (f *File) options() ([]*option, error) {
	kinds := &kinds{file: f, known: map[string]*server{}, shapes: map[string]string{}}
	list, err := kinds.together()
	for i := range f.Plan.Menu.Disaggregated {
		if err != nil {
			break
		}
		var more []*option
		more, err = kinds.apart(&f.Plan.Menu.Disaggregated[i])
		if list = append(list, more...); len(list) > mostOptions {
			err = tooMany(len(list))
		}
	}
	for i, o := range list {
		o.index = i
	}
	return list, err
}

func tooMany(n int) error {
	return scenarios.BadInput(
		fmt.Errorf("the menu has %d combinations and more, allowed: %d; shorten its lists", n,
			mostOptions))
}

// kinds makes servers, each once where several options may have the same.
type kinds struct {
	file   *File
	known  map[string]*server
	shapes map[string]string // each once
}

// server returns the one of certain choices.
func (k *kinds) server(list []dimension, choices []int) *server {
	s, d := k.file.newServer(list, choices)
	if shape, known := k.shapes[s.shape]; known {
		s.shape = shape
	} else {
		k.shapes[s.shape] = s.shape
	}
	if len(k.file.Plan.Menu.Disaggregated) == 0 {
		return s // every combination is another
	}
	key := fmt.Sprintf("%p %+v %+v %+v %+v", s.offer, d.scenario.Parallelism, d.scenario.Engine,
		d.scenario.Batching, d.scenario.Memory)
	if way := d.scenario.Speculation; way != nil {
		key += fmt.Sprintf(" %+v", *way)
	}
	if known := k.known[key]; known != nil {
		return known
	}
	k.known[key] = s
	return s
}

// together lists the options in which replicas do both.
func (k *kinds) together() ([]*option, error) {
	m := &k.file.Plan.Menu
	list := m.dimensions(nil, nil)
	sizes := sizesOf(list)
	n, routes := combinations(sizes), max(1, len(m.Routing))
	if n*routes > mostOptions {
		return nil, tooMany(n * routes)
	}
	options := make([]*option, 0, n*routes)
	for i := range n {
		s := k.server(list, digits(i, sizes))
		for route := range routes {
			options = append(options, &option{prefill: s, prefills: 1, routing: route,
				gpus: s.gpus})
		}
	}
	return options, nil
}

// apart lists the options in which prompts are computed by replicas of their own. What both sides
// leave to the menu they have in common; it comes first, then the choices of each side and the
// numbers of replicas.
func (k *kinds) apart(split *Split) ([]*option, error) {
	m := &k.file.Plan.Menu
	prefill, decode := m.dimensions(&split.Prefill, &split.Decode), m.dimensions(&split.Decode,
		&split.Prefill)
	own := len(prefill) // where the choices of prefill replicas alone stand
	sizes := append(sizesOf(prefill), sizesOf(decode)...)
	for i, d := range prefill {
		if d.common {
			sizes[own+i] = 1
		}
	}
	sizes = append(sizes, split.Prefill.Replicas.size(), split.Decode.Replicas.size(),
		max(1, len(m.Routing)))
	n := combinations(sizes)
	if n > mostOptions {
		return nil, tooMany(n)
	}
	options := make([]*option, 0, n)
	servers := map[int]*server{}
	remembered := func(key int, list []dimension, choices []int) *server {
		if servers[key] == nil {
			servers[key] = k.server(list, choices)
		}
		return servers[key]
	}
	// options of a pair of servers
	each := sizes[len(sizes)-3] * sizes[len(sizes)-2] * sizes[len(sizes)-1]
	for i := range n {
		place := digits(i, sizes)
		first, second, rest := place[:own], place[own:2*own], place[2*own:]
		pair := i / each
		o := &option{
			prefill:  remembered(2*(pair/product(sizes[own:2*own])), prefill, first),
			prefills: split.Prefill.Replicas.From + rest[0], decodes: split.Decode.Replicas.From +
				rest[1], routing: rest[2],
		}
		for j, d := range decode {
			if d.common {
				second[j] = first[j]
			}
		}
		o.decode = remembered(2*pair+1, decode, second)
		o.gpus = o.prefills*o.prefill.gpus + o.decodes*o.decode.gpus
		options = append(options, o)
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

func sizesOf(list []dimension) []int {
	sizes := make([]int, len(list))
	for i, d := range list {
		sizes[i] = d.size
	}
	return sizes
}

// servers lists the kinds of replicas of an option.
func (o *option) servers() []*server {
	if o.decode == nil {
		return []*server{o.prefill}
	}
	return []*server{o.prefill, o.decode}
}

// sum adds up a figure of the replicas of an option, or of a group.
func (o *option) sum(of func(*server) float64) float64 {
	sum := float64(float64(o.prefills) * of(o.prefill))
	if o.decode != nil {
		sum += float64(float64(o.decodes) * of(o.decode))
	}
	return sum
}

// accelerators returns how many of an offer a replica or a group takes.
func (o *option) accelerators(offer *Offer) int {
	n := 0
	if o.prefill.offer == offer {
		n += o.prefills * o.prefill.gpus
	}
	if o.decode != nil && o.decode.offer == offer {
		n += o.decodes * o.decode.gpus
	}
	return n
}

// available reports whether there are accelerators for n replicas or groups.
func (o *option) available(n int) bool { return o.shortest(n) == nil }

// shortest returns an offer of which there are too few accelerators for n replicas or groups;
// nil where there are enough of all.
func (o *option) shortest(n int) *Offer {
	for _, s := range o.servers() {
		if s.offer.Count > 0 && n*o.accelerators(s.offer) > s.offer.Count {
			return s.offer
		}
	}
	return nil
}

// uses reports whether an option has accelerators of that name.
func (o *option) uses(accelerator string) bool {
	return slices.ContainsFunc(o.servers(),
		func(s *server) bool { return s.offer.Accelerator == accelerator })
}

// unfit says why the option cannot be built; empty where it can.
func (o *option) unfit() string {
	for _, s := range o.servers() {
		if s.unfit != "" {
			return s.unfit
		}
	}
	return o.distrust
}

// shape names accelerators and parallelism, by which options are grouped.
func (o *option) shape() string { return o.grouped((*server).shapeOf) }

// label names the option among those of the menu.
func (o *option) label(m *Menu) string {
	words := o.grouped((*server).label)
	if len(m.Routing) > 1 {
		words += ", " + settings(m.Routing[o.routing])
	}
	return words
}

// grouped names the servers of a group.
func (o *option) grouped(name func(*server) string) string {
	switch {
	case o.decode == nil:
		return name(o.prefill)
	case o.decode == o.prefill:
		return fmt.Sprintf("%dP+%dD of %s", o.prefills, o.decodes, name(o.prefill))
	}
	return fmt.Sprintf("%dP+%dD of %s and %s", o.prefills, o.decodes, name(o.prefill),
		name(o.decode))
}

// scenario returns n replicas or groups of the option, with steps that take slowdown times what is
// predicted.
func (o *option) scenario(m *Menu, n int, slowdown float64) scenarios.Scenario {
	s := o.prefill.asked()
	s.Engine.Slowdown = slowdown
	s.Routing = orNone(m.Routing)[o.routing]
	if o.decode == nil {
		if n > 1 {
			s.Replicas = n
		}
		return s
	}
	pools := []scenarios.Pool{{Role: "prefill", Replicas: n * o.prefills},
		{Role: "decode", Replicas: n * o.decodes}}
	if o.decode != o.prefill {
		for i, server := range o.servers() {
			own := server.asked()
			p := &pools[i]
			p.Hardware, p.Parallelism, p.Engine, p.Batching, p.Memory, p.Speculation = own.Hardware,
				own.Parallelism, own.Engine, own.Batching, own.Memory, own.Speculation
			p.Engine.Slowdown = slowdown
		}
	}
	s.Fleet.Pools = pools
	return s
}

// shapeOf returns the shape of a server.
func (s *server) shapeOf() string { return s.shape }

// plainShape reports whether replicas do both.
func plainShape(shape string) bool { return !strings.Contains(shape, "P+") }
