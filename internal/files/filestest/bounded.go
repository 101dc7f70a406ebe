// Package filestest checks that reading what comes from outside takes bounded memory and time.
package filestest

import (
	"runtime"
	"testing"
	"time"
)

// What reading may take, far above what honest files take.
const (
	// mostTime is processor time, for any input that a fuzzer makes.
	mostTime = 10 * time.Second
	// baseBytes is allocated for an empty input, bytesPerByte for each byte of a longer one.
	baseBytes    = 256 << 20
	bytesPerByte = 4 << 10
)

// Bounded calls read, which reads an input of a number of bytes, and fails the test if that takes
// more time or allocates more memory than any such input is worth. Nothing else may run meanwhile.
func Bounded(t testing.TB, size int, read func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := processorTime()
	read()
	took := processorTime() - begin
	runtime.ReadMemStats(&after)
	if took > mostTime {
		t.Errorf("reading %d bytes takes %v", size, took)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > baseBytes+bytesPerByte*uint64(size) {
		t.Errorf("reading %d bytes allocates %d MiB", size, used>>20)
	}
}
