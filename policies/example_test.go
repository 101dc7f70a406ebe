package policies_test

import (
	"fmt"
	"log"

	"github.com/llmsim/llmsim/policies"
)

// A registry finds policies by name and makes them with the parameters of a scenario.
func ExampleFamily_Lookup() {
	registry := policies.Default()
	policy, err := registry.Batching.Lookup("sarathi")
	if err != nil {
		log.Fatal(err)
	}
	scheduler, err := policy.Build(policies.Deployment{}, map[string]string{"token-budget": "1024"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%T: %s\n", scheduler, policy.Source)
	_, err = registry.Batching.Lookup("sarathy")
	fmt.Println(err)
	// Output:
	// *batching.Continuous: Agrawal et al., Sarathi-Serve, OSDI 2024, algorithm 3 and table 4
	// unknown batching policy "sarathy"; did you mean sarathi?
}
