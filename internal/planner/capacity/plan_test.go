package capacity

import (
	"reflect"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// Whatever a plan file says, it is a plan or an error of the input.
func FuzzParse(f *testing.F) {
	for _, name := range asked.Shipped() {
		text, err := asked.ReadShipped(name)
		testkit.OK(f, err)
		f.Add(string(text))
	}
	f.Add("model: x\nworkload: {rate: {pattern: wave, average: 1/s, swing: 1}}\nmenu: {hardware: " +
		"[{accelerator: a, count: 1}]}\nslo: {e2e: 1s}")
	f.Fuzz(func(t *testing.T, text string) {
		var file *asked.File
		var err error
		testkit.Bounded(t, len(text), func() {
			file, err = asked.Parse("fuzz.yaml", []byte(text))
		})
		if err != nil {
			if !scenarios.IsInputError(err) {
				t.Errorf("%q: error %v is not one of the input", text, err)
			}
			return
		}
		if p := &file.Plan; len(p.Menu.Hardware) == 0 || p.Effort.Requests < 100 ||
			p.Effort.MostRequests < p.Effort.Requests {
			t.Errorf("%q is taken for a plan: %+v", text, p)
		}
	})
}

// Every key of a plan is in docs/planning.md.
func TestKeysAreDocumented(t *testing.T) {
	data := testkit.Read(t, "../../../docs/planning.md")
	docs := string(data)
	var check func(at reflect.Type, path string)
	check = func(at reflect.Type, path string) {
		for i := range at.NumField() {
			f := at.Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			switch f.Type {
			case reflect.TypeFor[asked.Menu](), reflect.TypeFor[asked.Fleet](),
				reflect.TypeFor[asked.Effort]():
				check(f.Type, key+".")
			case reflect.TypeFor[[]asked.Offer]():
				check(reflect.TypeFor[asked.Offer](), "")
			default:
				if key != "name" && key != "-" && !strings.Contains(docs, "`"+path+key+"`") {
					t.Errorf("docs/planning.md does not tell of %s%s", path, key)
				}
			}
		}
	}
	check(reflect.TypeFor[asked.Plan](), "")
}

// Lengths of simulations grow with the rate and with the limit of the first token, so that an
// overload shows.
func TestSimulationsAreLongEnough(t *testing.T) {
	f, err := asked.Parse("a.yaml", []byte(
		"model: llama-3.1-8b\nworkload: {rate: 2/s}\nslo: {ttft: 3s}\nmenu: {hardware: "+
			"[h100-sxm]}\neffort: {requests: 100}"))
	testkit.OK(t, err)
	for rate, want := range map[float64]int64{0.1: 100, 10: 600, 100: 6000} {
		if first, most := f.Plan.Lengths(rate); first != want || most < 4*want {
			t.Errorf("at %g/s: %d to %d requests, want %d and four times as many", rate, first,
				most, want)
		}
	}
}
