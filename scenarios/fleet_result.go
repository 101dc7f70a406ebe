package scenarios

import "reflect"

// FleetResult is what went on between replicas.
type FleetResult struct {
	// Retries counts how often requests began anew after a failure.
	Retries int64 `json:"retries"`
	// MeanReplicas is the number of the Replicas that ran or were starting, on average. The cost is
	// theirs. UsedReplicas counts the ones that ran or were starting at some time.
	Replicas     int     `json:"replicas"`
	MeanReplicas float64 `json:"mean_replicas"`
	UsedReplicas int     `json:"used_replicas"`
	// Transfers is the number of KV caches that were moved, VisibleTransfer the mean time from the
	// end of a prefill until its KV cache had arrived, LinkBusy the share of the time in which the
	// link was taken.
	Transfers       int64   `json:"kv_transfers"`
	VisibleTransfer float64 `json:"mean_visible_transfer_ms"`
	LinkBusy        float64 `json:"link_busy"`
}

// fleetResult sums up what went on between replicas; nil where the scenario has nothing go on.
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
	for _, l := range f.outcome.Links {
		sum.Transfers += l.Transfers
		sum.LinkBusy += l.Busy.Seconds() / end
		if l.Transfers > 0 {
			sum.VisibleTransfer = l.Visible.Milliseconds() / float64(l.Transfers)
		}
	}
	return sum
}
