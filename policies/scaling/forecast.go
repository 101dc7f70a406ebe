package scaling

import (
	"fmt"
	"math"

	"github.com/llmsim/llmsim/sim"
)

// Forecast starts replicas before they are needed. It smooths the rate of arrivals and its trend
// (Holt's linear exponential smoothing, Int. J. Forecasting 20(1), 2004), extrapolates them by the
// time that a replica takes to start, and divides by the rate that one replica serves.
type Forecast struct {
	perReplica   float64 // requests a second, above 0
	ahead        float64 // seconds, at least 0
	level, trend float64 // weights of the newest rate and of the newest trend, in (0, 1]
	hold         hold

	// Replicas, which the simulator calls at increasing times, alone changes these.
	rate, slope float64  // smoothed requests a second, and their change a second
	arrived     int64    // Pool.Arrived at the last call
	at          sim.Time // of the last call
	samples     int      // calls so far; the slope begins with the second
}

// NewForecast returns the scaler. perReplica is the number of requests a second that a replica
// serves, above 0. The scaler looks ahead by the given time, and replicas that are not needed stay
// for keep. The weights of the newest rate and of the newest trend are in (0, 1].
func NewForecast(perReplica float64, ahead, keep sim.Time, level, trend float64) (*Forecast,
	error) {
	switch {
	case !(perReplica > 0) || math.IsInf(perReplica, 1):
		return nil, fmt.Errorf("per-replica is %g requests a second, want more than 0", perReplica)
	case ahead < 0:
		return nil, fmt.Errorf("ahead is %v, want 0 or more", ahead)
	case !(level > 0 && level <= 1) || !(trend > 0 && trend <= 1):
		return nil, fmt.Errorf(
			"weights are %g for the level and %g for the trend, want more than 0 and at most 1",
			level, trend)
	}
	return &Forecast{perReplica: perReplica, ahead: ahead.Seconds(), level: level, trend: trend,
		hold: hold{keep: keep}}, nil
}

// Replicas implements sim.Scaler.
func (f *Forecast) Replicas(p *sim.Pool) int {
	now := p.Now()
	f.observe(float64(p.Arrived()-f.arrived), (now - f.at).Seconds())
	f.arrived, f.at = p.Arrived(), now
	return f.hold.most(now, atLeast(max(0, f.rate+f.slope*f.ahead)/f.perReplica))
}

// observe adds the rate of the last span seconds to the smoothed values.
func (f *Forecast) observe(arrivals, span float64) {
	rate := arrivals / span
	f.samples++
	if f.samples == 1 {
		f.rate = rate
		return
	}
	before := f.rate
	f.rate = f.level*rate + (1-f.level)*(f.rate+f.slope*span)
	f.slope = f.trend*(f.rate-before)/span + (1-f.trend)*f.slope
}
