package policies

import (
	"github.com/llmsim/llmsim/policies/speculation"
	"github.com/llmsim/llmsim/sim"
)

// Default returns a registry of the policies that llmsim ships.
func Default() *Registry {
	return &Registry{
		Batching:  Family[sim.Scheduler]{Kind: "batching policy", Policies: batchingPolicies()},
		Memory:    Family[sim.Memory]{Kind: "memory policy", Policies: memoryPolicies()},
		Routing:   Family[sim.Router]{Kind: "routing policy", Policies: routingPolicies()},
		Admission: Family[sim.Admission]{Kind: "admission policy", Policies: admissionPolicies()},
		Drafting: Family[speculation.Lengths]{Kind: "draft-length policy",
			Policies: draftLengths()},
		Scaling: Family[sim.Scaler]{Kind: "scaling policy", Policies: scalingPolicies()},
	}
}
