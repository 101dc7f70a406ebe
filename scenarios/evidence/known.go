package evidence

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models/engines"
)

// Known is a kind of servers whose predictions are known to be off. A condition that is the zero
// value holds for all servers.
type Known struct {
	Name string `yaml:"name"`
	// Engine has presets; Versions are its releases, to which a server of no known release does not
	// belong.
	Engine   string        `yaml:"engine"`
	Versions engines.Range `yaml:"versions"`
	// Accelerators are names of the catalogue, and Models what names of models begin with.
	Accelerators []string `yaml:"accelerators"`
	Models       []string `yaml:"models"`
	// Speculation is a method of drafts. Apart says that prefill and decode are on servers of their
	// own, and Users is the least number of requests at a server.
	Speculation string  `yaml:"speculation"`
	Apart       bool    `yaml:"apart"`
	Users       float64 `yaml:"users"`
	// Says names the servers, and how far and in which direction predictions are off; Settles is
	// the measurement that would decide it.
	Says    string `yaml:"says"`
	Settles string `yaml:"settles"`
	// Factor is the measured over the predicted TPOT, by which ranges and chances are moved; 0
	// where it is not known. An entry with a factor does not hold for servers that only compute
	// prompts. Rows counts the measured figures on which it rests, the ends of a span
	// of several as two, and Source says how it follows from them.
	Factor float64 `yaml:"factor"`
	Rows   int     `yaml:"rows"`
	Source string  `yaml:"source"`
}

//go:embed known.yaml
var knownText []byte

// AllKnown returns the kinds of servers whose predictions are known to be off.
func AllKnown() []Known { return allKnown() }

// allKnown reads a file that is part of the program: it is right, or a test fails.
var allKnown = sync.OnceValue(func() (list []Known) {
	if err := files.DecodeYAML(knownText, &list); err != nil {
		panic(err)
	}
	return list
})

// has reports whether the conditions hold for the server of the evidence, under its load.
func (k *Known) has(e *Evidence) bool {
	s := &e.Server
	if k.Versions != (engines.Range{}) {
		v, err := engines.ParseVersion(e.Version)
		if err != nil || !k.Versions.Has(v) {
			return false
		}
	}
	return (k.Engine == "" || k.Engine == engines.Of(s.Engine)) &&
		(len(k.Accelerators) == 0 || slices.Contains(k.Accelerators, s.Accelerator)) &&
		(len(k.Models) == 0 || slices.ContainsFunc(k.Models, func(start string) bool {
			return strings.HasPrefix(s.Model, start)
		})) &&
		(k.Speculation == "" || k.Speculation == s.Speculation) &&
		(!k.Apart || e.InPool) && (k.Factor == 0 || !e.Prompts) && e.Load.Users >= k.Users
}

// known returns the kinds of servers known to be off that hold for the evidence, and the factor on
// TPOT of all of them together; 0 without a factor.
func (e *Evidence) known() (list []Known, factor float64) {
	for _, k := range AllKnown() {
		if !k.has(e) {
			continue
		}
		list = append(list, k)
		if k.Factor > 0 && !e.measuredUnder(&k) {
			factor = max(factor, 1) * k.Factor
		}
	}
	return list, factor
}

// measuredUnder reports whether the server itself was measured, under releases of the entry alone:
// its ranges then follow its own errors.
func (e *Evidence) measuredUnder(k *Known) bool {
	return k.Versions != (engines.Range{}) && e.uncorrected().Grade == Measured &&
		!slices.ContainsFunc(versionsOf(e.Errors), func(version string) bool {
			v, err := engines.ParseVersion(version)
			return err != nil || !k.Versions.Has(v)
		})
}

// KnownOff says in what way the predictions for a server are known to be off, and by how much its
// ranges and chances are moved for that; "" where they are not.
func (e *Evidence) KnownOff() string { return e.off(e.Told) }

// off lists deviations, and says by how much ranges and chances are moved for them.
func (e *Evidence) off(deviations []string) string {
	words := strings.Join(deviations, "; ")
	if e.Factor > 0 {
		words += fmt.Sprintf("; ranges and chances count TPOT as %.3g times the predicted one",
			e.Factor)
	}
	return words
}

// uncorrected returns the evidence with the grade that it has without factors of known deviations.
func (e Evidence) uncorrected() Evidence {
	if e.Factor > 0 {
		e.Grade, e.Factor = e.Graded, 0
	}
	return e
}

// corrected returns evidence whose TPOT is known to be a factor on the predicted one: it is at best
// distant, whatever else was measured. 0 stands for no factor.
func (e Evidence) corrected(factor float64) Evidence {
	e.Factor, e.Graded = factor, e.Grade
	if factor > 0 && (e.Grade == Measured || e.Grade == Relative) {
		e.Grade = Distant
	}
	return e
}

// Input describes the smallest input that the entry holds for, condition by condition.
func (k *Known) Input() string {
	words := []string{k.Engine}
	if k.Versions != (engines.Range{}) {
		words = append(words, k.Versions.String())
	}
	for _, model := range k.Models {
		words = append(words, model+"…")
	}
	words = append(words, strings.Join(k.Accelerators, " or "))
	if k.Speculation != "" {
		words = append(words, "speculation.method: "+k.Speculation)
	}
	if k.Apart {
		words = append(words, "prefill and decode apart")
	}
	if k.Users > 0 {
		words = append(words, units.Plural(int(k.Users), "request")+" at a replica")
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), ", ")
}
