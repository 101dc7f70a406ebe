package published

import (
	"strings"
	"testing"
	"testing/fstest"
)

// A row without a name of its own is named by its line in the file, whatever is above it.
func TestRowsAreNamedByTheirLine(t *testing.T) {
	for _, text := range []string{"gpus,x\n8,left\n", "\ufeff# source\n\ngpus,x\n\n# why\n8,left\n",
		"gpus,\"x\n\"\n8,left\n"} {
		want := strings.Count(text[:strings.Index(text, "left")], "\n") + 1
		for name := range tables() {
			d := Data{}
			got, err := Read(fstest.MapFS{name: {Data: []byte(text)}})
			if err != nil {
				t.Fatal(err)
			}
			d.add(name, want, record{"gpus": "8", "x": "left", "x\n": "left"})
			if len(got.Left) != 1 || got.Left[0] != d.Left[0] {
				t.Errorf("%s: %q: found %+v, want %+v", name, text, got.Left, d.Left)
			}
		}
	}
}
