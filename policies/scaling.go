package policies

import (
	"github.com/llmsim/llmsim/policies/scaling"
	"github.com/llmsim/llmsim/sim"
)

// scalingPolicies returns the scalers of package scaling, the default first.
func scalingPolicies() []Policy[sim.Scaler] {
	return []Policy[sim.Scaler]{
		{
			Name: "outstanding", Doc: "a number of unfinished requests for each replica",
			Settings: scaleOutstanding{},
		},
		{
			Name: "queue", Doc: "more replicas while requests wait for a place in a batch",
			Settings: scaleQueue{},
		},
		{
			Name: "utilization", Doc: "a share of time in which steps run",
			Source:   "the rule of the Kubernetes horizontal pod autoscaler",
			Settings: scaleUtilization{},
		},
		{
			Name:     "forecast",
			Doc:      `the rate of arrivals and its trend, as far ahead as a replica takes to start`,
			Source:   `Holt, Forecasting seasonals and trends by exponentially weighted moving averages, Int. J. Forecasting 20(1), 2004`,
			Settings: scaleForecast{},
		},
	}
}

// keep is the time for which a replica stays that is not needed.
type keep struct {
	Keep Span `json:"keep" default:"5m" jsonschema:"time for which replicas stay that are not needed"`
}

type scaleOutstanding struct {
	Target float64 `json:"target" default:"32" jsonschema:"unfinished requests for each replica"`
	keep
}

func (s scaleOutstanding) New(Deployment) (sim.Scaler, error) {
	return scaling.NewOutstanding(s.Target, sim.Time(s.Keep))
}

type scaleQueue struct {
	PerReplica float64 `json:"per-replica" default:"8" jsonschema:"waiting requests that call for a replica more"`
	keep
}

func (s scaleQueue) New(Deployment) (sim.Scaler, error) {
	return scaling.NewQueue(s.PerReplica, sim.Time(s.Keep))
}

type scaleUtilization struct {
	Target float64 `json:"target" default:"0.7" jsonschema:"share of the time"`
	keep
}

func (s scaleUtilization) New(Deployment) (sim.Scaler, error) {
	return scaling.NewUtilization(s.Target, sim.Time(s.Keep))
}

type scaleForecast struct {
	PerReplica float64 `json:"per-replica" default:"5" jsonschema:"requests a second that one replica serves"`
	Ahead      Span    `json:"ahead" default:"1m" jsonschema:"how far to look ahead"`
	Level      float64 `json:"level" default:"0.3" jsonschema:"weight of the newest rate"`
	Trend      float64 `json:"trend" default:"0.1" jsonschema:"weight of the newest change of the rate"`
	keep
}

func (s scaleForecast) New(Deployment) (sim.Scaler, error) {
	return scaling.NewForecast(s.PerReplica, sim.Time(s.Ahead), sim.Time(s.Keep), s.Level, s.Trend)
}
