package evidence

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models/engines"
)

// Every row of the table is found under its own key, and reads back as it is written.
func TestEveryRowIsFound(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(table), "\n")
	list := measured()
	if len(list) != len(lines)-1 || len(list) == 0 {
		t.Fatalf("%d rows of %d lines", len(list), len(lines))
	}
	var again strings.Builder
	if testkit.OK(t, files.WriteTable(&again, list)); again.String() != table {
		t.Error("the table is written in another way than it is read")
	}
	for _, e := range list {
		if again := ResidualsOf(e.Residuals.Rows()); again != e.Residuals ||
			len(e.Residuals.Rows()) != e.Rows {
			t.Errorf("%d rows %q are read as %q", e.Rows, e.Residuals, again)
		}
		found := errorsOf(e.Key)
		if len(found) == 0 || len(found) > 3 || !strings.Contains(held(found, ""), e.Accelerator) {
			t.Errorf("%+v is not among %+v", e, found)
		}
		if e.Rows <= 0 || e.Median < 0 {
			t.Errorf("%+v", e)
		}
	}
}

// Whatever of a server differs from what was measured, nothing is said of it.
func TestOtherServersAreNotKnown(t *testing.T) {
	key := measured()[0].Key
	for i, change := range []func(){
		func() { key.Engine = "other" }, func() { key.Accelerator = "other" },
		func() { key.Model = "other" },
		func() { key.Weights = "int4" }, func() { key.KV = "int8" }, func() { key.Tensor += 3 },
		func() { key.Pipeline++ }, func() { key.Expert += 3 }, func() { key.Data++ },
		func() { key.Link = "other" },
		func() { key.Batching = "other" }, func() { key.Memory = "other" },
		func() { key.Speculation = "other" },
	} {
		was := key
		change()
		if list := errorsOf(key); len(list) > 0 || held(list, "") != "" {
			t.Errorf("change %d: %+v is taken for %+v", i, key, list)
		}
		key = was
	}
}

// A sentence has the error of predictions that were fitted without the server, and says which
// versions were measured where another one is asked.
func TestSentencesNameErrorsLeftOutAndVersions(t *testing.T) {
	e := measured()[0]
	e.Versions, e.LeftOut, e.Median = []string{"0.15.1", "0.12.0"}, 0.25, 0.01
	words := held([]Error{e}, "0.23")
	for _, want := range []string{"25%", "0.12.0–0.15.1 (yours is 0.23)", "without such servers"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q lacks %q", words, want)
		}
	}
	if strings.Contains(words, "1%") {
		t.Errorf("%q has the error in the fit", words)
	}
	if words := held([]Error{e}, "0.15"); strings.Contains(words, "yours") {
		t.Errorf("%q though 0.15.1 was measured", words)
	}
	e.LeftOut = 0
	if words := held([]Error{e}, ""); !strings.Contains(words, "not known") {
		t.Errorf("%q although it was never left out", words)
	}
}

// The registry of engines knows every version of which servers were measured: no result says that a
// version is newer than any measured one beside the error of its servers.
func TestTheRegistryKnowsEveryMeasuredVersion(t *testing.T) {
	for _, e := range measured() {
		for _, text := range e.Versions {
			r, err := engines.Find(e.Engine, text)
			if err != nil || !slices.ContainsFunc(r.Evidence, func(known engines.Evidence) bool {
				return known.Version.Compare(r.Version) == 0 || strings.Count(text, ".") == 1 &&
					strings.HasPrefix(known.Version.String(), text+".")
			}) {
				t.Errorf("%s %s is not among the versions with evidence (%v)", e.Engine, text, err)
			}
		}
	}
}

// What a result says of measured errors is read back from its JSON as it was written.
func TestErrorsAreReadBack(t *testing.T) {
	for _, want := range []Error{{}, {Quantity: "TPOT", Versions: versions{"0.15.1", "0.19.0"}}} {
		text, err := json.Marshal(want)
		testkit.OK(t, err)
		var got Error
		testkit.OK(t, json.Unmarshal(text, &got))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
}

// No chance is above the share of such forecasts that came true, nor above what is computed, and it
// grows with that. No server that was not measured is called sure, and none is surer than another
// on better evidence.
func TestChancesAreBorneOut(t *testing.T) {
	for k, g := range slices.Repeat(Grades(), 2) {
		last, high := 0.0, k < len(Grades())
		for i := range 101 {
			p := float64(i) / 100
			known, record := g.Supported(p, high)
			kept, cases := record.Kept, record.Cases
			if most := float64(kept+1) / float64(cases+2); cases < 30 || known > most ||
				known > p || known < last {
				t.Errorf("%s: %g of %g is known by %d of %d, after %g", g, known, p, kept, cases,
					last)
			}
			last = known
		}
		if g != Measured && last > 0.98 {
			t.Errorf("%s: %g", g, last)
		}
	}
	if known, record := Here.Supported(0.99, true); known != 0.99 || record.Cases != 0 {
		t.Errorf("of a deployment's own measurements: %g by %d cases", known, record.Cases)
	}
	for _, high := range []bool{false, true} {
		for i := range 101 {
			last := 1.0
			for _, g := range Grades() {
				known, _ := g.Supported(float64(i)/100, high)
				if known > last {
					t.Errorf("%s: %g of %d %% is known, and %g of a better grade", g, known, i,
						last)
				}
				last = known
			}
		}
	}
	// What is said above 98 % came true in 93 of 100 cases and more.
	for _, f := range forecasts() {
		known, _ := f.Evidence.Supported(1, High(f.Quantile))
		share := float64(f.Kept) / float64(f.Cases)
		if f.From >= sure && known > sure && share < 0.93 {
			t.Errorf("%s: of %d cases said above 98 %%, %.3f came", f.Evidence, f.Cases, share)
		}
	}
}

// FP16 stands for BF16 only where accelerators compute both at the same rate, or cannot compute one
// of them, as all that were measured.
func TestMeasuredAcceleratorsComputeBothFormatsAlike(t *testing.T) {
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	for _, e := range measured() {
		a, err := catalog.Accelerator(e.Accelerator)
		testkit.OK(t, err)
		one, other := a.Peak[hardware.FP16], a.Peak[hardware.BF16]
		if one > 0 && other > 0 && one != other {
			t.Errorf("%s computes FP16 at %g and BF16 at %g FLOP/s", a.Name, one, other)
		}
	}
}
