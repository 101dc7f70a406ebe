package validation

import (
	"os"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
)

// BenchmarkSample compares a table of every kind: about fifty comparisons, of which twelve are runs
// of a server.
func BenchmarkSample(b *testing.B) {
	data, err := Read(os.DirFS("testdata/sample"))
	testkit.OK(b, err)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := data.Compare(b.Context(), accuracy.Physics{}); err != nil {
			b.Fatal(err)
		}
	}
}
