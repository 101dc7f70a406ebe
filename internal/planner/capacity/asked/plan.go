// Package asked holds what a plan asks for: the file as it was written, the load with the work of
// its requests, the parts of its SLO, the goal, and what there is to choose from. Nothing here
// knows of simulations or of a search.
package asked

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Plan is the content of a plan file. The tags of its fields describe the keys.
type Plan struct {
	Name        string                 `json:"name,omitempty" jsonschema:"The name of the plan in reports."`
	Models      []Service              `json:"models,omitempty" jsonschema:"Several models instead of one, each with its own workload and SLO. The answer has the fleets that cost the least together."`
	Model       string                 `json:"model,omitempty" jsonschema:"The model, as in a scenario."`
	MaxModelLen int                    `json:"max-model-len,omitempty" min:"2" jsonschema:"The most tokens of a prompt and its answer together, as in a scenario's engine."`
	Engine      scenarios.Engine       `json:"engine,omitzero" jsonschema:"Settings of the engine, as in a scenario: its deployment, factors and times. Presets, number formats and max-model-len have keys of their own."`
	Workload    scenarios.Workload     `json:"workload,omitzero" jsonschema:"The requests, as in a scenario. The whole fleet must serve it."`
	SLO         scenarios.SLO          `json:"slo,omitzero" jsonschema:"The SLO, as in a scenario."`
	Job         *Job                   `json:"job,omitempty" jsonschema:"Requests that all wait at the start and must be answered within a time, instead of requests that arrive over time."`
	Goal        Goal                   `json:"goal,omitzero" jsonschema:"What to look for. Default: the cheapest fleet that keeps the SLO."`
	Menu        Menu                   `json:"menu,omitzero" jsonschema:"The parts from which the fleet is chosen."`
	Prices      string                 `json:"prices,omitempty" jsonschema:"A file with a date and the prices of accelerators by region and term. An accelerator of the menu without a price stands for all its offers in this file."`
	Mix         bool                   `json:"mix-providers,omitempty" jsonschema:"Whether one fleet may have accelerators of several providers. Default: false."`
	Tokens      *scenarios.TokenPrices `json:"tokens,omitempty" jsonschema:"The price at which a million tokens are sold, or cost with a provider. The answer then says what the tokens of an hour are worth. Default: that of the price file."`
	Fleet       Fleet                  `json:"fleet,omitzero" jsonschema:"Failures and growth that the fleet must be ready for."`
	Horizon     *Horizon               `json:"horizon,omitempty" jsonschema:"Months in which the load grows. The answer then says what to rent, and when."`
	Effort      Effort                 `json:"effort,omitzero" jsonschema:"How long and how carefully to simulate."`
	Trust       string                 `json:"trust,omitempty" enum:"any,distant,relative,measured" jsonschema:"The least evidence on which an option may win: measured (a similar server was measured), relative (a relative of it was, and its model and its accelerator), distant (one further off), or any. Default: any."`
	Seed        uint64                 `json:"seed,omitempty" jsonschema:"The seed of the random numbers."`

	// Currency is the currency of all prices of the plan once it is priced.
	Currency units.Currency `json:"-"`

	// SentOn says where the requests come from, if another model has them first.
	SentOn string `json:"-"`
	// OneOf reports whether the plan is of one of several models.
	OneOf bool `json:"-"`

	priced   string // the price file in words; may be empty
	exchange []Exchange
}

// Service is one of several models.
type Service struct {
	Name        string             `json:"name,omitempty" jsonschema:"The name of this part of the answer. Default: the model."`
	Model       string             `json:"model" required:"true" jsonschema:"The model, as in a scenario."`
	MaxModelLen int                `json:"max-model-len,omitempty" min:"2" jsonschema:"The most tokens of a prompt and its answer together, as in a scenario's engine."`
	Workload    scenarios.Workload `json:"workload,omitzero" jsonschema:"The requests, as in a scenario. Required, unless the model has escalated."`
	SLO         scenarios.SLO      `json:"slo,omitzero" jsonschema:"The SLO, as in a scenario."`

	Escalated *scenarios.Escalated `json:"escalated,omitempty" jsonschema:"The model before this one whose requests are sent on to this one after their answer, and the share of them. They take the place of a workload."`
}

// Fleet says for which failures and growth the fleet must be ready.
type Fleet struct {
	Spare       int     `json:"spare,omitempty" min:"0" max:"1000" jsonschema:"The number of replicas that may fail while the rest meets the SLO: 1 for N+1. Default: 0."`
	Growth      float64 `json:"growth,omitempty" above:"0" max:"1000" jsonschema:"A factor by which the rate will grow, such as 2. The answer also gives the fleet for the larger rate."`
	Autoscaling bool    `json:"autoscaling,omitempty" jsonschema:"Has no effect: menu.scaling simulates fleets whose replicas start and stop with the load."`
}

// Effort says how carefully to simulate.
type Effort struct {
	Level        string  `json:"level,omitempty" enum:"first,normal" jsonschema:"How far to look. first: the cheapest fleet at the settings of the menu, and how sure it is. normal: also settings beside the menu's, ratios of groups, other fleets, other inputs and what is worth measuring. Default: normal."`
	Refine       int64   `json:"refine,omitempty" min:"1" jsonschema:"The most requests that are simulated after the first answer, before the last of its parts begins: settings beside the menu's for each kind of replica, ratios of groups, other inputs and what is worth measuring. The answer says what was left out. Default: no bound."`
	Requests     int64   `json:"requests,omitempty" min:"100" jsonschema:"Requests of the first simulation at a rate. Default: 1000."`
	MostRequests int64   `json:"most-requests,omitempty" min:"100" jsonschema:"Requests of the longest simulation at a rate. A simulation is doubled in length up to this, until it is clear whether enough requests meet the SLO. Default: 16000."`
	Checks       int     `json:"checks,omitempty" min:"1" jsonschema:"With menu.scaling: how many simulations the search may spend on fleets that were left out by rules that are not proven. Default: one for every 16 of the search, and at least 8."`
	Confidence   float64 `json:"confidence,omitempty" above:"0" below:"1" jsonschema:"The confidence of the decision whether a rate is sustained. Default: 0.95."`
}

// firstRequests is the length of the first simulation at a rate, unless a plan says otherwise.
const firstRequests = 1000

// PricesFrom names the price file, its date and its source; it may be empty.
func (p *Plan) PricesFrom() string { return p.priced }

// Tunes reports whether settings beside the menu's are tried.
func (p *Plan) Tunes() bool { return p.Menu.Tune != "none" && !p.FirstAnswer() }

// FirstAnswer reports whether only the fleet of the menu is asked for, without what is looked at
// beside it.
func (p *Plan) FirstAnswer() bool { return p.Effort.Level == "first" }

// Warnings says which keys of the plan have no effect, or are read as something else.
func (p *Plan) Warnings() []string {
	var list []string
	if p.Fleet.Autoscaling {
		list = append(list, "fleet.autoscaling has no effect: menu.scaling simulates fleets whose "+
			"replicas start and stop with the load.")
	}
	if p.FirstAnswer() {
		list = append(list, "This is the first answer: other settings, ratios of groups, fleets "+
			"beside it and other inputs were not tried (effort.level).")
	}
	if words := p.Horizon.allHours(p); words != "" {
		list = append(list, words)
	}
	if p.Goal.Fastest {
		list = append(list, "The goal latency is read as front.")
	}
	for i := range p.Menu.Speculation {
		if words := p.Menu.Speculation[i].Provenance(); words != "" {
			list = append(list, "In menu.speculation, "+words+".")
		}
	}
	a := &p.Workload.Arrivals
	varies := a.Think.Distribution != "" && a.Think.Distribution != "constant"
	if a.Users > 0 && a.Think.Mean > 0 && !varies {
		list = append(list, fmt.Sprintf("All users think for %s: they march in step, which takes "+
			"more servers than if that varied.", a.Think.Mean))
	}
	return list
}

// checker is a plan whose contradictions are looked for, with what was found.
type checker struct {
	*Plan
	doc   *strict.Document
	found strict.Problems
}

// problem notes what is wrong with a field.
func (c *checker) problem(field, format string, args ...any) {
	c.found = append(c.found, c.doc.Problem(field, format, args...))
}

// refuse notes each of some keys that was given, in the same words.
func (c *checker) refuse(words string, keys ...string) {
	for _, key := range keys {
		if c.doc.Has(key) {
			c.problem(key, "%s", words)
		}
	}
}

// Check reports contradictions in the plan.
func (p *Plan) Check(doc *strict.Document) strict.Problems {
	c := &checker{Plan: p, doc: doc}
	switch {
	case len(p.Models) > 0:
		c.refuse("has no meaning together with models, each of which has its own; leave out one "+
			"of the two", "model", "max-model-len", "workload", "slo")
	case !doc.Has("model"):
		c.problem("model", "must be given: one model here, or several in models")
	default:
		if p.Goal.Find == FindThroughput && !doc.Has("workload.rate") &&
			!classesRated(&p.Workload) {
			p.Workload.Rate.Value = 1 // any will do: it is raised
		}
		if p.Job != nil {
			c.checkJob()
		} else {
			c.checkService("", &p.Workload, &p.SLO)
		}
	}
	names := map[string]bool{}
	for i := range p.Models {
		m := &p.Models[i]
		field := fmt.Sprintf("models.%d.", i)
		if name := cmp.Or(m.Name, m.Model); names[name] || strings.ContainsAny(name, `/\`) &&
			m.Name != "" {
			c.problem(field+"name", "found %q; the names of models must differ, and be usable as "+
				"names of folders", name)
		} else {
			names[name] = true
		}
		if !c.escalate(field, i) {
			c.checkService(field, &m.Workload, &m.SLO)
		}
	}
	c.refuse("a plan tries slower steps by itself; leave it out", "engine.slowdown")
	c.checkExperts()
	c.checkScaling()
	c.checkGoal()
	if p.Horizon != nil {
		c.checkHorizon()
	}
	if e := p.Effort; e.MostRequests > 0 && e.MostRequests < cmp.Or(e.Requests, firstRequests) {
		c.problem("effort.most-requests", "found %d, which is less than the %d requests of the "+
			"first simulation", e.MostRequests, cmp.Or(e.Requests, firstRequests))
	}
	return c.found
}

// Complete fills in defaults.
func (p *Plan) Complete() {
	if p.Menu.Tensor == nil {
		p.Menu.Tensor = []int{1, 2, 4, 8}
	}
	p.SLO = p.SLO.Complete()
	p.onePeriod(&p.Workload)
	for i := range p.Models {
		p.onePeriod(&p.Models[i].Workload)
	}
	p.Goal.complete()
	if p.Job != nil {
		p.Goal.Find = FindJob
	}
	e := &p.Effort
	e.Requests = cmp.Or(e.Requests, firstRequests)
	if e.MostRequests == 0 {
		e.MostRequests = max(16*e.Requests, 16000)
	}
	if e.Confidence == 0 {
		e.Confidence = 0.95
	}
	if p.Fleet.Growth == 0 {
		p.Fleet.Growth = 1
	}
}

//go:embed library/*.yaml
var library embed.FS

// File is a plan as it was written.
type File struct {
	Plan Plan
	Name string
	doc  *strict.Document // nil of a part of a plan
	// Today is the deployment that the answer is put beside; nil without one.
	Today *scenarios.File
}

// Open reads a plan: the file of that name, or the shipped plan. Overrides are of the form
// "key.path=value".
func Open(name string, overrides ...string) (*File, error) {
	data, err := Read(name)
	if err != nil {
		return nil, err
	}
	return Parse(name, data, overrides...)
}

// Read returns the text of a plan: of the file of that name, or of the shipped plan.
func Read(name string) ([]byte, error) {
	data, err := files.Read(files.Disk{}, name, strict.MostText)
	if files.IsAbsent(err, name) {
		data, err = ReadShipped(name)
	}
	if err != nil {
		return nil, scenarios.BadInput(err)
	}
	return data, nil
}

// Parse reads a plan from the contents of the file of that name.
func Parse(name string, data []byte, overrides ...string) (*File, error) {
	doc, err := strict.Parse(name, data)
	if err != nil {
		return nil, scenarios.BadInput(err)
	}
	f := &File{Name: name, doc: doc}
	for _, o := range overrides {
		if err := doc.Set(o, &f.Plan); err != nil {
			return nil, scenarios.BadInput(err)
		}
	}
	if err := doc.Decode(&f.Plan); err != nil {
		return nil, scenarios.BadInput(ofScenario(doc, err))
	}
	if problems := f.Plan.Check(doc); len(problems) > 0 {
		return nil, scenarios.BadInput(problems)
	}
	f.Plan.Complete()
	p := &f.Plan
	for _, settle := range []func(*strict.Document) error{p.Own, p.Price, p.horizonInCurrency,
		p.List, p.checkHours} {
		if err := settle(doc); err != nil {
			return nil, scenarios.BadInput(err)
		}
	}
	return f, nil
}

// ofScenario adds to what is wrong with the keys of a plan where those of a scenario belong.
func ofScenario(doc *strict.Document, err error) error {
	var list strict.Problems
	if !errors.As(err, &list) {
		return err
	}
	for i, p := range list {
		for _, key := range []string{"hardware", "parallelism", "batching", "memory", "routing",
			"speculation"} {
			if p.Path == "" && strings.HasPrefix(p.Message, fmt.Sprintf("unknown key %q", key)) {
				list[i].Message = fmt.Sprintf("found %q, a key of scenarios; in a plan it is %s",
					key, keyOfPlan(key))
			}
		}
	}
	return list
}

// ReadShipped returns the contents of a plan that comes with the program.
func ReadShipped(name string) ([]byte, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return nil, fmt.Errorf("%s: no such file", name)
	}
	data, err := library.ReadFile("library/" + strings.TrimSuffix(name, ".yaml") + ".yaml")
	if err == nil {
		return data, nil
	}
	return nil, fmt.Errorf("%s: no such file, and %s", name,
		nearest.Unknown("shipped plan", strings.TrimSuffix(name, ".yaml"), Shipped()))
}

// Shipped returns the names of the plans that come with the program.
func Shipped() []string {
	entries, err := library.ReadDir("library")
	if err != nil {
		panic(err) // the library is part of the program
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	return names
}

// List returns the plans that come with the program, with their titles.
func List() ([]scenarios.Listing, error) {
	var list []scenarios.Listing
	for _, name := range Shipped() {
		f, err := Open(name)
		if err != nil {
			return nil, err
		}
		list = append(list, scenarios.Listing{Name: name, Title: f.Plan.Name})
	}
	return list, nil
}

// Encoded returns the text of a scenario.
func Encoded(s scenarios.Scenario) ([]byte, error) {
	return strict.Encode(s, func(string) bool { return true })
}

// File returns the scenario of replicas at a rate, for a number of requests.
func (f *File) File(s scenarios.Scenario, rate float64, requests int64) (*scenarios.File, error) {
	s.Workload = f.Plan.Put(s.Workload, rate, requests)
	text, err := Encoded(s)
	if err != nil {
		return nil, err
	}
	return scenarios.Parse(f.Name, text)
}

// Asked turns problems of the scenarios that are made from a plan into problems of the plan, at its
// keys and lines, since nobody wrote these scenarios.
func (f *File) Asked(err error) error {
	var list strict.Problems
	if f.doc == nil || !scenarios.IsInputError(err) || !errors.As(err, &list) {
		return err
	}
	var own strict.Problems
	for _, p := range list {
		key := p.Path
		if !strings.HasPrefix(key, "engine.") || !f.doc.Has(key) {
			key = keyOfPlan(key)
		}
		if len(f.Plan.Menu.Disaggregated) > 0 && strings.HasPrefix(key, "menu.") {
			key = "menu" // what the parts of a group have may be wrong
		}
		own = append(own, f.doc.Problem(key, "%s", p.Message))
	}
	return scenarios.BadInput(own)
}

// Refuse returns an error of the input at a key of the plan, with its line if the plan was written
// as a file of its own.
func (f *File) Refuse(key, format string, args ...any) error {
	if f.doc == nil {
		return scenarios.BadInput(fmt.Errorf("%s: %s: "+format,
			append([]any{f.Name, key}, args...)...))
	}
	return scenarios.BadInput(f.doc.Problem(key, format, args...))
}

// Concerns reports whether all that is wrong with a scenario is at a key or within it.
func Concerns(err error, key string) bool {
	var list strict.Problems
	return errors.As(err, &list) && !slices.ContainsFunc(list, func(p strict.Problem) bool {
		return p.Path != key && !strings.HasPrefix(p.Path, key+".")
	})
}

// keyOfPlan returns the key of a plan from which a key of a scenario comes.
func keyOfPlan(key string) string {
	for _, k := range [][2]string{
		{"hardware.accelerator", "menu.hardware"}, {"hardware", "menu.hardware"},
		{"parallelism", "menu"}, {"engine.preset", "menu.engines"},
		{"engine.max-model-len", "max-model-len"}, {"engine", "menu"},
		{"batching", "menu.batching"}, {"memory", "menu.memory"}, {"routing", "menu.routing"},
		{"speculation", "menu.speculation"}, {"fleet.pools", "menu.disaggregated"},
	} {
		if rest, found := strings.CutPrefix(key, k[0]); found &&
			(rest == "" || rest[0] == '.') {
			return k[1] + rest
		}
	}
	return key
}
