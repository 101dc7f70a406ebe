package kernels

import (
	"testing"
	"unsafe"

	"github.com/llmsim/llmsim/internal/testkit"
)

// TestTake checks that parts of a region are zero, aligned and apart, for a small and a huge
// region.
func TestTake(t *testing.T) {
	for _, n := range []int{5, 1 << 20} {
		r, err := NewRegion(RegionBytes[byte](n) + RegionBytes[float32](n))
		testkit.OK(t, err)
		bytes, floats := Take[byte](r, n), Take[float32](r, n)
		for i := range bytes {
			bytes[i] = 0xff
		}
		for i, f := range floats {
			if f != 0 {
				t.Fatalf("element %d of %d is %v before anything was written", i, n, f)
			}
		}
		if at := uintptr(unsafe.Pointer(&floats[0])); at%alignment != 0 {
			t.Errorf("part at %#x", at)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := r.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	}
}

func TestNegativeSize(t *testing.T) {
	if _, err := NewRegion(-1); err == nil {
		t.Error("no error for a negative size")
	}
}
