//go:build !js

package trace

import (
	"io"

	"github.com/klauspost/compress/gzip"
)

// unzip reads a gzip file, with the errors of the standard library.
func unzip(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
