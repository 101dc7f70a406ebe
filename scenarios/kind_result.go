package scenarios

import (
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// KindResult describes a kind of server: the pools that have it, and the evidence for its
// predictions.
type KindResult struct {
	Pools    []string
	Evidence evidence.Evidence
}

// kindResults lists the kinds of servers.
func kindResults(kinds []kind) []KindResult {
	var list []KindResult
	for _, k := range kinds {
		key, own := k[0].Key()
		e := evidence.Of(key, own)
		if own := k[0].twin; own != nil {
			e = evidence.Fitted(key, *own)
		}
		if r := k[0].Config.Release; !r.Version.IsZero() {
			e = e.At(r.Version.String(), r.Measured.Compare(r.Version) == 0)
		}
		if k[0].role != sim.Mixed {
			e = e.Apart()
		}
		list = append(list, KindResult{k.names(), e})
	}
	return list
}

// weakest returns the evidence of the lowest grade.
func weakest(kinds []KindResult) evidence.Evidence {
	list := make([]evidence.Evidence, len(kinds))
	for i := range kinds {
		list[i] = kinds[i].Evidence
	}
	return evidence.Weakest(list)
}
