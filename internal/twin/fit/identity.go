package fit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// Matches returns an error if a source names another model, accelerator, engine or tensor
// parallelism than the scenario has. Names that the catalogue does not know say nothing.
func (s *Server) Matches(o *observed.Observed) error {
	file, err := s.Load()
	if err != nil {
		return err
	}
	steps, err := file.Steps(policies.Default())
	if err != nil {
		return err
	}
	catalog, err := models.Load()
	if err != nil {
		return err
	}
	model, accelerator := steps.Model.Name, steps.Accelerator.Name
	engine, tensor := engines.Of(steps.Scenario.Engine.Preset), steps.Scenario.Parallelism.Tensor
	machines, err := hardware.Load()
	if err != nil {
		return err
	}
	_, unlisted := catalog.Lookup(model)
	for i := range o.Sources {
		source := &o.Sources[i]
		seen := &source.Server
		found := modelOf(catalog, seen.Model)
		for _, part := range []struct {
			key, found, want string
			other            bool
		}{
			{"model", seen.Model, model, unlisted == nil && found != "" && found != model},
			{"hardware", seen.GPU, accelerator, otherAccelerator(machines, seen.GPU, accelerator)},
			{"engine", seen.Engine, engine, seen.Engine != "" && seen.Engine != engine},
			{"parallelism.tensor", fmt.Sprint(seen.Tensor), fmt.Sprint(max(1, tensor)),
				seen.Tensor > 0 && seen.Tensor != max(1, tensor)},
		} {
			if part.other {
				return fmt.Errorf("%s: found %s %s, want the scenario's %s: observations of "+
					"another server say nothing of it", source.File, part.key, part.found,
					part.want)
			}
		}
	}
	return nil
}

// modelOf returns the catalogue's name of a model or of a release of it with other weights; "" if
// it has none.
func modelOf(catalog *models.Catalog, name string) string {
	if form, ok := models.ReadRelease(name); ok {
		name = form.Of
	}
	if a, err := catalog.Lookup(name); err == nil {
		return a.Name
	}
	return ""
}

// otherAccelerator reports whether a source's name of a GPU is another accelerator of the catalogue
// than the named one. A name of a family, such as H100, is any of the family.
func otherAccelerator(machines hardware.Catalog, name, accelerator string) bool {
	found, err := machines.Accelerator(name)
	if name == "" || err != nil || found.Name == accelerator {
		return false
	}
	family, _, part := strings.Cut(found.Name, "-")
	return !part || !strings.EqualFold(strings.TrimPrefix(strings.ToLower(name), "nvidia "),
		family) || !strings.HasPrefix(accelerator, family+"-")
}

// Measured over predicted beyond which a mean is taken to be in another unit, or of another server.
// A wrong unit is a factor of 1,000, and an unusual server one far from it; a TTFT may be short by
// more, where a cache that the scenario does not know of has the prompt. The two are choices.
const (
	farOff     = 20
	farOffTTFT = 200
)

// checkScale returns an error if a mean of a run is so far from its prediction that its unit must
// be another.
func (p *problem) checkScale(before []float64) error {
	for i, predicted := range before {
		d := p.datum(i)
		far := map[string]float64{TPOT: farOff, Steps: farOff, TTFT: farOffTTFT}[d.quantity]
		ratio := d.measured / predicted
		if far == 0 || !(d.whole || d.quantity == Steps) || !observed.Finite(ratio) ||
			ratio < far && ratio > 1/far {
			continue
		}
		return fmt.Errorf("%s: found a %s of %s, want about %s, as the scenario predicts: is a "+
			"column in another unit (%s), or is this another server?", p.runs[d.run].Name,
			d.quantity, units.FormatDuration(d.measured), units.FormatDuration(predicted),
			unitOff(ratio))
	}
	return nil
}

// unitOff says which unit a ratio looks like.
func unitOff(ratio float64) string {
	if ratio < 1 {
		return "seconds in a column that ends in _ms, or --map to one"
	}
	return "milliseconds in a column that ends in _s, or --map to one"
}

// Refusals says why the fit is no twin of the server: an error of more than 15 % on what was held
// out, a factor at its bound or within its deviation of it, three deviations from what is believed
// before measurements, or requests that no one server answers so. It is empty for a twin.
func (r *Result) Refusals() []string {
	list := slices.Clone(r.doubts)
	e := r.HeldOut()
	for _, q := range []struct {
		name  string
		error float64
	}{{TTFT, e.TTFT}, {TPOT, e.TPOT}, {E2E, e.E2E}, {Steps, e.Steps}} {
		if q.error > scenarios.MostOwnError {
			list = append(list, fmt.Sprintf("found an error of %s of %s on what was held out, "+
				"want at most %s", q.name, units.FormatFraction(q.error),
				units.FormatFraction(scenarios.MostOwnError)))
		}
	}
	for i := range r.Factors {
		if f := &r.Factors[i]; f.Bound {
			list = append(list, fmt.Sprintf("found %.3g for the factor on %s (%s), which %s, "+
				"want %s", f.Value, f.Of, f.Name, f.atBound(), boundsOf(f)))
		}
	}
	return list
}

// atBound says where a factor is whose Bound is true.
func (f *FittedFactor) atBound() string {
	if f.Near {
		return "is within its deviation of its bound"
	}
	return "is at its bound"
}

// boundsOf returns the bounds of a factor that is at one, in words.
func boundsOf(found *FittedFactor) string {
	all := Factors()
	f := &all[slices.IndexFunc(all, func(f Factor) bool { return f.Name == found.Name })]
	least, most := f.bounds()
	words := fmt.Sprintf("a value between %.3g and %.3g", f.value(least), f.value(most))
	if found.Near {
		words += ", by more than its deviation"
	}
	return words
}
