package evidence

import (
	_ "embed"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models/engines"
	"github.com/llmsim/llmsim/scenarios/deployment"
)

// Class says what the range of a prediction rests on.
type Class string

// Classes of ranges.
const (
	// Same: servers of the same engine preset, accelerator and model were measured.
	Same Class = "same"
	// Other: no such server was measured.
	Other Class = "other"
	// Outside: no server was measured under a release of the engine within NearMonths.
	Outside Class = "outside"
)

// Metrics whose errors are known. The error of a rate is that of the time for each token. The error
// of E2E is the error of TPOT, which decides it: measured E2E times and TPOTs are off by the same
// factor to 0.2 %.
const (
	TPOT = "TPOT"
	TTFT = "TTFT"
	E2E  = "E2E"
	Rate = "rate"
)

// Metrics returns the metrics of which servers have errors.
func Metrics() []string { return []string{TPOT, TTFT, Rate} }

// Calibration holds the errors from which ranges are made, of rows that were left out of the fit.
type Calibration struct {
	// Kernels say by metric how errors of rows of the same preset, accelerator and model go
	// together.
	Kernels map[string]Kernel `yaml:"kernels"`
	// Weights say by how much each feature widens a range, as a logarithm.
	Weights map[string]float64 `yaml:"weights"`
	Reaches []Reach            `yaml:"reaches"`
}

// Reach is the half width of ranges of a metric and a class, in logarithms, where all features are
// 0 and nothing of the server was seen: in predictions of rows that were left out of the fit, it
// held four in five, each of Servers counting the same.
type Reach struct {
	Metric  string  `yaml:"metric"`
	Class   Class   `yaml:"class"`
	Servers int     `yaml:"servers"`
	Reach   float64 `yaml:"reach"`
	// Inside is the share of the rows in ranges whose constants come from other groups.
	Inside float64 `yaml:"inside"`
}

//go:embed ranges.yaml
var rangesText []byte

// Calibrated returns what the ranges of results are made of.
func Calibrated() *Calibration { return calibrated() }

// calibrated reads a file that is part of the program: it is right, or a test fails.
var calibrated = sync.OnceValue(func() *Calibration {
	c := new(Calibration)
	if err := files.DecodeYAML(rangesText, c); err != nil {
		panic(err)
	}
	return c
})

// Of returns the reach of a metric and a class: where none is known of the class, that of servers
// that were not measured.
func (c *Calibration) Of(metric string, class Class) (reach Reach) {
	for _, r := range c.Reaches {
		if r.Metric == metric && (r.Class == class || r.Class == Other && reach.Class == "") {
			reach = r
		}
	}
	return reach
}

// Width returns by how many times a range of a class is wider at a point than without features.
func (c *Calibration) Width(class Class, p *Point) float64 {
	sum := 0.0
	for i, x := range p.Features(class) {
		sum += float64(c.Weights[Features()[i]] * x)
	}
	return math.Exp(sum)
}

// Features names what ranges are wider for.
func Features() []string { return []string{"users", "sglang", "open", "pcie", "alone", "small"} }

// typicalUsers is the number of users, as a logarithm, at which users do not widen a range.
const typicalUsers = 3.4

// largeModel is the number of active parameters of an accelerator from which on a host that nobody
// measured does not widen a range: in FP16, an H100 reads them in 2.4 ms, and hosts take 2 to 5 ms
// for a step.
const largeModel = 4e9

// Features returns the features of a point in a class: the logarithm of its users over the typical
// number; whether the engine is SGLang, the load is open, tensor parallelism runs over PCIe, and
// the engine was measured with the model on no other accelerator; and, where no such server was
// measured, and so not its host, the logarithm by which a model of the catalogue is smaller than a
// large one, under all loads alike.
func (p *Point) Features(class Class) []float64 {
	list := make([]float64, len(Features()))
	if p.Load.Users > 0 {
		list[0] = math.Log(p.Load.Users) - typicalUsers
	}
	engine := engines.Of(p.Engine)
	measuredOn := acceleratorsOf()[[2]string{engine, p.Model}]
	for i, applies := range []bool{engine == "sglang", p.Load.Open,
		p.Tensor > 1 && strings.HasPrefix(p.Link, "pcie"),
		!slices.ContainsFunc(measuredOn, func(a string) bool { return a != p.Accelerator })} {
		if applies {
			list[1+i] = 1
		}
	}
	if n := activeParameters(p.Model); class != Same && n > 0 {
		list[5] = max(0, math.Log(largeModel*float64(max(1, p.Tensor))/n))
	}
	return list
}

// acceleratorsOf lists the accelerators on which an engine was measured with a model.
var acceleratorsOf = sync.OnceValue(func() map[[2]string][]string {
	list := map[[2]string][]string{}
	for _, k := range servers() {
		at := [2]string{engines.Of(k.Engine), k.Model}
		list[at] = append(list[at], k.Accelerator)
	}
	return list
})

// NearMonths is the number of months between releases within which the one says something of the
// other.
const NearMonths = 2.5

// outside reports whether no server was measured under a release of the engine within NearMonths of
// a version, as of one older than all whose days are known. Where no release of the engine is known
// by date, none is outside.
func outside(engine, version string) bool {
	months, known := engines.MonthsToMeasured(engine, version)
	if !known {
		_, err := engines.ParseVersion(version)
		_, dated := engines.MonthsToMeasured(engine, latest)
		return err == nil && dated
	}
	return months > NearMonths
}

// latest is a version that is newer than all.
const latest = "9999"

// group is the servers whose errors tell of each other.
type group struct{ engine, accelerator, model, metric string }

// processes are the processes of groups, made when they are asked for.
var processes = struct {
	sync.Mutex
	of map[group]*Process
}{of: map[group]*Process{}}

// processOf returns the process of the measured servers with the same preset, accelerator and
// model; nil where no figure of the metric was measured of them.
func processOf(key deployment.Key, metric string) *Process {
	g := group{key.Engine, key.Accelerator, key.Model, metric}
	processes.Lock()
	defer processes.Unlock()
	if p, known := processes.of[g]; known {
		return p
	}
	var points []Point
	var errors []float64
	for _, e := range measured() {
		if e.Quantity == metric && sameServer(e.Key, key) {
			for _, r := range e.Residuals.Rows() {
				points = append(points, Point{e.Key, r.Version, r.Load})
				errors = append(errors, r.Off)
			}
		}
	}
	var p *Process
	if k, known := Calibrated().Kernels[metric]; known && len(points) > 0 {
		p = NewProcess(&k, points, errors)
	}
	processes.of[g] = p
	return p
}

// sameServer reports whether the errors of servers tell of each other.
func sameServer(a, b deployment.Key) bool {
	return a.Engine == b.Engine && a.Accelerator == b.Accelerator && a.Model == b.Model
}

// leastOwn is the least standard deviation of predictions for a deployment: what repeated runs of
// one server differ in (whatif_vllm_0.11_h100: a replicate of a run of seven loads differs by 0.5
// to 2 % in its mean latencies).
const leastOwn = 0.02

// unknownGround is by how much, in logarithms, 80 of 100 predictions are off beside the range of a
// server that was not measured where nothing of its kind was: with 0.30, ranges hold 91 % of TPOTs
// and 78 % of TTFTs of eight such servers (rows left out, validate DIR --fit, 2026).
const unknownGround = 0.30

// Range returns the range of a metric at a point, given what is expected of its error and the share
// of the variance that remains; 0 and 1 where nothing of the server was measured.
func (c *Calibration) Range(metric string, class Class, p *Point, mean,
	variance float64) ErrorRange {
	within := float64(c.Of(metric, class).Reach*c.Width(class, p)) * math.Sqrt(variance)
	return ErrorRange{Bias: mean, Within: max(within, leastOwn*Width80)}
}

// Farther returns by how much, in logarithms, a range of predictions that were fitted under loads
// from least to most users is wider under another load: the root of what the squares of the half
// widths differ by. It is 0 within these loads, or a tenth beside them, and where one of them is
// not known.
func (e *Evidence) Farther(metric string, least, most, users float64) float64 {
	const beside = 1.1 // runs of one load differ by as much in their users
	near := min(max(users, least/beside), most*beside)
	if least <= 0 || users <= 0 || near == users {
		return 0
	}
	if metric == E2E {
		metric = TPOT
	}
	c, at, fitted := Calibrated(), Point{Key: e.Server}, Point{Key: e.Server}
	at.Load.Users, fitted.Load.Users = users, near
	kernel := c.Kernels[metric]
	seen := NewProcess(&kernel, []Point{fitted}, []float64{0})
	_, there := seen.At(&at)
	_, here := seen.At(&fitted)
	return float64(c.Of(metric, Same).Reach*c.Width(Same, &at)) * math.Sqrt(max(0, there-here))
}

// rangeOf returns the range of a metric at a point, and its class. alike is false where servers of
// the same kind say nothing, since they do something else or are taken as not measured.
func rangeOf(metric string, p *Point, alike bool) (ErrorRange, Class) {
	c := Calibrated()
	if outside(p.Engine, p.Version) {
		return c.Range(metric, Outside, p, 0, 1), Outside
	}
	if alike {
		if process := processOf(p.Key, metric); process != nil {
			mean, variance := process.At(p)
			// The last digits differ between machines.
			mean, variance = math.Round(mean*1e6)/1e6, math.Round(variance*1e6)/1e6
			return c.Range(metric, Same, p, mean, variance), Same
		}
	}
	return c.Range(metric, Other, p, 0, 1), Other
}
