package report

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/metrics"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Recorder is a sim.Observer that writes the files of a run: summary.json, timeseries.csv,
// report.html, and requests.csv with a row for each request in the order in which they ended.
type Recorder struct {
	*Requests
	dir    string
	staged *files.Staged  // all files appear in dir when the run is done, or no file does
	rows   *files.Pending // requests.csv
	sample *page.Sample
}

// NewRecorder prepares to write into dir, which it makes if needed. Nothing appears there before
// Finish; a run that fails calls Discard.
func NewRecorder(dir string) (*Recorder, error) {
	staged, err := files.Stage(dir)
	if err != nil {
		return nil, err
	}
	rows, err := files.Create(filepath.Join(staged.Path, "requests.csv"))
	if err != nil {
		return nil, errors.Join(err, staged.Close())
	}
	return &Recorder{NewRequests(rows), dir, staged, rows, page.NewSample(page.SampleSize)}, nil
}

// Finished implements sim.Observer.
func (r *Recorder) Finished(s *sim.Sequence) {
	r.sample.Finished(s)
	r.Requests.Finished(s)
}

// Finish writes the summary, the time series and the page, and puts all files in place. The page
// shows steps of the scenario too.
func (r *Recorder) Finish(result *scenarios.Result, steps *scenarios.Steps) error {
	err := errors.Join(r.Close(),
		r.write("summary.json", func(w io.Writer) error {
			return JSON(w, diagnosis.NewDocument(result))
		}),
		r.write("timeseries.csv", func(w io.Writer) error { return writeSeries(w, result.Series) }),
		r.write("report.html", func(w io.Writer) error {
			return page.Write(w, page.Run{Result: result, Sample: r.sample, Steps: steps})
		}))
	if err != nil {
		return errors.Join(err, r.Discard())
	}
	err = r.rows.Commit()
	names, unread := os.ReadDir(r.staged.Path)
	if err = errors.Join(err, unread); err == nil {
		for _, e := range names {
			err = errors.Join(err, os.Rename(filepath.Join(r.staged.Path, e.Name()),
				filepath.Join(r.dir, e.Name())))
		}
	}
	return errors.Join(err, r.staged.Close())
}

// Sample returns the requests that the page shows.
func (r *Recorder) Sample() *page.Sample { return r.sample }

// Discard throws the files away, and the folder too if nothing else is in it.
func (r *Recorder) Discard() error {
	err := errors.Join(r.rows.Discard(), r.staged.Close())
	if entries, gone := os.ReadDir(r.dir); gone == nil && len(entries) == 0 {
		err = errors.Join(err, os.Remove(r.dir))
	}
	return err
}

// write makes a file of that name.
func (r *Recorder) write(name string, fill func(io.Writer) error) error {
	return files.Write(filepath.Join(r.staged.Path, name), fill)
}

// writeSeries writes the state of the fleet over time as CSV.
func writeSeries(out io.Writer, points []metrics.Point) error {
	rows := [][]string{{"time_s", "waiting", "running", "decoding", "kv_usage", "replicas_up"}}
	for _, p := range points {
		rows = append(rows, []string{
			strconv.FormatFloat(p.At.Seconds(), 'f', 3, 64), strconv.Itoa(p.Waiting),
			strconv.Itoa(p.Running), strconv.Itoa(p.Decoding),
			strconv.FormatFloat(p.KVUsage, 'f', 6, 64), strconv.Itoa(p.Up),
		})
	}
	return csv.NewWriter(out).WriteAll(rows)
}

// JSON writes one indented JSON document.
func JSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
