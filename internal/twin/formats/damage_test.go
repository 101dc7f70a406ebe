package formats_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/files/filestest"
	"github.com/llmsim/llmsim/internal/must"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// Wherever a gzip is cut or changed, it is read as it was, or the error names the file, and also
// the line where the gzip itself shows the damage.
func TestDamagedGzipSaysWhere(t *testing.T) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	fmt.Fprintln(w, "arrival_s,prompt_tokens,output_tokens,ttft_s,e2e_s")
	for i := range 40 {
		fmt.Fprintf(w, "%d,%d,30,0.0%d,0.%d\n", i, 1+i*7919%1000, 1+i*31%89, 100+i*37%800)
	}
	must.OK(t, w.Close())
	where := regexp.MustCompile(`^a\.csv\.gz: (in the first line|after line \d+): .*gzip`)
	read := func(data []byte) (*observed.Observed, error) {
		o, err := formats.Parse("a.csv.gz", data, formats.Options{})
		if err != nil && (!strings.HasPrefix(err.Error(), "a.csv.gz: ") ||
			strings.Contains(err.Error(), "gzip") && !where.MatchString(err.Error())) {
			t.Errorf("found %v, want the file and the line", err)
		}
		return o, err
	}
	filestest.Changed(t, zipped.Bytes(), read)
	for n := 2; n < zipped.Len(); n++ {
		if _, err := read(zipped.Bytes()[:n]); err == nil || !where.MatchString(err.Error()) {
			t.Errorf("the first %d of %d bytes: %v", n, zipped.Len(), err)
		}
	}
}
