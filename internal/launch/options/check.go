package options

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Check returns an error for options that do not parse by the list that the engine publishes, or
// Dynamo for its workers: one that is unknown, one that is there twice, and one without its value.
func (t *Table) Check(words []string, form Form) error {
	published := publishedBy(t.Engine)
	if form == Worker && t.Engine == "trtllm" { // whose worker has none of the engine's own
		published = map[string]values{}
	}
	if form == Worker && t.Engine != "sglang" {
		maps.Copy(published, publishedBy("dynamo"))
	}
	var seen []string
	for len(words) > 0 {
		name := words[0]
		takes, known := published[name]
		if rest, negated := strings.CutPrefix(name, "--no-"); !known && negated {
			takes, known = published["--"+rest]
			known = known && takes == none
		}
		switch {
		case !known:
			return fmt.Errorf("%s is not published", name)
		case slices.Contains(seen, name):
			return fmt.Errorf("%s is there twice", name)
		case takes != none && (len(words) < 2 || strings.HasPrefix(words[1], "-")):
			return fmt.Errorf("%s has no value", name)
		}
		seen = append(seen, name)
		_, words = takes.take(words[1:], false)
	}
	return nil
}
