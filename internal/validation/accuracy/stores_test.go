package accuracy

import (
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/testkit"
)

// What is stored of errors is written as it is read, byte for byte.
func TestStoresAreWrittenBack(t *testing.T) {
	writtenBack[RowError](t, "errors.csv", errorsCSV)
	writtenBack[MachineHost](t, "machines.csv", machinesTable)
}

func writtenBack[T any](t *testing.T, name, text string) {
	t.Helper()
	var again strings.Builder
	testkit.OK(t, files.WriteTable(&again, files.MustReadTable[T](name, text)))
	got, want := strings.Split(again.String(), "\n"), strings.Split(text, "\n")
	for i := range want {
		if len(got) != len(want) || got[i] != want[i] {
			t.Fatalf("%s:%d: %d lines, want %d; %q", name, i+1, len(got), len(want), want[i])
		}
	}
}

// A figure that only goals have, such as a capacity, is stored by row with its error left out.
func TestGoalsAreStoredByRow(t *testing.T) {
	left := &Report{Tables: []Table{{Rows: []Comparison{{Group: Group{Engine: "vllm-v1"},
		Table: "whatif", File: "f", Line: 2, Quantity: "capacity", Measured: 2, Predicted: 1}}}}}
	var b strings.Builder
	empty := &Report{}
	testkit.OK(t, WriteErrors(&b, empty, left, empty, [2]*Report{empty, empty}, nil))
	if !strings.Contains(b.String(), "\nf,2,capacity,,0.6931,,,,\n") {
		t.Errorf("wrote %q", b.String())
	}
}
