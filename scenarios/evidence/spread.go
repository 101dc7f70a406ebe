package evidence

import (
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/scenarios/deployment"
)

// Spread says how far predictions may be from measurements. The logarithm of the measured over the
// predicted time is assumed to be normally distributed around a bias, which is above 0 if measured
// times are longer. TPOT and TTFT are the standard deviations.
type Spread struct {
	TPOT     float64 `json:"tpot"`
	TTFT     float64 `json:"ttft"`
	TPOTBias float64 `json:"tpot_bias"`
	TTFTBias float64 `json:"ttft_bias"`
}

// Width80 is the number of standard deviations within which 80 of 100 values of a normal
// distribution lie, to each side.
const Width80 = 1.2816

// Off describes the logarithms of the measured over the predicted times of one quantity: 80 of 100
// differ from Bias by at most Within.
type Off struct {
	Bias   float64 `json:"bias"`
	Within float64 `json:"within"`
}

// Holds reports whether the logarithm of a measured over the predicted time lies in a range that
// is to hold 80 of 100, or where width is another number of standard deviations, its share.
func (o Off) Holds(deviation, width float64) bool {
	return math.Abs(deviation-o.Bias) <= o.Within*width/Width80
}

// Below returns o for predictions of a lower grade than those from which o comes, by adding an
// independent error. Its squares are not fused, and math.Hypot is not used, since the last digit of
// both differs between machines.
func (o Off) Below(g Grade, quantity string) Off {
	more := beyond(g, quantity)
	return Off{o.Bias, math.Sqrt(float64(o.Within*o.Within) + float64(more*more))}
}

// beyond returns by how much, in logarithms, 80 of 100 predictions are off because less was
// measured than of the servers that pools are of, to whose rows the constants were fitted. It
// follows from the errors that a fit prints (validate DIR --fit, 22 November 2026): 80 of 100
// served TPOTs were within 0.146 of the predicted ones, and TTFTs within 0.482; with their engine,
// accelerator and model left out of the fit within 0.184 and 0.500. In an earlier fit, where that
// was 0.165 and 0.87, they were within 0.225 and 0.95 with their accelerator left out, which then
// takes the constants of a relative. Over generations of accelerators decode steps are off by up to
// 0.25 (hardware/fitted/relatives.yaml); for TTFT twice that is a guess.
func beyond(g Grade, quantity string) float64 {
	errors := map[Grade][2]float64{Relative: {0.10, 0.13}, Kernels: {0.15, 0.38},
		Formula: {0.25, 0.50}}[g]
	if quantity == "TTFT" {
		return errors[1]
	}
	return errors[0]
}

//go:embed spread.csv
var spreads string

// SpreadHeader is the first line of the table of pools.
const SpreadHeader = "engine,experts,quantity,servers,rows,bias,within"

// Pool says how far predictions were off for all servers of one engine and kind of model together.
// An empty engine stands for all, and so does an empty Experts, which else is "yes" or "no".
type Pool struct {
	Engine, Experts, Quantity string
	Servers, Rows             int
	Off
}

// Record returns the pool as a line of the table.
func (p *Pool) Record() string {
	return fmt.Sprintf("%s,%s,%s,%d,%d,%.3f,%.3f", p.Engine, p.Experts, p.Quantity, p.Servers,
		p.Rows, p.Bias, p.Within)
}

// pools reads the table, which is part of the program: it is right, or a test fails.
var pools = sync.OnceValue(func() []Pool {
	rows, err := csv.NewReader(strings.NewReader(spreads)).ReadAll()
	if err != nil {
		panic(fmt.Sprintf("spread.csv: %v", err))
	}
	var list []Pool
	for i, row := range rows[1:] {
		p := Pool{Engine: row[0], Experts: row[1], Quantity: row[2]}
		var err [4]error
		p.Servers, err[0] = strconv.Atoi(row[3])
		p.Rows, err[1] = strconv.Atoi(row[4])
		p.Bias, err[2] = strconv.ParseFloat(row[5], 64)
		p.Within, err[3] = strconv.ParseFloat(row[6], 64)
		if err := errors.Join(err[:]...); err != nil {
			panic(fmt.Sprintf("spread.csv:%d: %v", i+2, err))
		}
		list = append(list, p)
	}
	return list
})

// pooled returns the pool that is nearest to a server: that of its engine and kind of model, of its
// engine, or of all.
func pooled(key deployment.Key, quantity string) Off {
	best, rank := Off{}, -1
	for i := range pools() {
		p := &pools()[i]
		same := p.Quantity == quantity && (p.Engine == "" || p.Engine == key.Engine) &&
			(p.Experts == "" || p.Experts == Experts(key.Model))
		n := 0
		if p.Engine != "" {
			n++
		}
		if p.Experts != "" {
			n++
		}
		if same && n > rank {
			best, rank = p.Off, n
		}
	}
	return best
}

// Experts returns "yes" for a model with routed experts, "no" for one without, and "" for one that
// is not in the catalogue.
func Experts(model string) string {
	a, err := shipped().models.Lookup(model)
	switch {
	case err != nil:
		return ""
	case a.Experts() != nil:
		return "yes"
	}
	return "no"
}

// off returns how far predictions of a quantity may be off for a server of a grade.
func off(g Grade, key deployment.Key, errors []Error, quantity string) Off {
	for i := range errors {
		if e := &errors[i]; g == Measured && e.Quantity == quantity {
			return e.Off
		}
	}
	if g == Measured {
		g = Relative // the other latency was measured
	}
	return pooled(key, quantity).Below(g, quantity)
}

// spread returns the spread for a server of a grade, given the errors that were measured of it.
func spread(g Grade, key deployment.Key, errors []Error) Spread {
	tpot, ttft := off(g, key, errors, "TPOT"), off(g, key, errors, "TTFT")
	return Spread{TPOT: tpot.Within / Width80, TPOTBias: tpot.Bias,
		TTFT: ttft.Within / Width80, TTFTBias: ttft.Bias}
}

// Range returns the factors on a predicted TPOT between which 80 of 100 measured values lie.
func (s *Spread) Range() (low, high float64) { return between(s.TPOTBias, s.TPOT) }

// RangeTTFT is Range for TTFT.
func (s *Spread) RangeTTFT() (low, high float64) { return between(s.TTFTBias, s.TTFT) }

func between(bias, deviation float64) (low, high float64) {
	width := float64(deviation * Width80) // not fused, so that all machines print the same
	return math.Exp(bias - width), math.Exp(bias + width)
}
