package report

import (
	"bufio"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/metrics"
)

// folder is the files of one run: all of them appear when the run is done, or no file does.
type folder struct {
	dir     string
	staging *files.Staged
	open    []*stagedFile
}

type stagedFile struct {
	name   string
	file   *os.File
	buffer *bufio.Writer
}

// Write implements io.Writer.
func (s *stagedFile) Write(p []byte) (int, error) { return s.buffer.Write(p) }

// newFiles prepares to write into dir, which it makes if needed. Call commit or discard in the end.
func newFiles(dir string) (*folder, error) {
	staging, err := files.Stage(dir)
	if err != nil {
		return nil, err
	}
	return &folder{dir: dir, staging: staging}, nil
}

// create starts a file of that name. commit closes it.
func (f *folder) create(name string) (*stagedFile, error) {
	file, err := os.Create(filepath.Join(f.staging.Path, name))
	if err != nil {
		return nil, err
	}
	s := &stagedFile{name: name, file: file, buffer: bufio.NewWriterSize(file, 1<<16)}
	f.open = append(f.open, s)
	return s, nil
}

// commit closes all files, and if that succeeded puts them in place.
func (f *folder) commit() error {
	var errs []error
	for _, s := range f.open {
		errs = append(errs, s.buffer.Flush(), s.file.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, f.staging.Close())
	}
	for _, s := range f.open {
		errs = append(errs, os.Rename(filepath.Join(f.staging.Path, s.name),
			filepath.Join(f.dir, s.name)))
	}
	return errors.Join(errors.Join(errs...), f.staging.Close())
}

// discard throws the files away, and the folder too if nothing else is in it.
func (f *folder) discard() error {
	var errs []error
	for _, s := range f.open {
		errs = append(errs, s.file.Close())
	}
	errs = append(errs, f.staging.Close())
	if entries, err := os.ReadDir(f.dir); err == nil && len(entries) == 0 {
		errs = append(errs, os.Remove(f.dir))
	}
	return errors.Join(errs...)
}

// writeSeries writes the state of the fleet over time as CSV.
func writeSeries(out io.Writer, points []metrics.Point) error {
	w := csv.NewWriter(out)
	if err := w.Write([]string{"time_s", "waiting", "running", "decoding", "kv_usage",
		"replicas_up"}); err != nil {
		return err
	}
	for _, p := range points {
		row := []string{
			strconv.FormatFloat(p.At.Seconds(), 'f', 3, 64), strconv.Itoa(p.Waiting),
			strconv.Itoa(p.Running), strconv.Itoa(p.Decoding),
			strconv.FormatFloat(p.KVUsage, 'f', 6, 64), strconv.Itoa(p.Up),
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}
