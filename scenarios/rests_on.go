package scenarios

import (
	"github.com/llmsim/llmsim/scenarios/evidence"
	"github.com/llmsim/llmsim/sim"
)

// evidenceOf returns what the predictions rest on, for each kind of server.
func evidenceOf(kinds []kind) []evidence.Evidence {
	var list []evidence.Evidence
	for _, k := range kinds {
		key, own := k[0].Key()
		e := evidence.Of(key, own)
		if k[0].role != sim.Mixed {
			e = e.Apart()
		}
		list = append(list, e)
	}
	return list
}
