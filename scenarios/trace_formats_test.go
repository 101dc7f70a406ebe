package scenarios

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/workload/trace"
)

// Every trace format can be named in a scenario, and no other.
func TestTraceFormatsAreAllowed(t *testing.T) {
	field, _ := reflect.TypeFor[Trace]().FieldByName("Format")
	allowed := strings.Split(field.Tag.Get("enum"), ",")
	slices.Sort(allowed)
	if known := slices.Sorted(slices.Values(trace.Formats())); !slices.Equal(allowed, known) {
		t.Errorf("a scenario may name %q, and %q can be read", allowed, known)
	}
}
