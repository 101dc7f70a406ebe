// Package options knows the options of serving engines: flags, environment variables and fields of
// configuration files. There is one table for each engine, by which options are read and written.
//
// An option sets a term: a key of a scenario, such as parallelism.tensor, or a word that has a
// meaning for its engine alone, such as rank-blocks.
package options

import (
	"cmp"
	"embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models/engines"
)

// Option is a line of a table.
type Option struct {
	// Flags are its spellings; the first one is written. One that begins with a dot is the path of
	// a field in the engine's configuration file.
	Flags []string `yaml:"flags"`
	// Env are the environment variables that stand for it.
	Env []string `yaml:"env"`
	// Worker is how Dynamo's worker spells it; empty where it is as Flags has it.
	Worker string `yaml:"worker"`
	// Only is server or worker where the other of the two is not given the option.
	Only string `yaml:"only"`
	// Positional is set where the server takes the value without the flag.
	Positional bool `yaml:"positional"`
	// Term is what it sets; empty where it changes no time.
	Term string `yaml:"term"`
	// Kind names how its value is read and written: see kinds.
	Kind string `yaml:"kind"`
	// Plain are the values of an option of kind refused with which the engine is as it is without
	// the option; any other one ends the command, for the reason in Note, unless an override gives
	// the option's term.
	Plain []string `yaml:"plain"`
	// Per is rank where the value belongs to one data-parallel rank.
	Per string `yaml:"per"`
	// On is what a flag without a value sets the term to, Off what its form --no-… does; both are
	// empty where the flag takes a value.
	On  string `yaml:"on"`
	Off string `yaml:"off"`
	// Bare is the value that the flag alone stands for, empty where it needs one.
	Bare string `yaml:"bare"`
	// Range is the versions that have it.
	engines.Range `yaml:",inline"`
	// Note says what it does that a scenario does not have: a text, or the name of one in notes;
	// drafter for options of drafters, which a scenario has if it has their acceptance.
	Note string `yaml:"note"`
}

// isSwitch reports whether the option takes no value.
func (o *Option) isSwitch() bool { return o.On != "" }

// isFalse reports whether the value of a switch turns it off.
func isFalse(value string) bool {
	return slices.Contains([]string{"false", "0", "off", "no", "disabled"}, strings.ToLower(value))
}

// isPlain reports whether a value of an option that is refused says what holds without it.
func (o *Option) isPlain(value string) bool {
	x, err := strconv.ParseFloat(value, 64)
	return slices.ContainsFunc(o.Plain, func(plain string) bool {
		y, bad := strconv.ParseFloat(plain, 64)
		return strings.EqualFold(value, plain) || err == nil && bad == nil && x == y
	})
}

// Table is the options of an engine.
type Table struct {
	Engine string `yaml:"engine"`
	// Version is the version of the engine whose options are written.
	Version engines.Version `yaml:"version"`
	Options []Option        `yaml:"options"`
	// Ignored take a value, and Switches do not; they do not change how long anything takes.
	Ignored  []string `yaml:"ignored"`
	Switches []string `yaml:"switches"`

	known     map[string]*Option
	published map[string]values
}

//go:embed *.yaml
var tables embed.FS

// Load returns the table of an engine. It panics for an engine without a table, and on a mistake in
// a table, which is part of the program.
func Load(engine string) *Table {
	var own, shared Table
	for name, into := range map[string]*Table{engine: &own, "shared": &shared} {
		data, err := tables.ReadFile(name + ".yaml")
		if err == nil {
			err = files.DecodeYAML(data, into)
		}
		if err != nil {
			panic(fmt.Sprintf("options of %s: %v", name, err))
		}
	}
	t := &own
	t.known, t.published = map[string]*Option{}, publishedBy("dynamo")
	maps.Copy(t.published, publishedBy(engine))
	lists := []*Table{t, &shared}
	if engine == "trtllm" { // which spells nothing as the others do
		lists = lists[:1]
	}
	for _, list := range lists {
		for i := range list.Options {
			t.learn(&list.Options[i])
		}
		for _, name := range list.Ignored {
			t.learn(&Option{Flags: []string{name}})
		}
		for _, name := range list.Switches {
			t.learn(&Option{Flags: []string{name}, On: "true"})
		}
	}
	return t
}

// learn makes an option known by its names, unless another has them.
func (t *Table) learn(o *Option) {
	for _, name := range append(o.Flags, o.Env...) {
		if t.known[name] == nil {
			t.known[name] = o
		}
	}
}

// Flag returns the flag that sets a term, or the field where no flag does, and false where there is
// neither.
func (t *Table) Flag(term string) (name string, known bool) {
	for i := range t.Options {
		if t.Options[i].Term != term {
			continue
		}
		for _, flag := range t.Options[i].Flags {
			if strings.HasPrefix(flag, "-") {
				return flag, true
			}
			name = cmp.Or(name, flag[1:])
		}
	}
	return name, name != ""
}

// lookUp returns the option of a flag, and whether the flag is its negation. Engines take hyphens
// and underscores alike.
func (t *Table) lookUp(flag string) (*Option, bool) {
	plain := flag
	if strings.HasPrefix(flag, "--") {
		plain = strings.ReplaceAll(flag, "_", "-")
	}
	for _, form := range []string{flag, plain, strings.ReplaceAll(plain, "-", "_"),
		"--" + strings.ReplaceAll(strings.TrimPrefix(plain, "--"), "-", "_")} {
		if o := t.known[form]; o != nil {
			return o, false
		}
	}
	if rest, negated := strings.CutPrefix(plain, "--no-"); negated {
		if o := t.known["--"+rest]; o != nil && o.isSwitch() {
			return o, true
		}
	}
	return nil, false
}

// abbreviated returns the only option that begins as a flag does, as argparse takes it; "" without
// one, for an option of its own, and for TensorRT-LLM, which does not use argparse.
func (t *Table) abbreviated(flag string) (full string) {
	const shortest = "--xx"
	flag = strings.ReplaceAll(flag, "_", "-")
	if t.Engine == "trtllm" || !strings.HasPrefix(flag, "--") || len(flag) < len(shortest) {
		return ""
	}
	for name := range t.published {
		plain := strings.ReplaceAll(name, "_", "-")
		if plain == flag || strings.HasPrefix(plain, flag) && full != "" {
			return ""
		}
		if strings.HasPrefix(plain, flag) {
			full = name
		}
	}
	return full
}
