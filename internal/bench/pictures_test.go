package bench

import (
	"encoding/csv"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"
)

var update = flag.Bool("update", false, "draw the pictures of docs/performance.md anew")

// The pictures of docs/performance.md are what bench --growth draws of the figures that
// testdata/growth.csv has. They were read off the pictures of 25 November 2026, to four digits; a
// new measurement takes their place.
func TestPicturesOfThePage(t *testing.T) {
	file, err := os.Open("testdata/growth.csv")
	testkit.OK(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	testkit.OK(t, err)
	measured := map[string]Result{}
	for _, row := range rows[1:] {
		us, err := strconv.ParseFloat(row[1], 64)
		testkit.OK(t, err)
		mb, err := strconv.ParseFloat(row[2], 64)
		testkit.OK(t, err)
		measured[row[0]] = Result{Microseconds: us, Memory: int64(1e6 * mb)}
	}
	var results []Result
	cases := Growth()
	for i := range cases {
		r, known := measured[cases[i].Name]
		if !known && cases[i].Axis != "" {
			t.Errorf("testdata/growth.csv has no %q", cases[i].Name)
		}
		results = append(results, r)
	}
	dir := t.TempDir()
	testkit.OK(t, Draw(dir, cases, results))
	for _, name := range []string{"growth-time.svg", "growth-memory.svg"} {
		path := filepath.Join("..", "..", "docs", "pictures", name)
		testkit.SamePicture(t, path, testkit.Read(t, filepath.Join(dir, name)), *update)
	}
}
