package fit

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation"

	"gonum.org/v1/gonum/optimize"
)

// powerDeviation is how far off a good law of power may be: the relative error of one standard
// deviation.
const powerDeviation = 0.05

// powerLaws are the laws of accelerators, by name.
type powerLaws map[string]*hardware.PowerLaw

// fitPower returns the laws under which accelerators draw what was measured. Rows of a model say
// no more together than the root of their number.
func fitPower(draws []validation.Draw) (powerLaws, error) {
	laws := powerLaws{}
	for _, d := range draws {
		if laws[d.GPU] != nil {
			continue
		}
		own := slices.DeleteFunc(slices.Clone(draws), func(other validation.Draw) bool {
			return other.GPU != d.GPU
		})
		law, err := powerLaw(own)
		if err != nil {
			return nil, err
		}
		laws[d.GPU] = law
	}
	return laws, nil
}

// powerLaw fits the law of one accelerator.
func powerLaw(draws []validation.Draw) (*hardware.PowerLaw, error) {
	rows := map[string]float64{}
	for i := range draws {
		rows[draws[i].Model]++
	}
	law := *draws[0].Accelerator.PowerLaw()
	shares := []*float64{&law.Running, &law.Memory, &law.Computing, &law.Arithmetic}
	loss := func(x []float64) float64 {
		sum := 0.0
		for i, share := range shares {
			*share = math.Exp(x[i])
		}
		for i := range draws {
			loss, _, _ := robust(powerError(&law, &draws[i]) / powerDeviation)
			sum += loss / math.Sqrt(rows[draws[i].Model])
		}
		return sum
	}
	// A simplex may end where a share has all but vanished, along which it then no longer moves. It
	// begins again from there, with shares of at least 0.01, for as long as that finds less.
	best := &optimize.Result{Location: optimize.Location{F: math.Inf(1)}}
	start := make([]float64, len(shares))
	for i, share := range shares {
		start[i] = *share
	}
	for {
		for i := range start {
			start[i] = math.Log(max(start[i], 0.01))
		}
		found, err := optimize.Minimize(optimize.Problem{Func: loss}, start, nil,
			&optimize.NelderMead{})
		if err != nil {
			return nil, fmt.Errorf("the power of %s: %w", draws[0].GPU, err)
		}
		if found.F >= 0.999*best.F {
			break
		}
		best = found
		for i, x := range found.X {
			start[i] = math.Exp(x)
		}
	}
	for i, share := range shares {
		*share = significant(math.Exp(best.X[i]))
	}
	law.Accelerator = draws[0].GPU
	return &law, nil
}

// powerError returns the relative error of the power under a law.
func powerError(l *hardware.PowerLaw, d *validation.Draw) float64 {
	return l.Watts(d.Accelerator, d.Usage)/d.Watts - 1
}

// of returns the law of an accelerator, or that which comes with the program where no law was
// fitted.
func (l powerLaws) of(a *hardware.Accelerator) *hardware.PowerLaw {
	if law := l[a.Name]; law != nil {
		return law
	}
	return a.PowerLaw()
}

// written returns the laws as hardware/fitted/power.yaml has them.
func (l powerLaws) written(draws []validation.Draw, date time.Time) []hardware.PowerLaw {
	var list []hardware.PowerLaw
	for _, name := range slices.Sorted(maps.Keys(l)) {
		law, models := *l[name], map[string]bool{}
		var errors []float64
		for i := range draws {
			if d := &draws[i]; d.GPU == name {
				models[d.Model] = true
				errors = append(errors, math.Log1p(powerError(&law, d)))
			}
		}
		law.Source = fmt.Sprintf("llmsim validate --fit: ML.ENERGY leaderboard "+
			"(ml-energy/leaderboard), vLLM 0.11, %d rows of %d models: %.2g %% while steps "+
			"take as long as measured", len(errors), len(models), 100*medianError(errors))
		law.Date = date.Format(time.DateOnly)
		list = append(list, law)
	}
	return list
}
