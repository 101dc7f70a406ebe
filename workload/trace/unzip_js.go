package trace

import (
	"compress/gzip"
	"io"
)

// unzip reads a gzip file. The page for browsers is smaller with the standard library alone.
func unzip(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
