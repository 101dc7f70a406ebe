package scenarios

import (
	"cmp"
	_ "embed"
	"fmt"
	"reflect"
	"slices"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload"
	"github.com/llmsim/llmsim/workload/arrivals"
)

// setObjectives fills in the SLO and the patience of each class, and lists the tenants.
func (d *demand) setObjectives() {
	classes, names := d.workload.Classes, map[string]bool{}
	named := slices.ContainsFunc(classes, func(c Class) bool { return c.Tenant != "" })
	for i := range classes {
		c := &classes[i]
		field := fmt.Sprintf("workload.classes.%d", i)
		if names[c.Name] {
			d.problem(field+".name", "found a second class called %s; give each a name of its own",
				c.Name)
		}
		names[c.Name] = true
		c.SLO = d.classSLO(field+".slo", c.SLO)
		c.Patience = cmp.Or(c.Patience, d.workload.Patience)
		if named {
			c.Tenant = cmp.Or(c.Tenant, "default")
			if _, known := d.tenant[c.Tenant]; !known {
				d.tenant[c.Tenant] = len(d.tenants)
				d.tenants = append(d.tenants, c.Tenant)
			}
		}
	}
}

// classSLO returns the SLO of a class, or the SLO of all requests if the class does not have its
// own.
func (d *demand) classSLO(field string, own SLO) SLO {
	if own == (SLO{}) {
		return d.slo.WithoutGaps()
	}
	own.Check(field, d.problem)
	if own.ITL != (Limits{}) {
		d.problem(field+".itl",
			"gaps between tokens are not kept by class; limit them in the slo of the scenario")
	}
	own = own.Complete()
	if d.workload.Whole {
		own.TPOT = Limits{} // which the default one has
	}
	return own
}

// classes returns the kinds of requests. There is one kind if the scenario does not name classes.
func (d *demand) classes() []workload.Class {
	w := &d.workload
	if len(w.Classes) == 0 {
		only := d.preset("workload.preset", w.Preset, d.soleClass())
		drawn := d.class("workload", &only)
		w.RequestKeys, w.SessionKeys = only.RequestKeys, only.SessionKeys
		return []workload.Class{drawn}
	}
	var list []workload.Class
	for i := range w.Classes {
		class, field := &w.Classes[i], fmt.Sprintf("workload.classes.%d", i)
		if d.addEscalation(field, i) {
			continue
		}
		*class = d.preset(field+".preset", class.Preset, *class)
		own := class.Preset
		inherit(&class.RequestKeys, w.RequestKeys)
		inherit(&class.SessionKeys, w.SessionKeys)
		if own == "" {
			*class = d.preset("workload.preset", w.Preset, *class)
		}
		process := d.ownArrivals(field, class)
		drawn := d.class(field, class)
		drawn.Arrivals = process
		list = append(list, drawn)
	}
	d.clearRequestKeys()
	w.Patience = Patience{}
	return list
}

// clearRequestKeys empties what describes each request, where classes or a trace have it.
func (d *demand) clearRequestKeys() {
	w := &d.workload
	w.RequestKeys, w.SessionKeys = RequestKeys{}, SessionKeys{}
}

// inherit sets the keys that are not given to those around them.
func inherit[Keys any](own *Keys, around Keys) {
	v, w := reflect.ValueOf(own).Elem(), reflect.ValueOf(around)
	for i := range v.NumField() {
		if f := v.Field(i); f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0 {
			f.Set(w.Field(i))
		}
	}
}

// soleClass returns the only class of a scenario that does not name classes.
func (d *demand) soleClass() Class {
	w := &d.workload
	return Class{Share: 1, RequestKeys: w.RequestKeys, SessionKeys: w.SessionKeys,
		Patience: w.Patience, SLO: d.slo}
}

// ownArrivals returns the process of a class with a rate of its own, or nil if the class has a
// share of the common rate.
func (d *demand) ownArrivals(field string, c *Class) *arrivals.Process {
	if !d.file.given(field + ".rate") {
		if d.file.given(field + ".arrivals") {
			d.problem(field+".arrivals",
				"has no meaning without a rate of the class; give it one, or leave arrivals to "+
					"the workload")
		}
		c.Share = cmp.Or(c.Share, 1)
		return nil
	}
	a := &c.Arrivals
	a.Process = cmp.Or(a.Process, "poisson")
	switch {
	case d.file.given(field + ".share"):
		d.problem(field+".share",
			"has no meaning beside a rate of the class; leave one of the two out")
	case a.Process == "closed-loop" || a.Process == "at-once":
		d.problem(field+".arrivals",
			"found %s; allowed for the workload as a whole. A class has a rate", a.Process)
		return nil
	}
	c.Rate.complete()
	process := a.process(&c.Rate)
	return &process
}

// class returns one kind of requests in the form of the workload package; field is its place in the
// scenario.
func (d *demand) class(field string, c *Class) workload.Class {
	traits := d.traits(field, c)
	longest := d.fleet.declared(traits.Model)
	if len(c.Calls) > 0 {
		return d.classOfCalls(field, c, traits, longest)
	}
	c.Prompt.complete(defaultPrompt(), longest)
	c.Output.complete(defaultOutput(), longest)
	drawn := workload.Class{
		Name: c.Name, Weight: cmp.Or(c.Share, 1), Traits: traits, Distinct: c.Distinct,
		Samples: c.Samples, BeamStep: c.BeamStep,
		Prompt: d.lengths(field+".prompt", &c.Prompt),
		Output: d.lengths(field+".output", &c.Output),
	}
	drawn.Prefix = d.prefix(field+".prefix", c, longest)
	if c.Sessions != nil {
		sessions := *c.Sessions
		drawn.Turns = d.sessions(field+".sessions", &sessions, longest,
			d.fleet.context(traits.Model))
		c.Sessions = &sessions
	}
	d.checkContext(field, drawn)
	return drawn
}

// checkContext refuses requests that are too long even at their shortest.
func (d *demand) checkContext(field string, c workload.Class) {
	if c.Prompt == nil || c.Output == nil || c.Prefix != nil && c.Prefix.Tokens == nil {
		return // the problem is noted already
	}
	shortest := c.Prompt.Min() + c.Output.Min()
	if c.Prefix != nil {
		shortest += c.Prefix.Tokens.Min()
	}
	name, most := d.fleet.models[c.Model], d.fleet.declared(c.Model)
	if shortest > most {
		d.problem(field+".prompt",
			"prompt and output are %d tokens or more together; %s is served with "+
				"contexts of at most %d (engine.max-model-len)", shortest, name, most)
	} else if held := d.fleet.context(c.Model); shortest > held {
		d.problem("memory", "the KV cache of %s holds %d tokens; %s.prompt and .output are %d or "+
			"more together. Raise memory.utilization or parallelism.tensor", name, held, field,
			shortest)
	}
}

// addEscalation reports whether the requests of class i are another class's requests that are sent
// on. Then it notes where they come from.
func (d *demand) addEscalation(field string, i int) bool {
	list := d.workload.Classes
	c := &list[i]
	switch {
	case c.Escalated == nil && len(d.config.Escalations) > 0:
		d.problem(field, "found after a class with escalated; put classes that users send first")
		return false
	case c.Escalated == nil:
		return false
	}
	for _, key := range []string{"share", "rate", "arrivals", "preset", "prompt", "output",
		"prefix", "distinct", "samples", "beam-step", "sessions", "calls", "trace"} {
		if d.file.given(field + "." + key) {
			d.problem(field+"."+key, "has no meaning for a class with escalated, whose requests "+
				"are those of %s; leave it out", c.Escalated.From)
		}
	}
	if process := d.workload.Arrivals.Process; process == "closed-loop" {
		d.problem(field+".escalated", "found users in a closed loop, who wait for one answer; "+
			"allowed: requests that arrive over time")
	}
	from := -1
	var names []string
	for k := range list[:i] {
		names = append(names, list[k].Name)
		if list[k].Name == c.Escalated.From {
			from = k
		}
	}
	if from < 0 {
		d.problem(field+".escalated.from", "no class before this one: %s",
			nearest.Unknown("class", c.Escalated.From, names))
		return true
	}
	if of := &list[from]; of.Sessions != nil || len(of.Calls) > 0 || of.Samples > 1 {
		d.problem(field+".escalated.from", "found %s, whose requests belong to sessions; allowed: "+
			"requests by themselves", of.Name)
	}
	d.config.Escalations = append(d.config.Escalations, workload.Escalation{Name: c.Name,
		From: from, Share: c.Escalated.Share, Traits: d.traits(field, c)})
	return true
}

//go:embed presets.yaml
var shippedPresets []byte

// Preset describes the requests of a common kind.
type Preset struct {
	Name   string `json:"name" required:"true"`
	Source string `json:"source" required:"true"`
	RequestKeys
	SessionKeys
}

// Presets lists the values of workload.preset.
func Presets() ([]Preset, error) {
	var list struct {
		Presets []Preset `json:"presets" required:"true"`
	}
	doc, err := strict.Parse("presets.yaml", shippedPresets)
	if err == nil {
		err = doc.Decode(&list)
	}
	return list.Presets, err
}

// preset returns the requests of the given kind, with the keys that are given in their place.
func (d *demand) preset(field, name string, given Class) Class {
	if name == "" {
		return given
	}
	presets, err := Presets()
	if err != nil {
		d.problem(field, "%v", err)
	}
	for _, p := range presets {
		if p.Name != name {
			continue
		}
		inherit(&given.RequestKeys, p.RequestKeys)
		if given.Distinct == 0 {
			inherit(&given.SessionKeys, p.SessionKeys)
		}
		return given
	}
	return given // the name is one of the enumeration of the key
}

// traits returns the traits of the requests of a class.
func (d *demand) traits(field string, c *Class) workload.Traits {
	p := &c.Patience
	waits := (&Delay{p.Mean, p.Distribution, p.CV}).delay()
	return workload.Traits{
		Priority: c.Priority, Tenant: d.tenant[c.Tenant], Model: d.modelOf(field, c),
		Deadline: sim.Time(cmp.Or(c.Deadline, c.SLO.E2E.Strictest())),
		TTFT:     sim.Time(c.SLO.TTFT.Strictest()),
		Patience: waits.Mean, PatienceShape: waits.Shape, AfterFirst: p.From == "first-token",
		Whole: d.workload.Whole, Region: d.fleet.regionOf(field+".region", c.Region),
	}
}
