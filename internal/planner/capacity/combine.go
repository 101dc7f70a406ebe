package capacity

import (
	"fmt"

	"github.com/llmsim/llmsim/scenarios"
)

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
