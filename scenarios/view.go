package scenarios

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/sim"
)

// view is the scenario as one kind of server sees it. The sections of its pool replace those at the
// top. Pools without sections of their own share a view.
type view struct {
	*notes
	registry *policies.Registry
	s        Scenario // as it was written
	own      string   // where the pool's own sections stand; empty where it has none
	label    string   // the pool's name, where there are others
}

// place is the place of a pool in the fleet.
type place struct {
	name string // empty where the scenario names no pools
	role sim.Role
	// The replicas of the pool have the numbers from first on.
	first, size int
	kind        int // the number of its view
}

// roleNames returns the names of sim.Mixed, sim.Prefill and sim.Decode in scenarios.
func roleNames() []string { return []string{"mixed", "prefill", "decode"} }

// layout holds the pools of a scenario and their views.
type layout struct {
	*notes
	pools  []Pool // with names and roles; none where the scenario names none
	places []place
	views  []*view
	// replicas is the number of replicas over all pools.
	replicas int
}

// layOut finds the pools of a scenario.
func layOut(n *notes, registry *policies.Registry) *layout {
	s := n.file.Scenario
	if len(s.Fleet.Pools) == 0 {
		size := cmp.Or(s.Replicas, 1)
		return &layout{
			notes: n, places: []place{{size: size}}, replicas: size,
			views: []*view{{notes: n, registry: registry, s: s}},
		}
	}
	l := &layout{notes: n, pools: slices.Clone(s.Fleet.Pools)}
	common := -1 // the view of the pools that have no sections of their own
	for i := range l.pools {
		p := &l.pools[i]
		p.Role = cmp.Or(p.Role, "mixed")
		p.Name = cmp.Or(p.Name, p.Role)
		field := fmt.Sprintf("fleet.pools.%d", i)
		if slices.ContainsFunc(l.pools[:i], func(other Pool) bool { return other.Name == p.Name }) {
			n.problem(field, "found a second pool called %s; give each a name of its own", p.Name)
		}
		number := common
		if seen, differs := p.over(s); differs || common < 0 {
			number = len(l.views)
			v := &view{notes: n, registry: registry, s: seen}
			if differs {
				v.own = field
			} else {
				common = number
			}
			if len(l.pools) > 1 {
				v.label = p.Name
			}
			l.views = append(l.views, v)
		}
		role := sim.Role(slices.Index(roleNames(), p.Role))
		l.places = append(l.places, place{p.Name, role, l.replicas, p.Replicas, number})
		l.replicas += p.Replicas
	}
	if given := s.Replicas; given > 0 && given != l.replicas {
		n.problem("replicas", "found %d, and fleet.pools have %d together; leave one of the "+
			"two out",
			given, l.replicas)
	}
	return l
}

// over returns the scenario as the pool sees it, and whether that differs from the one at the top.
func (p *Pool) over(s Scenario) (seen Scenario, differs bool) {
	for _, section := range sections(&s, p) {
		if own := section.pool; !own.IsZero() {
			section.top.Set(own)
			differs = true
		}
	}
	return s, differs
}

// section is a part of the scenario that both the top and a pool may have.
type section struct{ top, pool reflect.Value }

// sections lists the keys that a scenario and a pool have in common, apart from names and numbers.
func sections(s *Scenario, p *Pool) []section {
	top, own := reflect.ValueOf(s).Elem(), reflect.ValueOf(p).Elem()
	var list []section
	for i := range own.NumField() {
		name := own.Type().Field(i).Name
		same := top.FieldByName(name)
		if same.IsValid() && name != "Name" && name != "Replicas" {
			list = append(list, section{same, own.Field(i)})
		}
	}
	return list
}

// problem notes a problem with a field of the view. If several pools share the field, the problem
// is noted once, without the name of a pool.
func (v *view) problem(field, format string, args ...any) {
	p := v.file.doc.Problem(v.at(field), format, args...)
	for i, other := range v.problems {
		if other.Path == p.Path && strings.HasSuffix(other.Message, p.Message) {
			v.problems[i] = p
			return
		}
	}
	if v.label != "" {
		p.Message = "pool " + v.label + ": " + p.Message
	}
	v.problems = append(v.problems, p)
}

func (v *view) warn(format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	if v.label != "" {
		words = "pool " + v.label + ": " + words
	}
	v.addWarnings([]string{words})
}

// at returns the path of a field of the view in the scenario: in the pool, or at the top.
func (v *view) at(field string) string {
	if tier := v.s.Memory.tierField(field); tier != "" && !v.given(field) {
		field = tier
	}
	section, _, _ := strings.Cut(field, ".")
	if v.own != "" && v.file.given(v.own+"."+section) {
		return v.own + "." + field
	}
	return field
}

// given reports whether the pool or the top sets the field.
func (v *view) given(field string) bool {
	return v.own != "" && v.file.given(v.own+"."+field) || v.file.given(field)
}

// locate returns the path of a file that the view names.
func (v *view) locate(field, path string) string { return v.file.locate(v.at(field), path) }
