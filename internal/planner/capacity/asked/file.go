package asked

import (
	"embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/scenarios/strict"
)

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
		return nil, scenarios.BadInput(err)
	}
	if problems := f.Plan.Check(doc); len(problems) > 0 {
		return nil, scenarios.BadInput(problems)
	}
	f.Plan.Complete()
	if err := f.Plan.Own(doc); err != nil {
		return nil, scenarios.BadInput(err)
	}
	if err := f.Plan.Price(doc); err != nil {
		return nil, scenarios.BadInput(err)
	}
	if err := f.Plan.List(doc); err != nil {
		return nil, scenarios.BadInput(err)
	}
	return f, nil
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

// Reason returns the error of a scenario without file and line.
func Reason(err error) string {
	var list strict.Problems
	if errors.As(err, &list) && len(list) > 0 {
		return list[0].Message
	}
	return err.Error()
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
