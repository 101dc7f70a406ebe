package launch

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/models"
)

// Reading is a command as a scenario.
type Reading struct {
	// Engine is the engine that the command starts.
	Engine string
	// Settings are overrides of a scenario, "key=value", in the order of the keys.
	Settings []string
	// Flags are the flags of the command by the keys that they set; nil where pools have several
	// commands.
	Flags map[string]string
	// Notes say which flags were left out, and why.
	Notes []string
}

// reading is a Reading while it is being made.
type reading struct {
	values map[string]string
	flags  map[string]string // by the keys that they set
	notes  []string
	file   files
	// poolFlag is what says that the command is one of several pools; empty where nothing does.
	poolFlag string
	model    *models.Architecture // nil where it is not in the catalogue
}

// experts reports whether the model is known to be a mixture of experts.
func (r *reading) experts() bool { return r.model != nil && r.model.Experts() != nil }

// files returns the text of a file that a command names, and whether it is at hand.
type files func(name string) (string, bool)

// keepsParts reports whether the model is known to have layers with windows or states of fixed
// size.
func (r *reading) keepsParts() bool {
	if r.model == nil {
		return false
	}
	kept := r.model.Kept(1, hardware.BF16)
	return kept.Windowed+kept.Fixed > 0
}

// or returns what also looks for files elsewhere, and there in the last list first.
func (f files) or(elsewhere ...map[string]string) files {
	return func(name string) (string, bool) {
		for _, list := range slices.Backward(elsewhere) {
			if text, found := list[name]; found {
				return text, true
			}
		}
		if f == nil {
			return "", false
		}
		return f(name)
	}
}

func (r *reading) set(key, value string) { r.values[key] = value }

// setPool keeps what a flag says of the pool that the command belongs to. That there are pools says
// less than which one this is.
func (r *reading) setPool(flag, role string) {
	if r.values["pool"] == "" || phase(role) != "" {
		r.values["pool"], r.poolFlag = role, flag
	}
}

func (r *reading) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

// dialect is the flags of an engine: the ones that mean something in a scenario, and all that are
// published.
type dialect struct {
	known     map[string]*option
	published map[string]values
}

func (e *engine) dialect() dialect {
	d := dialect{known: map[string]*option{}, published: publishedBy("dynamo")}
	maps.Copy(d.published, e.published())
	options := e.options()
	for i := range options {
		for _, name := range options[i].flags {
			d.known[name] = &options[i]
		}
	}
	return d
}

// next takes the next flag with its value, or the model, from words, and returns what is left.
func (r *reading) next(words []string, d dialect) ([]string, error) {
	word, value, joined := strings.Cut(words[0], "=")
	words = words[1:]
	if !strings.HasPrefix(word, "-") {
		return words, r.takeModel(word)
	}
	o, off := lookUp(d.known, word)
	if short := word[:min(2, len(word))]; o == nil && d.known[short] != nil && !joined {
		o, value, word, joined = d.known[short], word[2:], short, true // such as -O3
	}
	if o == nil {
		takes, is := d.published[word]
		if !is {
			return r.unknown(word, words, joined, d), nil
		}
		r.note("%s was left out: a scenario has nothing for it", word)
		return takes.after(words, joined), nil
	}
	if !o.isSwitch && !joined {
		if len(words) == 0 {
			return nil, fmt.Errorf("%s needs a value", word)
		}
		value, words = words[0], words[1:]
		if d.published[word] == several {
			words = several.after(words, joined)
		}
	}
	if err := closed(value); err != nil && o.key != "" {
		return nil, fmt.Errorf("%s: %w", word, err)
	}
	return words, r.take(o, word, value, off)
}

// takeModel takes a word that is no flag as the name of the model.
func (r *reading) takeModel(name string) error {
	if err := closed(name); err != nil {
		return err
	}
	if _, set := r.values["model"]; set {
		return fmt.Errorf("found %q beside the model %s; a flag would begin with --", name,
			r.values["model"])
	}
	r.set("model", name)
	return nil
}

// number returns a value that was read as a count.
func (r *reading) number(key string, otherwise int) int {
	if n, err := strconv.Atoi(r.values[key]); err == nil {
		return n
	}
	return otherwise
}

// ofAllRanks multiplies counts of one data-parallel rank.
func (r *reading) ofAllRanks(ranks int, keys ...string) {
	for _, key := range keys {
		if n := r.number(key, 0); n > 0 {
			r.set(key, strconv.Itoa(n*ranks))
		}
	}
}
