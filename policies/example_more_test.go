package policies_test

import (
	"context"
	"fmt"
	"log"

	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// last sends each request to the last replica.
type last struct{}

// New implements policies.Settings.
func (l last) New(policies.Deployment) (sim.Router, error) { return l, nil }

// Route implements sim.Router.
func (last) Route(_ *sim.Request, p *sim.Pool) int { return p.At(p.Len() - 1) }

// A program adds a policy of its own, which scenarios then name.
func ExampleFamily_Add() {
	registry := policies.Default()
	err := registry.Routing.Add(policies.Policy[sim.Router]{Name: "last", Doc: "the last replica",
		Settings: last{}})
	if err != nil {
		log.Fatal(err)
	}
	file, err := scenarios.Load("chat", "routing=last", "replicas=2",
		"workload.requests=50")
	if err != nil {
		log.Fatal(err)
	}
	result, err := file.Run(context.Background(), registry)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Completed, "answers")
	// Output: 50 answers
}

// What is wrong with a parameter is said with its name.
func ExamplePolicy_Build() {
	registry := policies.Default()
	policy, err := registry.Batching.Lookup("sarathi")
	if err != nil {
		log.Fatal(err)
	}
	_, err = policy.Build(policies.Deployment{}, map[string]string{"token-budgit": "1024"})
	fmt.Println(err)
	// Output: token-budgit: unknown parameter "token-budgit"; did you mean token-budget?
}
