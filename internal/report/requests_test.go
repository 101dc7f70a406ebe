package report

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

// Numbers are written as strconv writes them: any whole number of nanoseconds up to a month.
func TestAppendFixed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := rapid.Int64Range(0, 31*24*3600*1e9).Draw(t, "ns")
		for _, unit := range []struct {
			of     float64
			digits int
		}{{1e9, 9}, {1e6, 6}} {
			x := float64(ns) / unit.of
			if got, want := string(appendFixed(nil, x, unit.digits)),
				strconv.FormatFloat(x, 'f', unit.digits, 64); got != want {
				t.Errorf("%d ns is written as %s, want %s", ns, got, want)
			}
		}
	})
}
