package report

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// Recorder is a sim.Observer that writes the files of a run: summary.json, timeseries.csv,
// report.html, and requests.csv with a row for each request in the order in which they ended.
type Recorder struct {
	*Requests
	files  *folder
	sample *page.Sample
}

// NewRecorder prepares to write into dir, which it makes if needed. Nothing appears there before
// Finish; a run that fails calls Discard.
func NewRecorder(dir string) (*Recorder, error) {
	staged, err := newFiles(dir)
	if err != nil {
		return nil, err
	}
	r := &Recorder{files: staged, sample: page.NewSample(page.SampleSize)}
	out, err := staged.create("requests.csv")
	if err != nil {
		return nil, errors.Join(err, staged.discard())
	}
	r.Requests = NewRequests(out)
	return r, nil
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
		return errors.Join(err, r.files.discard())
	}
	return r.files.commit()
}

// Sample returns the requests that the page shows.
func (r *Recorder) Sample() *page.Sample { return r.sample }

// Discard throws away what was written.
func (r *Recorder) Discard() error { return r.files.discard() }

// write starts a file of that name and fills it.
func (r *Recorder) write(name string, fill func(io.Writer) error) error {
	out, err := r.files.create(name)
	if err != nil {
		return err
	}
	return fill(out)
}

// Figure prints a number with three significant digits, and whole numbers with commas.
func Figure(x float64) string { return units.Figure(x) }

// Percent prints a share with two significant digits or whole percents.
func Percent(share float64) string { return units.Percent(share) }

// JSON writes one indented JSON document.
func JSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(v)
}
