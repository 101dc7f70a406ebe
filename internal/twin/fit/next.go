package fit

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

// Next is a load that could be measured next, and what its result would tell.
type Next struct {
	// Load says it in words.
	Load string `json:"load"`
	// Now and Then are the relative standard deviations of the latency of the scenario's own
	// workload that is least certain: as it is known, and as it would be known.
	Figure string  `json:"figure"`
	Now    float64 `json:"now"`
	Then   float64 `json:"then"`
}

// candidate is a load in words and as a run.
type candidate struct {
	words string
	run   observed.Run
}

// nextRequests is the number of requests of a simulated candidate.
const nextRequests = 300

// candidates lists loads around the scenario's own.
func candidates(rate, prompt, output float64) []candidate {
	made := func(words string, l observed.Load) candidate {
		l.Requests = nextRequests
		if l.Rate > 0 {
			l.Seconds = nextRequests / l.Rate
		}
		return candidate{words, observed.Run{Name: words, Load: l,
			Summary: observed.Figures{TTFT: 1, TPOT: 1}}}
	}
	list := []candidate{
		made("one request at a time", observed.Load{Concurrency: 1, Prompt: prompt,
			Output: output}),
		made("64 requests in flight", observed.Load{Concurrency: 64, Prompt: prompt,
			Output: output}),
		made("256 requests in flight", observed.Load{Concurrency: 256, Prompt: prompt,
			Output: output}),
		made("one request at a time, with prompts four times as long",
			observed.Load{Concurrency: 1, Prompt: 4 * prompt, Output: output}),
		made("64 requests in flight, with prompts of 32 tokens",
			observed.Load{Concurrency: 64, Prompt: 32, Output: output}),
	}
	if rate > 0 {
		list = append(list,
			made(fmt.Sprintf("%.3g requests a second", rate),
				observed.Load{Rate: rate, Prompt: prompt, Output: output}),
			made(fmt.Sprintf("%.3g requests a second", rate/4),
				observed.Load{Rate: rate / 4, Prompt: prompt, Output: output}))
	}
	return list
}

// FindNext returns the loads whose results would narrow the prediction of the scenario's own
// workload most, the best first: of each load, TTFT and TPOT are taken to be measured to 1.5 %,
// and predictions to be linear in the factors' logarithms.
func (r *Result) FindNext(ctx context.Context) ([]Next, error) {
	p := r.problem
	simulation, err := p.server.build(r.Values())
	if err != nil {
		return nil, err
	}
	load := simulation.Source.Summary()
	simulation.Source.Close()
	if load.Prompt < 1 || load.Output < 1 {
		return nil, nil // of a trace the lengths are not known beforehand
	}
	options := candidates(load.Rate, load.Prompt, load.Output)
	own := options[len(options)-1]
	if load.Rate > 0 {
		own = options[len(options)-2]
	}
	decision, err := r.loadSlopes(ctx, &own.run)
	if err != nil {
		return nil, err
	}
	variance := func(c mat.Symmetric, slope []float64) float64 {
		v := mat.NewVecDense(len(slope), slope)
		return mat.Inner(v, c, v)
	}
	covariance := r.solution.covariance
	worst, figure := 0, []string{TTFT, TPOT}
	if variance(covariance, decision[1]) > variance(covariance, decision[0]) {
		worst = 1
	}
	now := calibration * math.Sqrt(variance(covariance, decision[worst]))
	var list []Next
	for i := range options {
		slopes, err := r.loadSlopes(ctx, &options[i].run)
		if err != nil {
			return nil, err
		}
		learnt, err := posterior(covariance, slopes)
		if err != nil {
			return nil, err
		}
		list = append(list, Next{options[i].words, figure[worst], now,
			calibration * math.Sqrt(max(0, variance(learnt, decision[worst])))})
	}
	slices.SortStableFunc(list, func(a, b Next) int {
		switch {
		case a.Then < b.Then:
			return -1
		case a.Then > b.Then:
			return 1
		}
		return 0
	})
	return list, nil
}

// loadSlopes returns by how much TTFT and TPOT of a load follow each factor, in logarithms.
func (r *Result) loadSlopes(ctx context.Context, run *observed.Run) ([2][]float64, error) {
	at := r.solution.at
	var list [2][]float64
	figures := func(x point) ([2]float64, error) {
		o, err := r.problem.server.run(ctx, x.factors(), run)
		if err != nil {
			return [2]float64{}, err
		}
		return [2]float64{mean(o, func(s *served) float64 { return s.ttft }),
			mean(o, func(s *served) float64 { return s.tpot })}, nil
	}
	here, err := figures(at)
	if err != nil {
		return list, err
	}
	for j, f := range Factors() {
		slope := [2]float64{}
		if r.problem.free[j] {
			x := slices.Clone(at)
			h := f.slopeStepFrom(x[j])
			x[j] += h
			there, err := figures(x)
			if err != nil {
				return list, err
			}
			for k := range slope {
				if v := math.Log(there[k]/here[k]) / h; !math.IsNaN(v) && !math.IsInf(v, 0) {
					slope[k] = v
				}
			}
		}
		list[0], list[1] = append(list[0], slope[0]), append(list[1], slope[1])
	}
	return list, nil
}

// posterior returns the covariance of the factors after both figures of a load were measured.
func posterior(c *mat.SymDense, slopes [2][]float64) (*mat.SymDense, error) {
	n := c.SymmetricDim()
	var information mat.SymDense
	var factored mat.Cholesky
	if !factored.Factorize(c) {
		return nil, fmt.Errorf("the covariance of the factors is not positive")
	}
	if err := factored.InverseTo(&information); err != nil {
		return nil, err
	}
	for _, slope := range slopes {
		information.SymRankOne(&information, 1/(model*model), mat.NewVecDense(n, slope))
	}
	var after mat.Cholesky
	if !after.Factorize(&information) {
		return nil, fmt.Errorf("the information on the factors is not positive")
	}
	learnt := &mat.SymDense{}
	return learnt, after.InverseTo(learnt)
}
