package scenarios

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
	"github.com/llmsim/llmsim/workload"
)

// calls returns the calls of a session in an order in which each comes after the calls that it
// waits for, and fills in their defaults.
func (d *demand) calls(field string, list []Call, longest int) []workload.Call {
	at, known := map[string]int{}, len(d.problems)
	names := make([]string, len(list))
	for i := range list {
		if _, twice := at[list[i].Name]; twice {
			d.problem(fmt.Sprintf("%s.%d.name", field, i), "found a second call %q; give each a "+
				"name of its own", list[i].Name)
		}
		at[list[i].Name], names[i] = i, list[i].Name
	}
	for i := range list {
		for _, name := range slices.Concat(list[i].After, []string{list[i].From}) {
			if _, found := at[name]; !found && name != "" {
				d.problem(fmt.Sprintf("%s.%d", field, i), "waits for a call that never comes: %s",
					nearest.Unknown("call", name, names))
			}
		}
	}
	if len(d.problems) > known {
		return nil
	}
	number := map[string]int{} // in order
	ended := map[string]map[string]bool{}
	var calls []workload.Call
	for len(number) < len(list) {
		before := len(number)
		for i := range list {
			c := &list[i]
			if _, done := number[c.Name]; done || slices.ContainsFunc(c.After, func(a string) bool {
				_, done := number[a]
				return !done
			}) {
				continue
			}
			number[c.Name] = len(calls)
			ended[c.Name] = map[string]bool{"": true}
			for _, a := range c.After {
				ended[c.Name][a] = true
				maps.Copy(ended[c.Name], ended[a])
			}
			place := fmt.Sprintf("%s.%d", field, i)
			if !ended[c.Name][c.From] {
				d.problem(place+".from", "found %s, which may not have ended; name it in after",
					c.From)
			}
			calls = append(calls, d.call(place, c, number, longest))
		}
		if len(number) == before {
			d.circle(field, list, number)
			return nil
		}
	}
	return calls
}

// call returns a call, of which those before it have numbers.
func (d *demand) call(field string, c *Call, number map[string]int, longest int) workload.Call {
	c.Prompt.complete(Length{}, longest)
	c.Output.complete(defaultOutput(), longest)
	made := workload.Call{From: -1, Wait: c.Wait.delay(),
		Prompt: d.lengths(field+".prompt", &c.Prompt),
		Output: d.lengths(field+".output", &c.Output)}
	for _, a := range c.After {
		made.After = append(made.After, number[a])
	}
	if c.From != "" {
		made.From = number[c.From]
	}
	return made
}

// circle notes calls that wait for each other, none of which has a number.
func (d *demand) circle(field string, list []Call, number map[string]int) {
	next := func(c *Call) string {
		for _, a := range c.After {
			if _, done := number[a]; !done {
				return a
			}
		}
		return ""
	}
	at, first := map[string]int{}, ""
	for i := range list {
		at[list[i].Name] = i
		if _, done := number[list[i].Name]; !done {
			first = list[i].Name
		}
	}
	var path []string
	for name := first; ; name = next(&list[at[name]]) {
		if i := slices.Index(path, name); i >= 0 {
			d.problem(fmt.Sprintf("%s.%d.after", field, at[name]), "found a circle: %s",
				strings.Join(append(path[i:], name), " waits for "))
			return
		}
		path = append(path, name)
	}
}

// described returns a class of sessions that are described call by call.
func (d *demand) described(field string, c *Class, traits workload.Traits,
	longest int) workload.Class {
	if c.Prompt != (Length{}) || c.Output != (Length{}) || c.Sessions != nil || c.Distinct > 0 ||
		c.Samples > 0 || c.Preset != "" {
		d.problem(field+".calls", "say what prompts and answers are; leave preset, prompt, "+
			"output, distinct, samples and sessions out")
	}
	c.Calls = slices.Clone(c.Calls)
	drawn := workload.Class{Name: c.Name, Weight: cmp.Or(c.Share, 1), Traits: traits,
		Calls: d.calls(field+".calls", c.Calls, longest), MaxContext: longest}
	if len(drawn.Calls) > 0 {
		drawn.Prompt, drawn.Output = drawn.Calls[0].Prompt, drawn.Calls[0].Output
	}
	drawn.Prefix = d.prefix(field+".prefix", c, longest)
	return drawn
}

// prefix returns the prefix of a class, nil if it has none, and fills in its defaults.
func (d *demand) prefix(field string, c *Class, longest int) *workload.Prefix {
	if c.Prefix == nil {
		return nil
	}
	prefix := *c.Prefix
	prefix.Tokens.complete(Length{}, longest)
	c.Prefix = &prefix
	return &workload.Prefix{Groups: prefix.Groups, Zipf: prefix.Zipf,
		Tokens: d.lengths(field+".tokens", &prefix.Tokens)}
}
