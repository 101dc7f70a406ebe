package main

import "io"

// standardOutput is standard output, with the first error of writing to it: a disk may be full.
type standardOutput struct {
	io.Writer
	err error
}

// Write writes on.
func (o *standardOutput) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// Fd returns the number of the file, which says whether there is a terminal.
func (o *standardOutput) Fd() uintptr {
	if file, ok := o.Writer.(interface{ Fd() uintptr }); ok {
		return file.Fd()
	}
	return ^uintptr(0) // no file
}
