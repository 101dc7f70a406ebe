//go:build !linux

package kernels

import "unsafe"

// allocate takes memory from the heap, aligned by hand.
func allocate(size int) ([]byte, error) {
	data := make([]byte, size+alignment)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(data)))) & (alignment - 1)
	return data[skip : skip+size], nil
}

func release([]byte) error { return nil }
