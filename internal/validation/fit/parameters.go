package fit

import (
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
)

// scope says what a constant belongs to.
type scope string

const (
	accelerator scope = "accelerator"
	link        scope = "link"
	engine      scope = "engine"
	machine     scope = "machine"
	routing     scope = "routing"
)

// kind is what parameters of different owners have in common. A row depends on at most one
// parameter of a kind, so that all of them can be moved at once to see how the rows answer.
type kind struct {
	scope scope
	name  string
}

// isShare reports whether the kind is a share of the bandwidth, which belongs to a memory.
func (k kind) isShare() bool {
	return k.scope == accelerator && (k.name == "linear.memory" ||
		k.name == "attention.decode_memory" || strings.HasPrefix(k.name, "experts.memory"))
}

// parameter is a constant of one accelerator, link or engine, and of the accelerators that are like
// it and state no such constant themselves. It is fitted in logarithms.
type parameter struct {
	kind
	owner string
	// owners are all that have the constant: owner, and the ones that are like it.
	owners []string
	// counts is what the constant counts, and of the class of owners that is believed to be alike,
	// as in the table.
	counts, of string
	// centre and deviation belong to the logarithm, as it is believed without measurements.
	centre, deviation float64
	// believed and spread are the centre and the deviation before constants of one kind are
	// pooled; least and most bound the logarithm.
	believed, spread, least, most float64
	get                           func(*values) float64
	set                           func(*values, float64)
}

// reference is the accelerator whose hosts are the measure of others.
const reference = "h100-sxm"

// parameters lists what can be fitted of the shipped constants: the ones that are not zero, of the
// given owners, or of all where no owner is given. An owner without constants is an error.
func parameters(shipped *values, owners []string) ([]parameter, error) {
	list := parametersOf(accelerator, shipped.accelerators,
		func(v *values) map[string]hardware.Constants { return v.accelerators },
		sharing(shipped.accelerators, func(c hardware.Constants) string { return c.Like },
			hardware.Stated))
	list = append(list, parametersOf(link, shipped.links,
		func(v *values) map[string]hardware.Collective { return v.links },
		sharing(shipped.links, func(c hardware.Collective) string { return c.Like },
			hardware.StatedLink))...)
	list = append(list, parametersOf(engine, shipped.engines,
		func(v *values) map[string]steptime.Engine { return v.engines }, alone)...)
	list = append(list, parametersOf(machine, shipped.machines,
		func(v *values) map[string]machineHost { return v.machines }, alone)...)
	list = append(list, parametersOf(routing, shipped.routing,
		func(v *values) map[string]models.Routing { return v.routing }, alone)...)
	for _, owner := range owners {
		if !slices.ContainsFunc(list, func(p parameter) bool { return p.owner == owner }) {
			return nil, fmt.Errorf("no constants of %q, found those of %s", owner,
				strings.Join(ownersOf(list), ", "))
		}
	}
	return slices.DeleteFunc(list, func(p parameter) bool {
		return len(owners) > 0 && !slices.Contains(owners, p.owner) ||
			p.owner == reference && p.name == "host"
	}), nil
}

// ownersOf returns the engines, accelerators and links that parameters belong to, each once.
func ownersOf(list []parameter) []string {
	var owners []string
	for i := range list {
		owners = append(owners, list[i].owner)
	}
	slices.Sort(owners)
	return slices.Compact(owners)
}

// sharing returns what lists the owners that have a constant of one of them: itself and the ones
// that are like it; nil where it has another's itself. Stated returns what an owner's file states.
func sharing[T any](all map[string]T, like func(T) string, stated func(string) T) func(string,
	*constant) []string {
	stating := func(name string, c *constant) string {
		for {
			other := like(all[name])
			if _, known := all[other]; !known {
				return name
			}
			if own := stated(name); read(&own, c.path()) != 0 {
				return name
			}
			name = other
		}
	}
	return func(name string, c *constant) []string {
		if stating(name, c) != name {
			return nil
		}
		return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(other string) bool {
			return stating(other, c) != name
		})
	}
}

// alone says that an owner shares no constant.
func alone(name string, _ *constant) []string { return []string{name} }

// parametersOf lists the parameters of a scope, where sharing returns the owners that have a
// constant of one of them.
func parametersOf[T any](s scope, shipped map[string]T, in func(*values) map[string]T,
	sharing func(owner string, c *constant) []string) []parameter {
	var list []parameter
	for _, owner := range slices.Sorted(maps.Keys(shipped)) {
		start := shipped[owner]
		for _, c := range constantsOf(s, &start) {
			owners := sharing(owner, &c)
			if c.get(&start) == 0 || len(owners) == 0 {
				continue
			}
			centre, deviation := math.Log(c.Low*c.High)/2, math.Log(c.High/c.Low)/4
			list = append(list, parameter{
				kind: kind{s, c.Name}, owner: owner, owners: owners, counts: c.Counts, of: c.Of,
				centre: centre, deviation: deviation, believed: centre, spread: deviation,
				least: centre - 3*deviation, most: math.Log(c.High),
				get: func(v *values) float64 { t := in(v)[owner]; return c.get(&t) },
				set: func(v *values, x float64) {
					for _, name := range owners {
						t := in(v)[name]
						c.set(&t, x)
						in(v)[name] = t
					}
				},
			})
		}
	}
	return list
}

// point is a value of every parameter, in logarithms.
type point []float64

func (p *problem) pointOf(v *values) point {
	x := make(point, len(p.parameters))
	for i := range p.parameters {
		x[i] = p.within(i, math.Log(p.parameters[i].get(v)))
	}
	return x
}

// within keeps a parameter in its bounds: at most three deviations below what is believed, and what
// hardware can do above it.
func (p *problem) within(i int, x float64) float64 {
	return min(max(x, p.parameters[i].least), p.parameters[i].most)
}

// pooled is the number of owners from which on constants of a kind are pooled.
const pooled = 3

// pool moves what is believed of each constant of a kind to where the constants of all its owners
// of a class lie, with the deviation that they have there; what was believed before counts as one
// more owner (Gelman et al., "Bayesian Data Analysis", 3rd edition, section 5.4, with the moments
// of the estimates).
func (p *problem) pool(x point) {
	type class struct {
		kind
		of string
	}
	members := map[class][]int{}
	for j := range p.parameters {
		c := class{p.parameters[j].kind, p.parameters[j].of}
		members[c] = append(members[c], j)
	}
	for c, list := range members {
		if len(list) < pooled || c.scope == machine {
			continue
		}
		mean := p.parameters[list[0]].believed
		for _, j := range list {
			mean += x[j]
		}
		mean /= float64(len(list) + 1)
		p.spread(x, list, func(int) float64 { return mean })
	}
	p.poolHosts(x)
}

// spread gives parameters of one class their centres, and the deviation that they have from these;
// the deviation before counts as one more. It returns the deviation.
func (p *problem) spread(x point, list []int, centre func(j int) float64) float64 {
	believed := p.parameters[list[0]].spread
	squares := believed * believed
	for _, j := range list {
		squares += (x[j] - centre(j)) * (x[j] - centre(j))
	}
	deviation := min(believed, max(believed/3, math.Sqrt(squares/float64(len(list)+1))))
	for _, j := range list {
		p.parameters[j].centre, p.parameters[j].deviation = centre(j), deviation
	}
	return deviation
}

// poolHosts believes that the host of a machine is as far from the accelerator's as machines are,
// whose deviation it estimates; and that the accelerator's host, which is the typical one of its
// machines, is where these lie beside the hosts of other accelerators.
func (p *problem) poolHosts(x point) {
	typical := map[string]int{}
	for j := range p.parameters {
		if q := &p.parameters[j]; q.scope == accelerator && q.name == "host" {
			for _, owner := range q.owners {
				typical[owner] = j
			}
		}
	}
	var machines []int
	of := map[int][]int{} // machines by the place of their accelerator's host
	for j := range p.parameters {
		if q := &p.parameters[j]; q.scope == machine {
			machines = append(machines, j)
			if k, ok := typical[p.accelerators[path.Base(q.owner)]]; ok {
				of[k] = append(of[k], j)
			}
		}
	}
	if len(machines) < pooled {
		return
	}
	centre := map[int]float64{} // the reference's is 1, and its logarithm 0
	for k, list := range of {
		for _, j := range list {
			centre[j] = x[k]
		}
	}
	p.hosts = p.spread(x, machines, func(j int) float64 { return centre[j] })
	for k, list := range of {
		q := &p.parameters[k]
		own, each := 1/(q.deviation*q.deviation), 1/(p.hosts*p.hosts)
		sum, weight := own*q.centre, own
		for _, j := range list {
			sum, weight = sum+each*x[j], weight+each
		}
		q.centre, q.deviation = sum/weight, 1/math.Sqrt(weight)
	}
}

// valuesAt returns the constants at x.
func (p *problem) valuesAt(x point) *values {
	v := p.shipped.clone()
	for i := range p.parameters {
		p.parameters[i].set(v, math.Exp(x[i]))
	}
	return v
}
