package policies

import (
	"github.com/llmsim/llmsim/policies/scaling"
	"github.com/llmsim/llmsim/sim"
)

// scalingPolicies returns the scalers of package scaling, the default first.
func scalingPolicies() []Policy[sim.Scaler] {
	return []Policy[sim.Scaler]{scaleOutstanding(), scaleQueue(), scaleUtilization(),
		scaleForecast()}
}

// keep is how long a replica stays that is not needed.
func keep(own ...Param) []Param {
	return append(own, Param{Name: "keep", Doc: "time for which replicas stay that are not needed",
		Default: "5m", Kind: Duration})
}

func scaleOutstanding() Policy[sim.Scaler] {
	return Policy[sim.Scaler]{
		Name: "outstanding",
		Doc:  "a number of unfinished requests for each replica",
		Params: keep(Param{Name: "target", Doc: "unfinished requests for each replica",
			Default: "32", Kind: Number}),
		New: func(_ Deployment, v Values) (sim.Scaler, error) {
			return scaling.NewOutstanding(v.Number("target"), v.Duration("keep"))
		},
	}
}

func scaleQueue() Policy[sim.Scaler] {
	return Policy[sim.Scaler]{
		Name: "queue",
		Doc:  "more replicas while requests wait for a place in a batch",
		Params: keep(Param{Name: "per-replica",
			Doc: "waiting requests that call for a replica more", Default: "8", Kind: Number}),
		New: func(_ Deployment, v Values) (sim.Scaler, error) {
			return scaling.NewQueue(v.Number("per-replica"), v.Duration("keep"))
		},
	}
}

func scaleUtilization() Policy[sim.Scaler] {
	return Policy[sim.Scaler]{
		Name:   "utilization",
		Doc:    "a share of time in which steps run",
		Source: "the rule of the Kubernetes horizontal pod autoscaler",
		Params: keep(Param{Name: "target", Doc: "share of the time", Default: "0.7", Kind: Number}),
		New: func(_ Deployment, v Values) (sim.Scaler, error) {
			return scaling.NewUtilization(v.Number("target"), v.Duration("keep"))
		},
	}
}

func scaleForecast() Policy[sim.Scaler] {
	return Policy[sim.Scaler]{
		Name: "forecast",
		Doc:  "the rate of arrivals and its trend, as far ahead as a replica takes to start",
		Source: "Holt, Forecasting seasonals and trends by exponentially weighted moving " +
			"averages, Int. J. Forecasting 20(1), 2004",
		Params: keep(
			Param{Name: "per-replica", Doc: "requests a second that one replica serves",
				Default: "5", Kind: Number},
			Param{Name: "ahead", Doc: "how far to look ahead", Default: "1m", Kind: Duration},
			Param{Name: "level", Doc: "weight of the newest rate", Default: "0.3", Kind: Number},
			Param{Name: "trend", Doc: "weight of the newest change of the rate", Default: "0.1",
				Kind: Number},
		),
		New: func(_ Deployment, v Values) (sim.Scaler, error) {
			return scaling.NewForecast(v.Number("per-replica"), v.Duration("ahead"),
				v.Duration("keep"), v.Number("level"), v.Number("trend"))
		},
	}
}
