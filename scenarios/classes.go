package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/arrivals"
	"github.com/llmsim/llmsim/workload/lengths"
)

// promise fills in the SLO of each class, and who the tenants are.
func (f *fleetBuilder) promise() {
	f.s.SLO.Check("slo", f.problem)
	f.s.SLO.complete()
	classes := f.s.Workload.Classes
	told := slices.ContainsFunc(classes, func(c Class) bool { return c.Tenant != "" })
	names := make(map[string]bool, len(classes))
	for i := range classes {
		c := &classes[i]
		if names[c.Name] {
			f.problem(fmt.Sprintf("workload.classes.%d.name", i), "found a second class called %s; give each a name of its own", c.Name)
		}
		names[c.Name] = true
		if c.SLO == (SLO{}) {
			c.SLO = f.s.SLO.WithoutGaps()
		} else {
			field := fmt.Sprintf("workload.classes.%d.slo", i)
			c.SLO.Check(field, f.problem)
			if c.SLO.ITL != (Limits{}) {
				f.problem(field+".itl", "gaps between tokens are not kept by class; limit them in the slo of the scenario")
			}
			c.SLO.complete()
		}
		c.Patience = orDefault(c.Patience, f.s.Workload.Patience)
		if told {
			c.Tenant = orDefault(c.Tenant, "default")
			if _, known := f.tenant[c.Tenant]; !known {
				f.tenant[c.Tenant] = len(f.tenants)
				f.tenants = append(f.tenants, c.Tenant)
			}
		}
	}
}

// metrics returns what to collect.
func (f *fleetBuilder) metrics() metrics.Config {
	c := metrics.Config{SLO: f.s.SLO.limits(), Tenants: f.tenants}
	for i := range f.s.Workload.Classes {
		class := &f.s.Workload.Classes[i]
		c.Classes = append(c.Classes, metrics.Class{Name: class.Name, SLO: class.SLO.limits(), Tenant: f.tenant[class.Tenant]})
	}
	return c
}

// classes returns the kinds of requests, one where the scenario names none.
func (f *fleetBuilder) classes() []workload.Class {
	w := &f.s.Workload
	if len(w.Classes) == 0 {
		anonymous := f.anonymous()
		class := f.class("workload", &anonymous)
		w.Prompt, w.Output = anonymous.Prompt, anonymous.Output
		return []workload.Class{class}
	}
	list := make([]workload.Class, len(w.Classes))
	for i := range w.Classes {
		class, field := &w.Classes[i], fmt.Sprintf("workload.classes.%d", i)
		class.Prompt = orDefault(class.Prompt, w.Prompt)
		class.Output = orDefault(class.Output, w.Output)
		class.Prefix = orDefault(class.Prefix, w.Prefix)
		class.Distinct = orDefault(class.Distinct, w.Distinct)
		class.Sessions = orDefault(class.Sessions, w.Sessions)
		process := f.ownArrivals(field, class)
		list[i] = f.class(field, class)
		list[i].Arrivals = process
	}
	w.Prompt, w.Output, w.Prefix, w.Distinct, w.Sessions, w.Patience = Length{}, Length{}, nil, 0, nil, 0
	return list
}

// anonymous returns the only class of a scenario that names none.
func (f *fleetBuilder) anonymous() Class {
	w := &f.s.Workload
	return Class{Share: 1, Prompt: w.Prompt, Output: w.Output, Prefix: w.Prefix, Distinct: w.Distinct, Sessions: w.Sessions, Patience: w.Patience, SLO: f.s.SLO}
}

// ownArrivals returns the process of a class with a rate of its own; nil where it has a share of the others.
func (f *fleetBuilder) ownArrivals(field string, c *Class) *arrivals.Process {
	if !f.file.given(field + ".rate") {
		if f.file.given(field + ".arrivals") {
			f.problem(field+".arrivals", "has no meaning without a rate of the class; give it one, or leave arrivals to the workload")
		}
		c.Share = orDefault(c.Share, 1)
		return nil
	}
	a := &c.Arrivals
	a.Process = orDefault(a.Process, "poisson")
	switch {
	case f.file.given(field + ".share"):
		f.problem(field+".share", "has no meaning beside a rate of the class; leave one of the two out")
	case a.Process == "closed-loop" || a.Process == "at-once":
		f.problem(field+".arrivals", "found %s; allowed for the workload as a whole. A class has a rate", a.Process)
		return nil
	}
	c.Rate.complete()
	process := a.process(&c.Rate)
	return &process
}

// class turns one kind of requests into what the workload package draws from; field is where it stands.
func (f *fleetBuilder) class(field string, c *Class) workload.Class {
	traits := f.traits(field, c)
	longest := f.context(traits.Model)
	c.Prompt.complete(defaultPrompt(), longest)
	c.Output.complete(defaultOutput(), longest)
	drawn := workload.Class{
		Name: c.Name, Weight: orDefault(c.Share, 1), Traits: traits, Distinct: c.Distinct,
		Prompt: f.lengths(field+".prompt", &c.Prompt),
		Output: f.lengths(field+".output", &c.Output),
	}
	if c.Prefix != nil {
		c.Prefix.Tokens.complete(Length{}, longest)
		drawn.Prefix = &workload.Prefix{Groups: c.Prefix.Groups, Tokens: f.lengths(field+".prefix.tokens", &c.Prefix.Tokens), Zipf: c.Prefix.Zipf}
	}
	if c.Sessions != nil {
		c.Sessions.Turns.complete(Length{}, maxTurns)
		drawn.Turns = &workload.Turns{Count: f.lengths(field+".sessions.turns", &c.Sessions.Turns), Think: c.Sessions.Think.delay(), MaxContext: longest}
	}
	f.checkContext(field, drawn)
	return drawn
}

// traits returns what the requests of a class carry.
func (f *fleetBuilder) traits(field string, c *Class) workload.Traits {
	return workload.Traits{
		Priority: c.Priority, Tenant: f.tenant[c.Tenant], Model: f.served(field, c),
		Deadline: sim.Time(orDefault(c.Deadline, c.SLO.E2E.Strictest())), TTFT: sim.Time(c.SLO.TTFT.Strictest()), Patience: sim.Time(c.Patience),
	}
}

// traceTraits returns what the requests of a trace carry, by class.
func (f *fleetBuilder) traceTraits() []workload.Traits {
	w := &f.s.Workload
	if len(w.Classes) == 0 {
		anonymous := f.anonymous()
		return []workload.Traits{f.traits("workload", &anonymous)}
	}
	list := make([]workload.Traits, len(w.Classes))
	for i := range w.Classes {
		field := fmt.Sprintf("workload.classes.%d", i)
		if f.file.given(field + ".rate") {
			f.problem(field+".rate", "has no meaning beside a trace, which tells what requests ask for; leave one of the two out")
		}
		if w.Classes[i].Trace != nil {
			f.problem(field+".trace", "has no meaning beside a trace of the workload; leave one of the two out")
		}
		list[i] = f.traits(field, &w.Classes[i])
	}
	return list
}

// maxTurns bounds a distribution of turns that has no bound of its own.
const maxTurns = 1000

// served returns the number of the model that a class asks for, which may be left out where the fleet serves one.
func (f *fleetBuilder) served(field string, c *Class) int {
	if c.Model == "" && len(f.models) == 1 {
		return 0
	}
	names := slices.Clone(f.models)
	for i := range f.pools {
		p := &f.pools[i]
		if c.Model == p.Model.Name || c.Model == p.s.Model {
			return p.serves
		}
		names = append(names, p.s.Model)
	}
	slices.Sort(names)
	switch {
	case c.Model != "":
		f.problem(field+".model", "no pool serves it: %s", nearest.Unknown("model", c.Model, slices.Compact(names)))
	case len(f.s.Workload.Classes) == 0:
		f.problem("workload", "the fleet serves %s; give it classes, each with the model that it asks for", strings.Join(f.models, " and "))
	default:
		f.problem(field+".model", "the fleet serves %s; say which of them is asked for", strings.Join(f.models, " and "))
	}
	return 0
}

// context returns the longest context with which a model is served.
func (f *fleetBuilder) context(model int) int { return f.serving(model)[0].s.Engine.MaxModelLen }

// leastContext returns the longest context with which every model is served.
func (f *fleetBuilder) leastContext() int {
	least := f.context(0)
	for model := range f.models {
		least = min(least, f.context(model))
	}
	return least
}

// checkContext refuses requests that are too long even at their shortest.
func (f *fleetBuilder) checkContext(field string, c workload.Class) {
	if c.Prompt == nil || c.Output == nil || c.Prefix != nil && c.Prefix.Tokens == nil {
		return // the problem is noted already
	}
	shortest := c.Prompt.Min() + c.Output.Min()
	if c.Prefix != nil {
		shortest += c.Prefix.Tokens.Min()
	}
	if most := f.context(c.Model); shortest > most {
		f.problem(field+".prompt", "prompt and output are %d tokens or more together; %s is served with contexts of at most %d (engine.max-model-len)", shortest, f.models[c.Model], most)
	}
}

// maxLengthEntries bounds the tables of all distributions of lengths together, to some 400 MB.
const maxLengthEntries = 1 << 24

// lengths returns the distribution that l describes; classes with the same description share one.
func (f *fleetBuilder) lengths(field string, l *Length) *lengths.Distribution {
	copied := *l
	copied.File = f.locate(field+".file", l.File)
	if d := f.distributions[copied]; d != nil {
		return d
	}
	if f.lengthEntries += max(copied.Max-copied.Min+1, 1); f.lengthEntries > maxLengthEntries {
		f.problem(field, "the distributions of lengths up to this one have more than %d lengths to draw from; "+
			"narrow them by min and max, or give several classes the same", maxLengthEntries)
		return nil
	}
	d, err := copied.distribution(f.file.files())
	if err != nil {
		f.problem(field, "%v", plainPathError(err))
		return nil
	}
	f.distributions[copied] = d
	return d
}
