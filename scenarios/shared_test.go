package scenarios

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/models"
)

// keepCatalogues fails the test if it changes the catalogues, which all simulations share.
func keepCatalogues(t *testing.T) {
	before := catalogues(t)
	t.Cleanup(func() {
		for name, entry := range catalogues(t) {
			if diff := cmp.Diff(before[name], entry); diff != "" {
				t.Errorf("the shared entry of %s has changed: %s", name, diff)
			}
		}
	})
}

// catalogues returns all that is shared, encoded, by name.
func catalogues(t *testing.T) map[string]string {
	known, err := models.Load()
	testkit.OK(t, err)
	machines, err := hardware.Load()
	testkit.OK(t, err)
	shared := map[string]any{"hosts": machines.Hosts, "links": machines.Links,
		"kernels": hardware.AllKernels(), "recurrent kernels": hardware.AllRecurrent(),
		"collectives": hardware.AllCollectives(), "constants": hardware.AllConstants()}
	for _, a := range machines.Accelerators {
		shared[a.Name] = a
	}
	for _, a := range known.All() {
		shared[a.Name] = a
	}
	encoded := map[string]string{}
	for name, entry := range shared {
		text, err := json.Marshal(entry)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		encoded[name] = string(text)
	}
	return encoded
}

// Current is current, for the tests that bring other packages together with this one.
var Current = current
