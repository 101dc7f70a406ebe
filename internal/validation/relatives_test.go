package validation

import (
	"math"
	"slices"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// Constants carry from one accelerator to the next as far as a warning says: each measured
// accelerator, predicted as if it were not measured, is off by no more than that at its distance,
// and one of them by as much.
func TestRelativesCarryAsFarAsIsSaid(t *testing.T) {
	testkit.Dear(t)
	measuredReport(t) // skips where there are no tables
	data, err := Read(sharedTables(t)...)
	testkit.OK(t, err)
	borrowed := func(a *hardware.Accelerator) (hardware.Constants, int) {
		return hardware.NearestConstants(a, slices.DeleteFunc(hardware.AllConstants(),
			func(c hardware.Constants) bool { return c.Accelerator == a.Name }))
	}
	borrow := func(a *hardware.Accelerator, scaleUp, network *hardware.Link) *hardware.Constants {
		c, _ := borrowed(a)
		own, _ := hardware.FittedConstants(a, scaleUp, network)
		c.ScaleUp, c.Network = own.ScaleUp, own.Network
		return &c
	}
	report, err := data.Compare(t.Context(), accuracy.Physics{Constants: borrow})
	testkit.OK(t, err)
	type rows struct{ gpu, quantity string }
	errors := map[rows][]float64{}
	for _, c := range report.Rows(func(c *accuracy.Comparison) bool {
		return slices.Contains([]string{"TPOT mean", "TPOT p50", "decode step"}, c.Quantity)
	}) {
		of := rows{c.GPU, c.Quantity}
		errors[of] = append(errors[of], math.Abs(c.Predicted/c.Measured-1))
	}
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	largest := [4]float64{} // by distance
	for of, list := range errors {
		slices.Sort(list)
		a, err := catalog.Accelerator(of.gpu)
		testkit.OK(t, err)
		_, distance := borrowed(&a)
		median := accuracy.Quantile(list, 0.5)
		t.Logf("%s, %s: %.3f over %d rows, %d steps away", of.gpu, of.quantity, median, len(list),
			distance)
		largest[distance] = max(largest[distance], median)
	}
	const store = "../../hardware/fitted/relatives.yaml"
	said := map[string]any{}
	testkit.OK(t, files.DecodeYAML(testkit.Read(t, store), &said))
	for k, name := range []string{"same_generation", "other_generation", "other_maker"} {
		if band := said[name].(float64); math.Abs(band-largest[1+k]) > 0.005 {
			t.Errorf("%s says %s: %.2f, measured are %.3f", store, name, band, largest[1+k])
		}
	}
}
