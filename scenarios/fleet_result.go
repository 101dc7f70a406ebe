package scenarios

import "reflect"

// FleetResult holds the figures of a fleet that concern several replicas.
type FleetResult struct {
	// Retries counts how often requests began anew after a failure.
	Retries int64 `json:"retries" jsonschema:"times that requests began anew after a failure; of arrived requests"`
	// MeanReplicas is the mean number of replicas that ran or were starting, and UsedReplicas the
	// number of replicas that did so at some time.
	Replicas     int     `json:"replicas" jsonschema:"replicas; of the run"`
	MeanReplicas float64 `json:"mean_replicas" jsonschema:"mean number of replicas that run or start; of the run"`
	UsedReplicas int     `json:"used_replicas" jsonschema:"replicas that did so at some time; of the run"`
	// Transfers is the number of KV caches that were moved. VisibleTransfer is the mean time from
	// the end of a prefill until its KV cache had arrived. LinkBusy is the share of the time in
	// which the link was busy.
	Transfers       int64   `json:"kv_transfers" jsonschema:"KV caches that were moved; of admitted requests"`
	VisibleTransfer float64 `json:"mean_visible_transfer_ms" jsonschema:"mean time from the end of a prefill until its KV cache has arrived; of admitted requests"`
	LinkBusy        float64 `json:"link_busy" jsonschema:"share of the time in which links are busy; of the run"`
}

// fleetResult returns the figures that concern several replicas, or nil if replicas served
// independently.
func (f *finished) fleetResult() *FleetResult {
	if reflect.ValueOf(f.scenario.Fleet).IsZero() || f.outcome.End == 0 {
		return nil
	}
	sum := &FleetResult{Retries: f.outcome.Retries, Replicas: len(f.outcome.Replicas)}
	end := f.outcome.End.Seconds()
	for i := range f.outcome.Replicas {
		up := f.outcome.Replicas[i].Up
		sum.MeanReplicas += up.Seconds() / end
		if up > 0 {
			sum.UsedReplicas++
		}
	}
	visible := 0.0
	for _, l := range f.outcome.Links {
		sum.Transfers += l.Transfers
		sum.LinkBusy += l.Busy.Seconds() / (end * float64(len(f.outcome.Links)))
		visible += l.Visible.Milliseconds()
	}
	sum.VisibleTransfer = times(visible, float64(sum.Transfers))
	return sum
}
