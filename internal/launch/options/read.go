package options

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/models/engines"
)

// Command is what starts an engine.
type Command struct {
	// Words are those after the name of the program.
	Words []string
	// Env are the environment variables that are known.
	Env map[string]string
	// Version is the engine's; zero where it is not known.
	Version engines.Version
	// File returns the text of a file that the command names, and whether it is at hand.
	File func(name string) (string, bool)
}

// Reading is the terms that a command sets.
type Reading struct {
	Terms map[string]string
	// Flags are the flags that set them.
	Flags map[string]string
	// Notes say which options were left out, and why, and Ignored names these.
	Notes   []string
	Ignored []string
	// Unknown is the option of weights whose number format only the checkpoint knows, empty without
	// one.
	Unknown string
	// Drafters are the options that ask for a drafter.
	Drafters []string
	// Asks are what decides sizes or bytes and overrides have to say, as the command does not.
	Asks []Ask

	// refused is the first reason for which the options cannot be read.
	refused error

	table   *Table
	command *Command
	// waits are the variables without a value that decide sizes, and loose the words that are
	// variables without one: options, or the model.
	waits []string
	loose []*commands.Open
}

// Read reads the options of a command, of its environment, and of the configuration files that it
// names.
func (t *Table) Read(c *Command) (*Reading, error) {
	r := &Reading{Terms: map[string]string{}, Flags: map[string]string{}, table: t, command: c}
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		if o := t.known[name]; o != nil && slices.Contains(o.Env, name) {
			off := o.isSwitch() && isFalse(c.Env[name])
			if err := r.take(o, name, c.Env[name], off); err != nil {
				return nil, err
			}
		}
	}
	words, fields, err := r.configured(t.joined(c.Words))
	if err != nil {
		return nil, err
	}
	for len(words) > 0 {
		if words, err = r.next(words); err != nil {
			return nil, err
		}
	}
	if err := r.takeFields(fields); err != nil {
		return nil, err
	}
	if err := r.waiting(); err != nil {
		return nil, err
	}
	if err := r.chooseBackends(); err != nil {
		return nil, err
	}
	_, stretched := r.Terms["engine.stretch-context"]
	if _, given := r.Terms["engine.max-model-len"]; stretched && !given {
		r.Note("%s: the longest context that it gives is not computed; set engine.max-model-len",
			r.Flags["engine.stretch-context"])
	}
	if off, given := r.Terms["engine.eager"]; off == "false" {
		r.Take("engine.eager")
	} else if given { // without graphs, the size of the largest says nothing
		r.Take("engine.graph")
	}
	return r, nil
}

// Ask is a question that overrides answer.
type Ask struct {
	// Keys begin the overrides that answer it.
	Keys []string
	// Words say which option asks it, and why.
	Words string
}

// Error returns the question: a value may be read but for it.
func (a Ask) Error() string { return a.Words }

// Refuse ends the command, for what its options mean together.
func (r *Reading) Refuse(format string, args ...any) {
	if r.refused == nil {
		r.refused = fmt.Errorf(format, args...)
	}
}

// Err returns why the options cannot be read, nil where they can.
func (r *Reading) Err() error { return r.refused }

// decides reports whether a term decides how many accelerators there are, or how many bytes they
// hold: without its value, the answer would be about another server.
func decides(term string) bool {
	switch term {
	case "model", "engine.weights", "engine.kv-cache", "engine.eager", "memory.utilization",
		"memory.static-share", "memory.kv-share", "memory.tokens", "rank-blocks", "attention",
		"expert-parallel", "drafter", "dense", "moe-tensor", "state-format", "layers",
		"cache-of-values", "contexts":
		return true
	}
	return strings.HasPrefix(term, "parallelism.")
}

// wait keeps a value that is not known: it is asked for where the option decides sizes, and else
// left out. What is no variable cannot be given, and is an error.
func (r *Reading) wait(o *Option, name string, err error) error {
	unset, ok := errors.AsType[*commands.Open](err)
	switch {
	case !decides(o.Term) && o.Kind != refused:
		r.ignore(name, "%s was left out: %v", name, err)
		return nil
	case !ok || len(unset.Names) == 0:
		return fmt.Errorf("%s: %w", name, err)
	}
	r.waits = append(r.waits, unset.Names...)
	return nil
}

// waiting returns an error that names all variables without a value on which sizes depend, and
// notes the others.
func (r *Reading) waiting() error {
	for _, word := range r.loose {
		if r.Terms["model"] == "" && len(word.Names) > 0 {
			r.waits = append(r.waits, word.Names...)
			break
		}
		if r.Terms["model"] == "" {
			return word
		}
		if slices.ContainsFunc(word.Names, namesSizes) {
			r.waits = append(r.waits, word.Names...)
			continue
		}
		r.Note("a word was left out: %v", word)
	}
	if len(r.waits) == 0 {
		return nil
	}
	slices.Sort(r.waits)
	names := slices.Compact(r.waits)
	return fmt.Errorf("the command has variables without a value: give them, --var %s=…",
		strings.Join(names, "=… --var "))
}

// namesSizes reports whether the name of a variable that stands for whole options, such as
// PARALLEL_ARGS, has a word for parallelism, for drafts or for a number format: its value
// decides sizes.
func namesSizes(name string) bool {
	return slices.ContainsFunc(strings.Split(strings.ToUpper(name), "_"), func(word string) bool {
		return slices.Contains([]string{"PARALLEL", "PARALLELISM", "TP", "DP", "EP", "PP", "QUANT",
			"QUANTIZATION", "SPEC", "SPECULATIVE", "DRAFT"}, word)
	})
}

// chooseBackends sets the back ends that the switches of the environment choose, unless a flag
// names one. It refuses a back end of routed experts that the engine does not have, and leaves
// others out: forks have more, and they decide less.
func (r *Reading) chooseBackends() error {
	release, err := engines.Find(r.table.Engine, "")
	if err != nil {
		return err
	}
	for _, of := range engines.Asks() {
		if name := r.Terms[of.Key()]; name != "" {
			err := release.CheckBackend(of, name)
			if err != nil && of == engines.Experts {
				return fmt.Errorf("%s: %w", r.Flags[of.Key()], err)
			} else if err != nil {
				r.Take(of.Key())
				r.ignore(r.Flags[of.Key()], "%s was left out: %v", r.Flags[of.Key()], err)
			}
		} else if of != engines.Experts || r.Terms["engine.marlin"] == "" {
			Terms(r.Terms).Set(of.Key(), release.AskedBackend(of, r.command.Version, r.command.Env))
		}
	}
	return nil
}

// Set sets a term.
func (r *Reading) Set(term, value string) { r.Terms[term] = value }

// Note says what is left out.
func (r *Reading) Note(format string, args ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, args...))
}

// ignore says what is left out of an option.
func (r *Reading) ignore(name, format string, args ...any) {
	r.Ignored = append(r.Ignored, name)
	r.Note(format, args...)
}

// Version returns the engine's, zero where it is not known.
func (r *Reading) Version() engines.Version { return r.command.Version }

// Take returns a term, and removes it.
func (r *Reading) Take(term string) (value string, given bool) {
	value, given = r.Terms[term]
	delete(r.Terms, term)
	return value, given
}

// Number returns a term that was read as a count.
func (r *Reading) Number(term string, otherwise int) int {
	if n, err := strconv.Atoi(r.Terms[term]); err == nil {
		return n
	}
	return otherwise
}

// OfAllRanks multiplies what was given for one data-parallel rank, and further terms.
func (r *Reading) OfAllRanks(ranks int, terms ...string) {
	for _, o := range r.table.Options {
		if o.Per == "rank" && !slices.Contains(terms, o.Term) {
			terms = append(terms, o.Term)
		}
	}
	for _, term := range terms {
		if n := r.Number(term, 0); n > 0 {
			r.Set(term, strconv.Itoa(n*ranks))
		}
	}
}

// SetPool keeps what a flag says of the pool that the command belongs to. That there are pools says
// less than which one this is.
func (r *Reading) SetPool(flag, role string) {
	if r.Terms["pool"] == "" || role == "prefill" || role == "decode" {
		r.Terms["pool"], r.Flags["pool"] = role, flag
	}
}

// next takes the next flag with its value, or the model, from words, and returns what is left.
func (r *Reading) next(words []string) ([]string, error) {
	word, value, joined := strings.Cut(words[0], "=")
	words = words[1:]
	if !strings.HasPrefix(word, "-") {
		return words, r.takeModel(word)
	}
	o, off := r.table.lookUp(word)
	if full := r.table.abbreviated(word); o == nil && full != "" {
		word = full
		o, off = r.table.lookUp(word)
	}
	if short := word[:min(2, len(word))]; o == nil && r.table.known[short] != nil && !joined {
		o, value, word, joined = r.table.known[short], word[2:], short, true // such as -O3
	}
	if o == nil {
		takes, is := r.table.published[word]
		if !is {
			return r.unknown(word, words, joined), nil
		}
		r.ignore(word, "%s was left out: a scenario has nothing for it", word)
		_, words = takes.take(words, joined)
		return words, nil
	}
	if !o.isSwitch() && !joined && o.Term == "" && len(words) > 0 && r.isFlag(words[0]) {
		return words, nil // an option of no meaning here, whose value may be left out
	}
	if o.isSwitch() && !joined && len(words) > 0 && (strings.EqualFold(words[0], "true") ||
		strings.EqualFold(words[0], "false")) {
		value, words = words[0], words[1:]
	}
	off = off != (o.isSwitch() && isFalse(value)) // --enable-chunked-prefill=False
	if !joined && o.Bare != "" && (len(words) == 0 || strings.HasPrefix(words[0], "-")) {
		value, joined = o.Bare, true
	}
	if !o.isSwitch() && !joined {
		if len(words) == 0 {
			return nil, fmt.Errorf("%s needs a value", word)
		}
		taken := words[:1]
		if r.table.published[word] == several {
			taken, _ = several.take(words[1:], joined)
			taken = words[:1+len(taken)]
		}
		value, words = strings.Join(taken, " "), words[len(taken):]
	}
	if err := commands.Closed(value); err != nil && o.Kind != unread &&
		(o.Term != "" || o.Kind == refused) {
		return words, r.wait(o, word, err)
	}
	return words, r.take(o, word, value, off)
}

// joined returns words in which options that give parts of one with JSON, as vLLM takes them
// (--speculative-config.method mtp), are that option.
func (t *Table) joined(words []string) []string {
	if !slices.ContainsFunc(words, func(word string) bool {
		name, _, _ := strings.Cut(word, "=")
		return strings.HasPrefix(name, "-") && strings.Contains(name, ".")
	}) {
		return words
	}
	var rest, order []string
	parts := map[string]map[string]any{}
	for i := 0; i < len(words); i++ {
		name, value, joined := strings.Cut(words[i], "=")
		base, path, dotted := strings.Cut(name, ".")
		o, _ := t.lookUp(base)
		if !dotted || o == nil || !strings.HasPrefix(base, "-") || o.isSwitch() {
			rest = append(rest, words[i])
			continue
		}
		if !joined && i+1 < len(words) {
			i++
			value = words[i]
		}
		base = o.Flags[0]
		if parts[base] == nil {
			parts[base], order = map[string]any{}, append(order, base)
		}
		var decoded any = value
		_ = json.Unmarshal([]byte(value), &decoded) // else it is a text
		at, names := parts[base], strings.Split(path, ".")
		for _, name := range names[:len(names)-1] {
			inner, _ := at[name].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
			}
			at[name], at = inner, inner
		}
		at[names[len(names)-1]] = decoded
	}
	for _, base := range order {
		if text, err := json.Marshal(parts[base]); err == nil {
			rest = append(rest, base+"="+string(text))
		}
	}
	return rest
}

// isFlag reports whether a word is a known flag.
func (r *Reading) isFlag(word string) bool {
	word, _, _ = strings.Cut(word, "=")
	o, _ := r.table.lookUp(word)
	return strings.HasPrefix(word, "-") && o != nil
}

// takeModel takes a word that is no flag as the name of the model.
func (r *Reading) takeModel(name string) error {
	if name == "..." || name == "…" { // in place of further options
		r.Note("%s was left out: it stands for options that are not given", name)
		return nil
	}
	if word, ok := errors.AsType[*commands.Open](commands.Closed(name)); ok {
		r.loose = append(r.loose, word)
		return nil
	}
	if before, set := r.Terms["model"]; set && r.Flags["model"] == "" {
		return fmt.Errorf("found %q beside the model %s; a flag would begin with --", name, before)
	}
	r.Set("model", name)
	delete(r.Flags, "model")
	return nil
}

// take applies an option.
func (r *Reading) take(o *Option, name, value string, off bool) error {
	if v := r.command.Version; !v.IsZero() && !o.Has(v) {
		r.Note("%s: %s has it %s, and the image has %s", name, r.table.Engine, o.Range, v)
		if slices.Contains(o.Env, name) { // which the engine does not look at
			return nil
		}
	}
	if o.Kind == refused {
		why := strings.TrimSpace(name+" "+value) + ": " + o.Note
		switch {
		case o.isSwitch() && off, o.isPlain(value):
		case o.Term == "":
			return errors.New(why)
		default:
			r.Asks = append(r.Asks, Ask{[]string{o.Term}, why})
		}
		return nil
	}
	if o.Note == "drafter" {
		r.Drafters = append(r.Drafters, name)
	} else if o.Note != "" {
		r.noteFlag(name, notes(o.Note))
	}
	given := value
	var err error
	switch {
	case o.Kind == unread, o.Kind == switches:
		return nil
	case o.isSwitch() && off:
		value = o.Off
	case o.isSwitch() && o.Kind == "":
		value = o.On
	case o.isSwitch():
		value, err = kindOf(o.Kind).read(o.On)
	default:
		value, err = kindOf(o.Kind).read(value)
	}
	if more, is := errors.AsType[also](err); is {
		r.Note("%s: %v", name, more)
		err = nil
	}
	if ask, is := errors.AsType[Ask](err); is {
		r.Asks = append(r.Asks, Ask{ask.Keys, name + ": " + ask.Words})
		err = nil
	}
	if reason, left := errors.AsType[leftOut](err); left && decides(o.Term) {
		return fmt.Errorf("%s %s: %v", name, given, reason)
	} else if left {
		r.ignore(name, "%s %s was left out: %v", name, given, reason)
		return nil
	}
	if size, is := strings.CutSuffix(value, decodeOnly); is {
		r.Set("engine.prompt-graphs", "off")
		value = size
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", name, err)
	case value == inCheckpoint:
		r.Unknown = name + " " + given
	case o.Term == "" || value == "":
	case r.contradicts(o.Term, name, value):
		return fmt.Errorf("%s contradicts %s, which comes before it; leave one of them out",
			strings.TrimSpace(name+" "+given), r.Flags[o.Term])
	case value == eager:
		r.Set("engine.eager", "true")
	case value == hostMemory:
		r.Set("offload-backend", "lmcache")
	case strings.HasPrefix(value, hostMemory):
		r.Set("offload-backend", "native")
		r.Set("memory.cpu", strings.TrimPrefix(value, hostMemory))
	case o.Term == "pool":
		r.SetPool(name, value)
	default:
		r.Set(o.Term, value)
		r.Flags[o.Term] = name
	}
	return nil
}

// contradicts reports whether an earlier flag of the command set a term to another value. Flags
// override environment variables and files, which contradict nothing, and of the roles of a pool
// the more exact one counts.
func (r *Reading) contradicts(term, flag, value string) bool {
	before, set := r.Terms[term]
	if !set || before == value || term == "pool" {
		return false
	}
	earlier, written := r.Flags[term], map[string]int{}
	for _, word := range r.command.Words {
		name, _, _ := strings.Cut(word, "=")
		written[name]++
	}
	if earlier == flag {
		return written[flag] > 1
	}
	return written[earlier] > 0 && written[flag] > 0
}
