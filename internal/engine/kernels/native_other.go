//go:build !amd64 && !arm64

package kernels

// native returns nothing: the plain Go kernels serve other architectures.
func native() []*Set { return nil }
