package formats

import (
	"fmt"
	"slices"

	"github.com/llmsim/llmsim/internal/twin/observed"
)

// Options say how a file is read. The zero value finds the format by itself.
type Options struct {
	// Format is one of Names; empty means that the file decides.
	Format string
	// Columns names the column of a CSV file for each field that has another name than Fields
	// lists.
	Columns map[string]string
}

// mostBytes bounds a file, before and after it is unpacked.
const mostBytes = 256 << 20

// mostEntries bounds the requests, steps or intervals of a file.
const mostEntries = 2_000_000

// input is a file that is read.
type input struct {
	name    string
	data    []byte
	options *Options
	out     *observed.Observed
	source  *observed.Source
}

// found notes what the file has.
func (in *input) found(format string, args ...any) {
	in.source.Found = fmt.Sprintf(format, args...)
}

// addNote adds a remark on the file.
func (in *input) addNote(format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	if !slices.Contains(in.source.Notes, words) && len(in.source.Notes) < 20 {
		in.source.Notes = append(in.source.Notes, words)
	}
}

// lack adds what the file does not say.
func (in *input) lack(format string, args ...any) {
	words := fmt.Sprintf(format, args...)
	if !slices.Contains(in.out.Lacks, words) {
		in.out.Lacks = append(in.out.Lacks, words)
	}
}

// errorf returns an error that names the file.
func (in *input) errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", in.name, fmt.Errorf(format, args...))
}

// head returns the start of a file, by which its format is found.
func head(data []byte) []byte { return data[:min(len(data), 1<<16)] }
