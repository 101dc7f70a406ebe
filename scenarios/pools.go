package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/scenarios/deployment"
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// view is a scenario as a pool sees it. It looks names up in catalogues and files, and reports a
// problem at the pool's own section where the pool has one, else at the top. Nothing writes to
// written.
type view struct {
	*notes
	written Scenario // the pool's own sections replace the top's
	section string   // where the pool's own sections stand; empty without its own sections
	label   string   // the pool's name, where there are others
}

// server describes the replicas of a pool: a model on accelerators, under policies. It
// is resolved in steps: lookUp, choosePolicies, planMemory, fit, startClock and startDrafting. A
// step reads what earlier ones set; each field is set by the step that its comment names.
type server struct {
	view
	registry *policies.Registry
	s        Scenario // written, completed by each step

	catalog hardware.Catalog // lookUp
	fitted  *Fitted          // lookUp; the deployment that predictions are fitted to, or nil
	twin    *evidence.Own    // planMemory; what fitted says of this server, or nil
	// Config is completed by all steps, Plan is set by planMemory and Clock by startClock.
	deployment.Server
	drafting   drafting          // choosePolicies
	unspread   deployment.Config // planMemory; Config before its parallelism is chosen
	ownContext int               // fit; in tokens, before compose bounds it by other pools
	declared   int               // fit; the longest context that users know of
	model      int               // compose; the number of the model, as sim.Request.Model has it
	// drafter predicts the time of drafting; nil if nothing is drafted. Set by startDrafting.
	drafter speculation.Drafter
}

// runSteps takes steps of resolving for all servers. All take a step before any takes the next one,
// and where a problem was noted no server takes another.
func (l *layout) runSteps(steps ...func(*server)) {
	for _, step := range steps {
		if len(l.problems) > 0 {
			return
		}
		for _, kind := range l.kinds {
			step(kind)
		}
	}
}

// drafting is speculative decoding with all that it names.
type drafting struct {
	written    Speculation // with its defaults
	acceptance speculation.Acceptance
	lengths    deployment.Choice[speculation.Lengths]
	// model runs once for each token in a row; nil if the method runs no model.
	model *models.Architecture
	// accelerator is the accelerator of a draft model.
	accelerator hardware.Accelerator
}

// place is the place of a pool in the fleet.
type place struct {
	name string // empty where the scenario names no pools
	role sim.Role
	// The replicas of the pool have the numbers from first on.
	first, size int
	kind        int // the number of its server
	maxPrompt   int // the longest prompt that comes to the pool, in tokens; 0 for any
	weight      float64
}

// roleNames returns the names of sim.Mixed, sim.Prefill and sim.Decode in scenarios.
func roleNames() []string { return []string{"mixed", "prefill", "decode"} }

// layout holds the pools of a scenario and their servers. Pools with the same settings share a
// server.
type layout struct {
	*notes
	named  []Pool // with names and roles; empty where the scenario does not name pools
	places []place
	kinds  []*server
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
			kinds: []*server{{view: view{notes: n, written: s}, registry: registry, s: s}},
		}
	}
	l := &layout{notes: n, named: slices.Clone(s.Fleet.Pools)}
	for i := range l.named {
		p := &l.named[i]
		p.Role = cmp.Or(p.Role, "mixed")
		p.Name = cmp.Or(p.Name, p.Role)
		field := fmt.Sprintf("fleet.pools.%d", i)
		if slices.ContainsFunc(l.named[:i],
			func(other Pool) bool { return other.Name == p.Name }) {
			n.problem(field, "found a second pool called %s; give each a name of its own", p.Name)
		}
		seen, differs := p.over(s)
		number := slices.IndexFunc(l.kinds,
			func(v *server) bool { return reflect.DeepEqual(v.written, seen) })
		if number < 0 {
			number = len(l.kinds)
			v := &server{view: view{notes: n, written: seen}, registry: registry, s: seen}
			if differs {
				v.section = field
			}
			if len(l.named) > 1 {
				v.label = p.Name
			}
			l.kinds = append(l.kinds, v)
		}
		role := sim.Role(slices.Index(roleNames(), p.Role))
		l.places = append(l.places,
			place{p.Name, role, l.replicas, p.Replicas, number, p.MaxPrompt, p.Weight})
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

// AsPools returns the pools of a scenario with all settings in them, so that they may stand in a
// scenario with other pools.
func (s Scenario) AsPools() []Pool {
	list := slices.Clone(s.Fleet.Pools)
	if list == nil {
		list = []Pool{{Replicas: cmp.Or(s.Replicas, 1)}}
	}
	for i := range list {
		for _, section := range sections(&s, &list[i]) {
			if section.pool.IsZero() {
				section.pool.Set(section.top)
			}
		}
	}
	return list
}

// section is a part of the scenario that both the top and a pool may have.
type section struct{ top, pool reflect.Value }

// asWritten returns the scenario's side as maps, lists and words, as it is written out: policies
// that are written alike differ in what they remember of their engines.
func (s section) asWritten() any {
	if s.top.Kind() == reflect.Pointer && s.top.IsNil() {
		return nil
	}
	plain, err := strict.Plain(s.top.Interface())
	if err != nil {
		return err // equal only to itself
	}
	return plain
}

// joinAlike gives one server to pools whose settings are the same now that all are resolved, as
// pools that are written alike have: with its defaults written out, a scenario is the same. What
// was noted of a server that goes was noted of the one that stays, too.
func (l *layout) joinAlike() {
	var kinds []*server
	numbers := make([]int, len(l.kinds))
	for i, v := range l.kinds {
		numbers[i] = slices.IndexFunc(kinds, v.alike)
		if numbers[i] < 0 {
			numbers[i] = len(kinds)
			kinds = append(kinds, v)
			continue
		}
		l.warnings = slices.DeleteFunc(l.warnings,
			func(words string) bool { return strings.HasPrefix(words, "pool "+v.label+": ") })
	}
	for i := range l.places {
		l.places[i].kind = numbers[l.places[i].kind]
	}
	l.kinds = kinds
}

// alike reports whether two servers have the same settings.
func (v *server) alike(other *server) bool {
	own, others := sections(&v.s, new(Pool)), sections(&other.s, new(Pool))
	for i := range own {
		if !reflect.DeepEqual(own[i].asWritten(), others[i].asWritten()) {
			return false
		}
	}
	return true
}

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

// problem notes a problem with a field of the server. If several pools share the field, the problem
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

// at returns the path of a field of the server in the scenario: in the pool, or at the top.
func (v *view) at(field string) string {
	if tier := v.written.Memory.tierField(field); tier != "" && !v.given(field) {
		field = tier
	}
	section, _, _ := strings.Cut(field, ".")
	if v.section != "" && v.file.given(v.section+"."+section) {
		return v.section + "." + field
	}
	return field
}

// given reports whether the pool or the top sets the field.
func (v *view) given(field string) bool {
	return v.section != "" && v.file.given(v.section+"."+field) || v.file.given(field)
}

// locate returns the path of a file that the server names.
func (v *view) locate(field, path string) string { return v.file.locate(v.at(field), path) }

// choose finds the policy of that name, or the family's first, and completes its parameters. If
// there is no such policy, it notes the problem, and the Policy of the result is nil. anywhere is a
// place that has everything that a policy may need; adjust may change settings.
func choose[T any](v *view, anywhere policies.Deployment, field string,
	family *policies.Family[T], to policySlot,
	adjust func(c *deployment.Choice[T])) deployment.Choice[T] {
	*to.policy = cmp.Or(*to.policy, family.Policies[0].Name)
	choice, err := deployment.Choose(family, *to.policy, *to.params)
	if choice.Policy == nil {
		v.problem(field+".policy", "%v", err)
		return choice
	}
	if err == nil {
		if adjust != nil {
			adjust(&choice)
		}
		to.fill(&choice)
		_, err = choice.Build(anywhere)
	}
	if err != nil {
		v.policyProblem(field, err)
		return deployment.Choice[T]{}
	}
	return choice
}

// policyProblem notes an error of a policy at the parameter that caused it.
func (v *view) policyProblem(field string, err error) {
	var parameter *policies.ParamError
	if errors.As(err, &parameter) {
		v.problem(field+"."+parameter.Name, "%s", parameter.Problem)
		return
	}
	v.problem(field, "%v", err)
}
