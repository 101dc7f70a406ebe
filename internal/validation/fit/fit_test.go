package fit

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation"
	"github.com/llmsim/llmsim/models/steptime"
)

// layers returns a table of the kernels of layers on the H100, as the clock predicts them with the
// given constants.
func layers(t *testing.T, truth *values) *validation.Data {
	t.Helper()
	const file = "linear_layers.csv"
	var loads []string
	for _, model := range []string{"llama-2-7b", "llama-2-70b"} {
		for _, tp := range []int{1, 2, 4, 8} {
			for tokens := 1; tokens <= 4096; tokens *= 2 {
				loads = append(loads, fmt.Sprintf("h100,%s,%d,%d", model, tp, tokens))
			}
		}
	}
	measured := map[string]string{}
	read := func() *validation.Data {
		table := &strings.Builder{}
		table.WriteString("gpu,model,tp,num_tokens,gemm_ms_per_layer," +
			"elementwise_ms_per_layer,iter_linear_ms\n")
		for i, load := range loads {
			line := fmt.Sprint(i + 2)
			fmt.Fprintf(table, "%s,%s,%s,\n", load, orOne(measured[line+"GEMMs a layer"]),
				orOne(measured[line+"element-wise a layer"]))
		}
		data, err := validation.Read(fstest.MapFS{file: {Data: []byte(table.String())}})
		testkit.OK(t, err)
		return data
	}
	report, err := read().Compare(context.Background(), truth.physics())
	testkit.OK(t, err)
	for _, c := range report.Tables[0].Rows {
		measured[fmt.Sprint(c.Line)+c.Quantity] = fmt.Sprint(c.Predicted)
	}
	return read()
}

func orOne(s string) string {
	if s == "" {
		return "1"
	}
	return s
}

// otherH100 is an H100 whose products and element-wise kernels differ from the shipped ones,
// towards what is believed without measurements, which pulls what few rows determine.
func otherH100(t *testing.T) *values {
	t.Helper()
	catalog, err := hardware.Load()
	testkit.OK(t, err)
	a, err := catalog.Accelerator("h100-sxm")
	testkit.OK(t, err)
	c, _ := hardware.FittedConstants(&a, nil, nil)
	product := 0.9 * c.Linear.Compute[hardware.BF16]
	c.Linear.Compute = map[hardware.DType]float64{hardware.BF16: product}
	c.Linear.Memory *= 0.9
	c.Linear.Kernel *= 1.05
	c.Elementwise.Kernel *= 0.78
	c.Elementwise.Memory = 0.62
	v := newValues()
	v.accelerators[a.Name] = c
	return v
}

func run(t *testing.T, data *validation.Data) *Result {
	t.Helper()
	r, err := Run(context.Background(), data, nil, func(string) {})
	testkit.OK(t, err)
	return r
}

// A fit to rows that the clock made with other constants.
func TestFitToRowsOfTheClock(t *testing.T) {
	other := otherH100(t)
	data := layers(t, other)
	r := run(t, data)
	t.Run("recovers the constants", func(t *testing.T) { recoversConstants(t, r, other) })
	t.Run("is the same each time", func(t *testing.T) {
		again := run(t, data)
		if !reflect.DeepEqual(r.Constants, again.Constants) ||
			!reflect.DeepEqual(r.Errors, again.Errors) {
			t.Error("two fits to the same rows differ")
		}
	})
	t.Run("writes files that read back and replaces none", func(t *testing.T) {
		writesFiles(t, r)
	})
}

// recoversConstants checks that a fit found the constants that made its rows.
func recoversConstants(t *testing.T, r *Result, other *values) {
	c := other.accelerators["h100-sxm"]
	want := map[string]float64{"linear.compute.bf16": c.Linear.Compute[hardware.BF16],
		"linear.memory": c.Linear.Memory, "linear.kernel": float64(c.Linear.Kernel),
		"elementwise.kernel": float64(c.Elementwise.Kernel)}
	for _, c := range r.Constants {
		truth, changed := want[c.Name]
		switch {
		case changed && c.Prior:
			t.Errorf("%s is not determined: ±%g", c.Name, c.Deviation)
		case changed && math.Abs(c.Fitted/truth-1) > 0.02:
			t.Errorf("%s is %g, want %g", c.Name, c.Fitted, truth)
		case strings.HasPrefix(c.Name, "attention.") || strings.HasPrefix(c.Name, "experts."):
			i := slices.IndexFunc(allConstants(), func(k constant) bool { return k.Name == c.Name })
			prior := math.Sqrt(allConstants()[i].Low * allConstants()[i].High)
			if !c.Prior || math.Abs(c.Fitted/prior-1) > 1e-12 {
				t.Errorf("%s became %g, though no row depends on it", c.Name, c.Fitted)
			}
		}
	}
	for _, e := range r.Errors {
		most := 1.0
		if strings.HasPrefix(e.Quantity, "element-wise") { // counts little beside what is believed
			most = 2
		}
		if e.Fitted > most {
			t.Errorf("%s %s: error %.2f %% on rows that the clock made", e.Table, e.Quantity,
				e.Fitted)
		}
		if e.WithoutModel == nil {
			t.Errorf("%s %s: no row was left out", e.Table, e.Quantity)
		} else if *e.WithoutModel > most+0.5 {
			t.Errorf("%s %s: error %.2f %% on rows that the clock made and that were left out",
				e.Table, e.Quantity, *e.WithoutModel)
		}
	}
}

func TestLossFallsAsItsGradientSays(t *testing.T) {
	p, _, err := newProblem(context.Background(), layers(t, otherH100(t)), nil, func(string) {})
	testkit.OK(t, err)
	x := p.pointOf(p.shipped)
	around, err := p.predict(context.Background(), x)
	testkit.OK(t, err)
	l, err := p.linearise(context.Background(), around)
	testkit.OK(t, err)
	l.weights = p.weights(func(*row) bool { return true })
	step, gradient := make([]float64, len(x)), make([]float64, len(x))
	l.gradient(gradient, step)
	const h = 1e-6
	for j := range x {
		step[j] = h
		up := l.loss(step)
		step[j] = -h
		slope := (up - l.loss(step)) / (2 * h)
		step[j] = 0
		if math.Abs(slope-gradient[j]) > 1e-4*(1+math.Abs(slope)) {
			t.Errorf("%s: slope %g, gradient %g", p.parameters[j].name, slope, gradient[j])
		}
	}
}

// writesFiles checks that the files of a fit read back and that it replaces none.
func writesFiles(t *testing.T, r *Result) {
	dir := t.TempDir()
	date := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	testkit.OK(t, r.Write(dir, date))
	data := testkit.Read(t, filepath.Join(dir, "accelerators", "h100-sxm.yaml"))
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	var c hardware.Constants
	if err := decoder.Decode(&c); err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	fitted := r.fitted.accelerators["h100-sxm"]
	want := stated(accelerator, hardware.Stated("h100-sxm"), &fitted)
	want.Fit = r.owners[owner{accelerator, "h100-sxm"}].fit(date)
	if !reflect.DeepEqual(c, want) {
		t.Errorf("read back\n%+v\nwant\n%+v", c, want)
	}
	if c.Fit.Date != "2026-03-01" || c.Fit.Rows != r.Rows ||
		!strings.Contains(c.Fit.Source, "linear_layers") {
		t.Errorf("fit is %+v", c.Fit)
	}
	for name, begin := range map[string]string{"left_out_rows.csv": "table,file,line,",
		"errors.csv": "file,line,quantity,error_pct,group,part,half,other_half,release\n"} {
		left, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.HasPrefix(string(left), begin) {
			t.Errorf("%s: %v, %q", name, err, left)
		}
	}
	if err := r.Write(dir, date); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("writing over constants: %v", err)
	}
}

func TestFitToMeasuredBatchesIsNoWorse(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates a few thousand servers")
	}
	table := testkit.Read(t, testkit.Shared(t, "measured", "static_batch_a100_fp16.csv"))
	data, err := validation.Read(fstest.MapFS{"static_batch_a100_fp16.csv": {Data: table}})
	testkit.OK(t, err)
	for _, e := range run(t, data).Errors {
		if e.Quantity == "token p50" && e.Fitted > e.Shipped+1 {
			t.Errorf("error %.1f %% after the fit, %.1f %% before", e.Fitted, e.Shipped)
		}
	}
}

// No constant ships from a fit of some owners alone, and none has a kernel read more than any
// reaches, whatever the engine.
func TestShippedConstantsAreThoseOfOneFit(t *testing.T) {
	for _, e := range steptime.Engines() {
		if strings.Contains(e.Source, "--only") {
			t.Errorf("%s is from a fit for study: %s", e.Name, e.Source)
		}
		for _, c := range hardware.AllConstants() {
			if strings.Contains(c.Fit.Source, "--only") {
				t.Errorf("%s is from a fit for study: %s", c.Accelerator, c.Fit.Source)
			}
			experts := c.Experts.Memory
			for _, b := range e.Served.Backends {
				experts = max(experts, b.Memory)
			}
			for name, share := range map[string]float64{"products": c.Linear.Memory,
				"experts": experts, "attention": c.Attention.DecodeMemory} {
				if share > steptime.MostBandwidth {
					t.Errorf("%s of %s on %s read %.0f %% of the bandwidth", name, e.Name,
						c.Accelerator, 100*share)
				}
			}
		}
	}
}

// Rows that share a parameter or repeat each other determine no more constants than there are rows
// or parameters; one row on one parameter determines the share that its precision has beside the
// prior's, and no row determines anything. Of two that rows tell only together, one is its prior.
func TestEffectiveNumberOfConstants(t *testing.T) {
	const prior, deviation, slope, weight = 0.4, 0.05, 0.3, 0.7
	var known []bool
	of := func(parameters int, rows [][]int) float64 {
		p := &problem{parameters: make([]parameter, parameters)}
		for j := range p.parameters {
			p.parameters[j].deviation = prior
		}
		l := &linearised{problem: p, prediction: prediction{at: make(point, parameters),
			errors: make([]float64, len(rows))}}
		for i, places := range rows {
			p.rows = append(p.rows, row{parameters: places, deviation: deviation})
			l.slopes = append(l.slopes, make([]float64, len(places)))
			for k := range places {
				l.slopes[i][k] = slope * float64(1+k+i)
			}
			l.weights = append(l.weights, weight)
		}
		determined, deviations, err := p.known(l)
		testkit.OK(t, err)
		known = determined
		return p.effective(deviations)
	}
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: %g effective constants, want %g", name, got, want)
		}
	}
	near("no row", of(3, nil), 0)
	_, _, curvature := robust(0)
	information := weight * curvature * slope * slope / (deviation * deviation)
	near("one row", of(1, [][]int{{0}}), information/(information+1/(prior*prior)))
	near("a parameter without rows", of(2, [][]int{{0}}), of(1, [][]int{{0}}))
	if n := of(3, [][]int{{0, 1, 2}}); n <= 0 || n > 1 {
		t.Errorf("one row determines %g constants, want at most 1", n)
	}
	fewer := of(2, [][]int{{0, 1}})
	if known[0] == known[1] {
		t.Errorf("a row on two parameters determines %v", known)
	}
	more := of(2, [][]int{{0, 1}, {1, 0}, {0, 1}})
	if more > 2 || more <= fewer {
		t.Errorf("three rows determine %g of 2 constants, one %g", more, fewer)
	}
}
