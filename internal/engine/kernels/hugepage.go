package kernels

import (
	"fmt"
	"unsafe"
)

// Region is a block of zeroed memory for large arrays that are read over and over. It lies outside
// the garbage-collected heap and, on Linux, in huge pages, so that reads do not stall on address
// translation. It is not collected: Close gives it back.
type Region struct {
	data []byte
	used int
}

// alignment of everything that is taken from a region, in bytes: a cache line, and a vector of
// AVX-512.
const alignment = 64

// NewRegion returns a region with room for size bytes.
func NewRegion(size int) (*Region, error) {
	if size < 0 {
		return nil, fmt.Errorf("memory: a region of %d bytes", size)
	}
	data, err := allocate(max(size, alignment))
	if err != nil {
		return nil, fmt.Errorf("memory: allocating %d bytes: %w", size, err)
	}
	return &Region{data: data}, nil
}

// Close gives the memory back. Slices taken from the region must not be used any more.
func (r *Region) Close() error {
	data := r.data
	r.data = nil
	if data == nil {
		return nil
	}
	return release(data)
}

// RegionBytes returns the bytes that n elements of T take in a region, alignment included.
func RegionBytes[T any](n int) int {
	var t T
	return (n*int(unsafe.Sizeof(t)) + alignment - 1) / alignment * alignment
}

// Take returns the next n elements of the region, zero at first and aligned to a cache line. It
// panics when the region is too small: whoever makes a region sums RegionBytes over what is taken
// from it. T must not hold pointers.
func Take[T any](r *Region, n int) []T {
	size := RegionBytes[T](n)
	part := r.data[r.used : r.used+size]
	r.used += size
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(part))), n)
}
