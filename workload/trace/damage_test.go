package trace

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/klauspost/compress/gzip"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// zipped is a trace of a number of rows, as gzip whose blocks are small.
func zipped(t *testing.T, rows int) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	fmt.Fprintln(w, "arrival_s,prompt_tokens,output_tokens")
	for i := range rows {
		fmt.Fprintf(w, "%d,%d,%d\n", i, 1+i*7919%1000, 1+i*104729%1000)
		if i%50 == 0 {
			w.Flush()
		}
	}
	testkit.OK(t, w.Close())
	return b.Bytes()
}

// readAll returns how many requests of a trace can be read, and the error after them.
func readAll(fsys fs.FS) (n int, err error) {
	r, err := Open("trace.csv.gz", Options{FS: fsys})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	var q sim.Request
	for ; err == nil; n++ {
		err = r.Read(&q)
	}
	return n - 1, err
}

// The error of a damaged gzip names the last line that could be read, all lines before it are read,
// and no half of a line is.
func TestDamagedGzipSaysWhere(t *testing.T) {
	const rows = 20_000
	whole := zipped(t, rows)
	more := append(bytes.Clone(whole), "no gzip at all"...)
	for _, c := range []struct {
		name  string
		data  []byte
		least int
		words string
	}{
		{"cut short", whole[:len(whole)/2], rows / 3,
			": after line %d: the gzip file is cut short"},
		// What is overwritten unpacks to another text, in whose first line there is an error.
		{"overwritten", overwritten(whole, len(whole)*3/4), rows / 2, ":%d: found"},
		{"wrong sum", overwritten(whole, len(whole)-8), rows, ": after line %d: the gzip file is " +
			"damaged: what it holds does not have its checksum"},
		{"more", more, rows, ": after line %d: what follows in the gzip file is no gzip"},
	} {
		n, err := readAll(fstest.MapFS{"trace.csv.gz": {Data: c.data}})
		line := n + 1 // after the header
		if c.name == "overwritten" {
			line++
		}
		if err == nil || n < c.least ||
			!strings.Contains(err.Error(), "trace.csv.gz"+fmt.Sprintf(c.words, line)) {
			t.Errorf("%s: %d rows, then %v", c.name, n, err)
		}
	}
}

// overwritten is b with eight other bytes at a place.
func overwritten(b []byte, at int) []byte {
	b = bytes.Clone(b)
	for i := at; i < min(at+8, len(b)); i++ {
		b[i] ^= 0x5a
	}
	return b
}

// A pipe is refused before it is opened, which would wait for somebody who writes to it.
func TestPipesAreRefused(t *testing.T) {
	_, err := readAll(fstest.MapFS{"trace.csv.gz": {Mode: fs.ModeNamedPipe}})
	if err == nil || !strings.Contains(err.Error(), "found a pipe or a device") {
		t.Errorf("found %v", err)
	}
}
