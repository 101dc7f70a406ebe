package options

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/models/engines"
)

// Terms are what a replica is asked for, for its engine.
type Terms map[string]string

// Set sets a term to a value that is neither empty nor 0.
func (t Terms) Set(term, value string) {
	if value != "" && value != "0" {
		t[term] = value
	}
}

// Degree sets a term to a degree of parallelism above 1.
func (t Terms) Degree(term string, n int) {
	if n > 1 {
		t[term] = strconv.Itoa(n)
	}
}

// Form is how options are written: for the engine's server, or for Dynamo's worker.
type Form string

// The two forms.
const (
	Server Form = "server"
	Worker Form = "worker"
)

// Written is a command for some terms.
type Written struct {
	// Words are the arguments, Config the text of the configuration file; empty without one.
	Words  []string
	Config string
	// Left are the terms that no option expresses.
	Left []string
}

// Write returns the options of a version that set the terms. Limits of all data-parallel ranks are
// divided by their number.
func (t *Table) Write(terms Terms, version engines.Version, ranks int, form Form) Written {
	var w Written
	var fields [][2]string
	written := map[string]bool{}
	for i := range t.Options {
		o := &t.Options[i]
		value, given := terms[o.Term]
		if !given || o.Only != "" && o.Only != string(form) || len(o.Flags) == 0 ||
			written[o.Term] && o.Only == "" || !o.Has(version) || o.Kind == refused {
			continue
		}
		if o.Kind == backend {
			value, given = t.backendFlag(o.Term, value)
		}
		text, ok := o.write(value, ranks)
		if !ok || !given {
			continue
		}
		written[o.Term] = true
		flag := o.Flags[0]
		if form == Worker && o.Worker != "" {
			flag = o.Worker
		}
		switch field, is := strings.CutPrefix(flag, "."); {
		case is:
			fields = append(fields, [2]string{field, text})
		case o.Positional && form == Server:
			w.Words = append(w.Words, text)
		case o.isSwitch() && text == "false":
			w.Words = append(w.Words, "--no-"+strings.TrimPrefix(flag, "--"))
		case o.isSwitch():
			w.Words = append(w.Words, flag)
		default:
			w.Words = append(w.Words, flag, text)
		}
	}
	if len(fields) > 0 {
		w.Config = fieldsText(fields)
	}
	for _, term := range slices.Sorted(maps.Keys(terms)) {
		if !written[term] {
			w.Left = append(w.Left, term)
		}
	}
	return w
}

// backendFlag returns a back end as the engine's flag for the key has it, and false for what no
// flag says: that some are left out, or one of another engine's.
func (t *Table) backendFlag(key, name string) (string, bool) {
	release, err := engines.Find(t.Engine, "")
	i := slices.IndexFunc(engines.Asks(), func(of engines.Operator) bool { return of.Key() == key })
	of := engines.Asks()[i]
	return release.BackendFlag(of, name), err == nil && !strings.HasPrefix(name, "no-") &&
		release.CheckBackend(of, name) == nil
}

// write returns the option's value for its term's, and false where it has no such value. The value
// of a switch is true or false.
func (o *Option) write(value string, ranks int) (string, bool) {
	switch {
	case o.isSwitch() && value == o.On:
		return "true", true
	case o.isSwitch():
		return "false", value == o.Off
	}
	if n, err := strconv.Atoi(value); err == nil && o.Per == "rank" && ranks > 1 {
		value = strconv.Itoa((n + ranks - 1) / ranks)
	}
	return kindOf(o.Kind).write(value)
}
