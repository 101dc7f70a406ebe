// Package deployment reads what serves today in a thread: its server, its accelerators, and how
// many replicas it has.
package deployment

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/ask"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Deployment is what serves by a thread.
type Deployment struct {
	// Settings are overrides of a scenario, the given ones last.
	Settings []string
	// Notes say first what was read from which line, then what was assumed or left out; Ignored
	// names flags that were left out.
	Notes, Ignored []string
}

// Of returns the server, its accelerator and the number of its replicas in a text and what was
// found in it. The command or manifest says the number, else a sentence, else the number of
// accelerators in a sentence, over the accelerators of a replica. It takes overrides of the
// scenario.
func Of(text string, p *ask.Paste, set []string) (*Deployment, error) {
	catalog, err := hardware.Load()
	if err != nil {
		return nil, err
	}
	server, _, _ := strings.Cut(p.Server, "\n")
	from := []string{"the server from " + strconv.Quote(server)}
	settings := slices.Clone(p.Reading.Settings)
	if p.GPU != "" {
		settings = append(settings, "hardware="+p.GPU)
		from = append(from, p.GPU)
	}
	n, where, err := replicas(text, catalog, slices.Concat(settings, set))
	if err != nil {
		return nil, err
	}
	if n > 0 {
		settings = append(settings, fmt.Sprintf("replicas=%d", n))
		from = append(from, where)
	}
	return &Deployment{Settings: append(settings, set...), Ignored: p.Reading.Ignored,
		Notes: slices.Concat([]string{"read as by llmsim ask: " + strings.Join(from, ", ")},
			p.Assumed, p.Reading.Notes)}, nil
}

// numbers matches a number with words behind it, up to twelve also as a word.
func numbers(behind string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:^|[^\w.])(\d{1,4}|` + strings.Join(small(), "|") + `)` +
		behind)
}

// small lists numbers from one that people spell out.
func small() []string {
	return []string{"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
		"eleven", "twelve"}
}

// find returns the first number of a form whose words are what they should be, and its line.
func find(text string, form *regexp.Regexp, is func(words string) bool) (int, string) {
	line := 0
	for words := range strings.Lines(text) {
		line++
		for _, m := range form.FindAllStringSubmatch(words, 20) {
			if !is(m[2]) {
				continue
			}
			n := 1 + slices.Index(small(), strings.ToLower(m[1]))
			if n == 0 {
				n, _ = strconv.Atoi(m[1])
			}
			if n > 0 {
				return n, fmt.Sprintf("line %d", line)
			}
		}
	}
	return 0, ""
}

// replicas returns how many replicas a text says there are, and where; 0 where settings of a
// scenario say it, or nothing.
func replicas(text string, catalog hardware.Catalog, settings []string) (int, string, error) {
	if slices.ContainsFunc(settings, func(s string) bool {
		return strings.HasPrefix(s, "replicas=") || strings.HasPrefix(s, "fleet")
	}) {
		return 0, "", nil
	}
	n, where := find(text, numbers(` +([a-z-]+ +)?(?:replicas?|instances?)\b`),
		func(between string) bool { return strings.TrimSpace(between) != "per" })
	// 8x NVIDIA H100s, 4 RTX 4090.
	count, counts := find(text, numbers(
		` *[x×*]? *(?:nvidia |amd )?([a-z][\w-]*(?: \d[\w-]*)?)`), func(name string) bool {
		first, _, _ := strings.Cut(name, " ")
		for _, name := range []string{first, strings.ReplaceAll(name, " ", "-")} {
			_, err := catalog.Accelerator(strings.TrimSuffix(strings.ToLower(name), "s"))
			if err == nil {
				return true
			}
		}
		return false
	})
	file, err := scenarios.Parse("the text", []byte("{}"), settings...)
	if err != nil || n == 0 && count == 0 {
		return 0, "", err
	}
	each := file.Scenario.Parallelism.Accelerators()
	words := fmt.Sprintf("%s counts %s, and a replica has %d", counts,
		units.Plural(count, "accelerator"), each)
	switch {
	case n > 0 && (count == 0 || count == n*each):
		words = ""
	case n == 0 && count%each == 0:
		n, where = count/each, counts
	case n == 0:
		return 0, "", errors.New(words + ": set replicas")
	}
	if words != "" {
		words = " (" + words + ")"
	}
	return n, units.Plural(n, "replica") + " from " + where + words, nil
}
