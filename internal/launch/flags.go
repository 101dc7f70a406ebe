package launch

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
)

// lookUp returns the option of a flag, and whether the flag is its negation.
func lookUp(known map[string]*option, flag string) (*option, bool) {
	plain := flag
	if strings.HasPrefix(flag, "--") { // engines take hyphens and underscores alike
		plain = "--" + strings.ReplaceAll(flag[2:], "_", "-")
	}
	for _, form := range []string{
		flag, plain, "--" + strings.ReplaceAll(strings.TrimPrefix(flag, "--"), "-", "_")} {
		if o := known[form]; o != nil {
			return o, false
		}
	}
	if rest, negated := strings.CutPrefix(plain, "--no-"); negated {
		if o := known["--"+rest]; o != nil && o.isSwitch {
			return o, true
		}
	}
	return nil, false
}

// take applies an option.
func (r *reading) take(o *option, flag, value string, off bool) error {
	if o.note != "" {
		r.noteFlag(flag, o.note)
	}
	if o.isSwitch {
		if value = o.on; off {
			value = o.off
		}
	} else if o.value != nil {
		var err error
		given := value
		value, err = o.value(value)
		if reason, left := errors.AsType[leftOut](err); left {
			r.note("%s %s was left out: %v", flag, given, reason)
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", flag, err)
		}
	}
	switch {
	case o.key == "" || value == "":
	case o.key == "pool":
		r.setPool(flag, value)
	default:
		r.set(o.key, value)
		r.flags[o.key] = flag
	}
	return nil
}

// noteFlag says why a flag is left out, once for flags of which the same is to be said.
func (r *reading) noteFlag(flag, why string) {
	for i, note := range r.notes {
		if before, found := strings.CutSuffix(note, ": "+why); found {
			r.notes[i] = before + ", " + flag + ": " + why
			return
		}
	}
	r.note("%s: %s", flag, why)
}

// mostNear bounds the notes of a command after which no near names are looked for.
const mostNear = 50

// unknown notes a flag that is not among the published ones, and returns the words after its value,
// if it seems to have one.
func (r *reading) unknown(flag string, words []string, joined bool, d dialect) []string {
	meant := ""
	if len(r.notes) < mostNear {
		near := nearest.Names(flag, slices.Sorted(maps.Keys(d.published)))
		if len(near) > 0 {
			meant = "; did you mean " + strings.Join(near, " or ") + "?"
		}
	}
	r.note("%s is not known, and was left out%s", flag, meant)
	if !joined && len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		return words[1:]
	}
	return words
}
