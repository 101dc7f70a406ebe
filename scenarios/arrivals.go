package scenarios

import (
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
)

// process returns the arrival process at a rate, for workloads that are not a closed loop.
func (a *Arrivals) process(r *Rate) arrivals.Process {
	switch a.Process {
	case "at-once":
		return arrivals.Process{Rate: arrivals.AtOnce{}}
	case "constant":
		return arrivals.Process{Rate: r.overTime(), Gaps: arrivals.Constant{}}
	case "gamma":
		return arrivals.Process{Rate: r.overTime(), Gaps: arrivals.Gamma{CV: a.CV}}
	case "weibull":
		return arrivals.Process{Rate: r.overTime(), Gaps: arrivals.Weibull{K: a.Shape, CV: a.CV}}
	case "lognormal":
		return arrivals.Process{Rate: r.overTime(), Gaps: arrivals.LogNormal{CV: a.CV}}
	}
	return arrivals.Process{Rate: r.overTime()}
}

// overTime returns the rate as a function of time.
func (r *Rate) overTime() arrivals.Rate {
	switch r.Pattern {
	case "phases":
		phases := arrivals.Phases{Repeat: r.Repeat}
		for _, p := range r.Phases {
			phases.List = append(phases.List, p.between())
		}
		return phases
	case "bursts":
		return arrivals.Bursts{High: float64(r.High), Low: float64(r.Low), For: sim.Time(r.For),
			Pause: sim.Time(r.Pause), Random: r.Random}
	case "wave":
		return arrivals.Diurnal{Average: float64(r.Average), Swing: r.Swing,
			Period: sim.Time(r.Period), Peak: sim.Time(r.Peak)}
	}
	return arrivals.Steady(r.Value)
}

func (p Phase) between() arrivals.Phase {
	end := p.Rate
	if p.To != nil {
		end = *p.To
	}
	return arrivals.Phase{From: float64(p.Rate), To: float64(end), For: sim.Time(p.For)}
}

// delay returns the user's thinking time in the form of the workload package.
func (d *Delay) delay() arrivals.Delay {
	delay := arrivals.Delay{Mean: sim.Time(d.Mean)}
	switch d.Distribution {
	case "exponential":
		delay.Shape = arrivals.Exponential{}
	case "gamma":
		delay.Shape = arrivals.Gamma{CV: d.CV}
	case "lognormal":
		delay.Shape = arrivals.LogNormal{CV: d.CV}
	}
	return delay
}
