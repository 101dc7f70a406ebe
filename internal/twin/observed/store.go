package observed

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/llmsim/llmsim/internal/files"
)

// Names of the files of an observed folder.
const (
	MainFile  = "observed.json"
	TraceFile = "workload.csv"
	loadFile  = "workload.yaml"
)

// mostBytes bounds observed.json: a request takes some 100 bytes.
const mostBytes = 512 << 20

// Open reads what Save wrote: the folder, or its observed.json.
func Open(fsys fs.FS, path string) (*Observed, error) {
	data, err := files.Read(fsys, filepath.Join(path, MainFile), mostBytes)
	if errors.Is(err, fs.ErrNotExist) || files.Exists(fsys, path) {
		data, err = files.Read(fsys, path, mostBytes)
	}
	if err != nil {
		return nil, err
	}
	// A file without a seal is one that another program wrote, and has no such key.
	data = bytes.TrimSuffix(data, []byte("\n"))
	if bare, err := files.ObjectSeal().Open(data); err == nil {
		data = bare
	} else if !errors.Is(err, files.ErrUnsealed) {
		return nil, fmt.Errorf("%s: %w; run llmsim twin observe again", path, err)
	}
	if err := files.CheckFields(data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	o := &Observed{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(o); err != nil {
		return nil, fmt.Errorf("%s: not written by llmsim twin observe: %w", path, err)
	}
	if err := o.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return o, nil
}

// Save writes observed.json into a folder, and the traffic of the last run: as the workload of a
// scenario and, if requests are known one by one, as a trace beside it.
func (o *Observed) Save(dir string) error {
	text, err := json.Marshal(o)
	if err == nil {
		err = files.WriteBytes(filepath.Join(dir, MainFile),
			append(files.ObjectSeal().Add(text), '\n'), 0o666)
	}
	r := o.trafficRun()
	if err == nil && r != nil {
		err = files.Write(filepath.Join(dir, loadFile), o.WriteWorkload)
	}
	if err == nil && r != nil && len(r.Requests) > 0 {
		err = files.Write(filepath.Join(dir, TraceFile), r.writeTrace)
	}
	return err
}

func (r *Run) writeTrace(to io.Writer) error {
	w := bufio.NewWriter(to)
	fmt.Fprintln(w, "arrival_s,prompt_tokens,output_tokens")
	sent := slices.Clone(r.Requests)
	slices.SortStableFunc(sent, func(a, b Request) int { return cmp.Compare(a.Start(), b.Start()) })
	for i := range sent {
		if q := &sent[i]; !q.Failed {
			fmt.Fprintf(w, "%s,%d,%d\n", strconv.FormatFloat(q.Start(), 'f', 6, 64),
				max(1, q.Prompt), max(1, q.Output))
		}
	}
	return w.Flush()
}

// Check returns an error if values are negative, not finite, or out of range.
func (o *Observed) Check() error {
	s := &o.Server
	if min(s.Tensor, s.CacheTokens, s.BlockTokens) < 0 {
		return fmt.Errorf("server: found a negative value: %+v", *s)
	}
	for i := range o.Runs {
		if err := o.Runs[i].check(); err != nil {
			return fmt.Errorf("run %d (%.60s): %w", i, o.Runs[i].Name, err)
		}
	}
	return nil
}

// mostTokens bounds the tokens of a request or a step.
const mostTokens = 1 << 30

func (r *Run) check() error {
	l := &r.Load
	if !Finite(l.Rate, l.Seconds, l.Prompt, l.Output, float64(l.Concurrency),
		float64(l.Requests), float64(l.Distinct), float64(l.Groups), float64(l.System)) {
		return fmt.Errorf("load: found a value that is negative or not finite: %+v", *l)
	}
	if !r.Summary.finite() {
		return fmt.Errorf("summary: found a value that is negative or not finite: %+v", r.Summary)
	}
	last := 0.0
	for i := range r.Requests {
		q := &r.Requests[i]
		if !Finite(q.Arrival, q.Sent, q.TTFT, q.E2E) || q.Arrival > 1e9 || q.Prompt < 0 ||
			q.Output < 0 || q.Cached < 0 || q.Prompt > mostTokens || q.Output > mostTokens {
			return fmt.Errorf("request %d: found values out of range: %+v", i, *q)
		}
		if q.Arrival < last {
			return fmt.Errorf("request %d: found an arrival at %g s after one at %g s; want them "+
				"in order", i, q.Arrival, last)
		}
		last = q.Arrival
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if !Finite(s.Seconds) || min(s.Prefills, s.PrefillTokens, s.PrefillKV, s.Decodes,
			s.DecodeKV) < 0 || max(s.Prefills, s.PrefillTokens, s.PrefillKV, s.Decodes,
			s.DecodeKV) > mostTokens {
			return fmt.Errorf("step %d: found values out of range: %+v", i, *s)
		}
	}
	for i := range r.Intervals {
		v := &r.Intervals[i]
		if !Finite(v.At, v.Seconds, v.Requests, v.PromptTokens, v.OutputTokens, v.CachedTokens,
			v.Running, v.Waiting) || !v.finite() {
			return fmt.Errorf("interval %d: found values out of range: %+v", i, *v)
		}
	}
	return nil
}

func (f *Figures) finite() bool {
	return Finite(f.Queue, f.OutputRate) && Finite(slices.Collect(maps.Values(f.Latencies()))...)
}
