package options

import (
	"maps"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/nearest"
)

// noteFlag says why a flag is left out, once for flags that share the reason.
func (r *Reading) noteFlag(flag, why string) {
	r.Ignored = append(r.Ignored, flag)
	for i, note := range r.Notes {
		if before, found := strings.CutSuffix(note, ": "+why); found {
			r.Notes[i] = before + ", " + flag + ": " + why
			return
		}
	}
	r.Note("%s: %s", flag, why)
}

// mostNear bounds the notes of a command after which no near names are looked for.
const mostNear = 50

// unknown notes a flag that is not among the published ones, and returns the words after its value,
// if it seems to have one.
func (r *Reading) unknown(flag string, words []string, joined bool) []string {
	meant := ""
	if len(r.Notes) < mostNear {
		near := nearest.Names(flag, slices.Sorted(maps.Keys(r.table.published)))
		if len(near) > 0 {
			meant = "; did you mean " + strings.Join(near, " or ") + "?"
		}
	}
	r.ignore(flag, "%s is not known, and was left out%s", flag, meant)
	if !joined && len(words) > 0 && !strings.HasPrefix(words[0], "-") {
		return words[1:]
	}
	return words
}
