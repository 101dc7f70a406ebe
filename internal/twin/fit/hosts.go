package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
)

// Host is the hardware.host with which times a token are predicted as they were measured.
type Host struct {
	// Value is hardware.host, and Deviation its standard deviation, relative to it.
	Value, Deviation float64
	// Measured is the median TPOT that was measured. Typical is the predicted one with the typical
	// host of the accelerator, and Alone with a host that takes next to no time. All in seconds.
	Measured, Typical, Alone float64
}

// ErrNoHost says that what was measured tells no host.
var ErrNoHost = errors.New("no host is found")

const (
	// leastHost and mostHost bound hardware.host: with the least, the accelerator alone decides.
	leastHost, mostHost = 0.01, 100.0
	// leastShown is by how much a slow host has to lengthen a token over the accelerator's own time
	// for a server to be worth measuring, and mostSpread the largest deviation of a host that is
	// worth telling: half of that of unknown hosts (hardware.Hosts). Both are choices.
	leastShown, mostSpread = 1.1, 0.25
)

// on returns the server on a machine with a host; 0 is the typical one.
func (s *Server) on(host float64) *Server {
	if host == 0 {
		return s
	}
	return &Server{Load: func(sets ...string) (*scenarios.File, error) {
		return s.Load(append(slices.Clip(sets), fmt.Sprintf("hardware.host=%.6g", host))...)
	}}
}

// TPOT returns the median TPOT of the requests of a run, as it was measured and as it is predicted
// with a host (0: the typical one), and the relative standard error of the measured one.
func (s *Server) TPOT(ctx context.Context, host float64, r *observed.Run) (measured, predicted,
	noise float64, err error) {
	pairs, err := s.on(host).Compare(ctx, scenarios.Factors{}, r)
	if err != nil {
		return 0, 0, 0, err
	}
	var both [2][]float64
	for i := range pairs {
		if p := &pairs[i]; p.TPOT[0] > 0 && p.TPOT[1] > 0 {
			both[0], both[1] = append(both[0], p.TPOT[0]), append(both[1], p.TPOT[1])
		}
	}
	n := len(both[0])
	if n == 0 {
		return 0, 0, 0, fmt.Errorf("run %s has no request with two tokens or more", r.Name)
	}
	for i := range both {
		slices.Sort(both[i])
	}
	measured = stat.Quantile(0.5, stat.Empirical, both[0], nil)
	predicted = stat.Quantile(0.5, stat.Empirical, both[1], nil)
	// Of a normal distribution, the quartiles are 1.35 standard deviations apart, and the standard
	// error of the median is 1.25 times that of the mean.
	quartiles := stat.Quantile(0.75, stat.Empirical, both[0], nil) -
		stat.Quantile(0.25, stat.Empirical, both[0], nil)
	return measured, predicted, 1.25 / 1.35 * quartiles / measured / math.Sqrt(float64(n)), nil
}

// hostFor returns the host with which the median TPOT of a run is predicted as the given one, or
// the nearer bound beyond both. Predictions grow with the host.
func (s *Server) hostFor(ctx context.Context, tpot float64, r *observed.Run) (float64, error) {
	low, high := math.Log(leastHost), math.Log(mostHost)
	for high-low > 1e-4 {
		middle := (low + high) / 2
		_, predicted, _, err := s.TPOT(ctx, math.Exp(middle), r)
		if err != nil {
			return 0, err
		}
		if predicted < tpot {
			low = middle
		} else {
			high = middle
		}
	}
	return math.Exp((low + high) / 2), nil
}

// ShowsHost returns ErrNoHost if requests such as those of a run say nothing of the server's host,
// even if that is two deviations slower than the typical one.
func (s *Server) ShowsHost(ctx context.Context, r *observed.Run) error {
	_, alone, _, err := s.TPOT(ctx, leastHost, r)
	if err != nil {
		return err
	}
	slow := Server{Load: func(sets ...string) (*scenarios.File, error) {
		return s.Load(append(slices.Clip(sets), settings(scenarios.Factors{
			Step: math.Exp(2 * hardware.Hosts().Deviation)})...)...)
	}}
	_, most, _, err := slow.TPOT(ctx, 0, r)
	if err != nil || most >= leastShown*alone {
		return err
	}
	from, err := s.hostFor(ctx, leastShown*alone, r)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: the accelerator, and not the host, decides the step: a token takes "+
		"the accelerator %s alone, and a host lengthens it by %s only from %.2g on; want a small "+
		"model there, such as qwen2.5-0.5b", ErrNoHost, units.FormatDuration(alone),
		units.FormatFraction(leastShown-1), from)
}

// FindHost returns the host with which the median TPOT of the requests of a run is predicted as it
// was measured. The error is ErrNoHost if no host takes that time, or if the accelerator hides it.
func (s *Server) FindHost(ctx context.Context, r *observed.Run) (*Host, error) {
	measured, typical, noise, err := s.TPOT(ctx, 0, r)
	if err != nil {
		return nil, err
	}
	_, alone, _, err := s.TPOT(ctx, leastHost, r)
	if err != nil {
		return nil, err
	}
	deviation := math.Hypot(model, noise)
	h := &Host{Measured: measured, Typical: typical, Alone: alone}
	if measured*math.Exp(2*deviation) < alone {
		return nil, fmt.Errorf("%w: found %s a token, want at least the %s that the accelerator "+
			"takes alone: is the model, the format of its weights or the accelerator another, or "+
			"are tokens drafted?", ErrNoHost, units.FormatDuration(measured),
			units.FormatDuration(alone))
	}
	var at [4]float64
	for i, deviations := range []float64{-1, 0, 1, 2} {
		at[i], err = s.hostFor(ctx, measured*math.Exp(deviations*deviation), r)
		if err != nil {
			return nil, err
		}
	}
	h.Value, h.Deviation = at[1], math.Log(at[2]/at[0])/2
	switch {
	case at[2] > 0.99*mostHost:
		return nil, fmt.Errorf("%w: found %s a token, want at most what a host of %g takes: is "+
			"this server, or the way to it, at work for others?", ErrNoHost,
			units.FormatDuration(measured), mostHost)
	case h.Deviation > mostSpread && noise > mostSpread/2:
		return nil, fmt.Errorf("%w: found times a token that differ so much that their median is "+
			"known to ±%s, want an idle server", ErrNoHost, units.FormatFraction(noise))
	case h.Deviation > mostSpread:
		return nil, fmt.Errorf("%w: the accelerator decides the step: found %s a token, of which "+
			"it takes %s alone, so that the host is at most %.3g, and may be any faster one; "+
			"want a smaller model", ErrNoHost, units.FormatDuration(measured),
			units.FormatDuration(alone), at[3])
	}
	return h, nil
}
