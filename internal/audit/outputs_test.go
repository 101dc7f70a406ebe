package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/planner/sweep"
	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/records"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/telemetry"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// outputs holds the files, the sweep of one point, the record, the metrics and the page's frames of
// a scenario against its result.
func (a *auditor) outputs(s object, want *run, seed uint64) (wrong []string, err error) {
	defer panics(&err)
	l := &laws{}
	steps := []func(*laws, object, *run) error{a.folder, a.sweep, a.record, a.page}
	for _, step := range steps {
		if err := step(l, s, want); err != nil {
			return l.wrong, err
		}
	}
	return l.wrong, nil
}

// folder: --out and --metrics change no result, and their files say what it says.
func (a *auditor) folder(l *laws, s object, want *run) error {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var recorder *report.Recorder
	var history *telemetry.History
	r, err := execute(a.registry, s, 1, false, func(*scenarios.Simulation) sim.Observer {
		recorder, err = report.NewRecorder(dir)
		fatal(err)
		return recorder
	}, func(simulation *scenarios.Simulation) sim.Observer {
		config := simulation.Config()
		history = telemetry.NewHistory(telemetry.Engines(&config, simulation.Models()))
		return history
	})
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	l.that(string(r.json) == string(want.json), "--out and --metrics change the result")
	if err := recorder.Finish(r.result, r.simulation.Steps()); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := plots.Style("print").SaveRun(dir, &page.Run{Result: r.result,
		Sample: recorder.Sample(), Steps: r.simulation.Steps()}); err != nil {
		return fmt.Errorf("--out: pictures: %w", err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	fatal(err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // a folder
		}
		switch base := filepath.Base(name); {
		case base == "summary.json":
			l.that(string(text) == string(want.json), "summary.json is not the result")
		case base == "requests.csv":
			l.that(string(text) == string(want.csv), "requests.csv is another")
		case strings.HasSuffix(base, ".svg") || strings.HasSuffix(base, ".csv"):
			for _, bad := range []string{"NaN", "Inf"} {
				l.that(!bytes.Contains(text, []byte(bad)), "%s has %s", base, bad)
			}
		}
		l.that(len(text) > 0, "%s is empty", name)
	}
	var out bytes.Buffer
	if err := history.WriteOpenMetrics(&out, time.Unix(0, 0)); err != nil {
		return fmt.Errorf("--metrics: %w", err)
	}
	l.that(!strings.Contains(out.String(), "NaN"), "--metrics has NaN")
	return nil
}

// sweep: the only point of a sweep has the figures of the scenario.
func (a *auditor) sweep(l *laws, s object, want *run) error {
	of := sweep.Sweep{Name: "audit.json", Text: string(text(s)), Axes: []planner.Axis{{Key: "seed",
		Values: []string{fmt.Sprint(want.simulation.Scenario.Seed)}}}}
	results, err := of.Run(context.Background(), sweep.Options{Queue: queue.Config{Workers: 1}})
	if err != nil {
		return fmt.Errorf("sweep: %w", err)
	}
	row := results.Rows[0]
	if row.Reason != "" {
		l.that(false, "sweep refuses the scenario: %s", row.Reason)
		return nil
	}
	figures := plainJSON(want.json)
	for i, m := range planner.Metrics() {
		if x, found := lookup(figures, m); found {
			l.that(math.Abs(row.Values[i]-x) <= rounding*math.Abs(x), "a sweep says %v of %s, the "+
				"scenario %v", row.Values[i], m.Name, x)
		}
	}
	return nil
}

// record: a record that is read again has the result of a run that is repeated.
func (a *auditor) record(l *laws, s object, want *run) error {
	dir, err := os.MkdirTemp("", "audit")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var compact bytes.Buffer
	if err := json.Compact(&compact, want.json); err != nil {
		return err
	}
	store := records.Open(dir)
	id, err := store.Put(&records.Record{Command: "scenario", Args: []string{"audit.json"},
		Version: want.result.Version, Seed: &want.result.Seed, Inputs: []records.Input{},
		Result: compact.Bytes()}, records.About{})
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	kept, err := store.Get(id)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	again, err := execute(a.registry, s, 1, false)
	if err != nil {
		return fmt.Errorf("repeat: %w", err)
	}
	same, err := kept.SameResult(again.json, want.result.Version)
	l.that(err == nil && same, "a record's run is not repeated: %v", err)
	return nil
}

// explained: with every default written out, a scenario gives the same.
func (a *auditor) explained(l *laws, want *run) error {
	all, err := want.simulation.Explain()
	if err != nil {
		return fmt.Errorf("explain: %w", err)
	}
	file, err := scenarios.Parse("explained.yaml", all)
	if err == nil {
		var r *scenarios.Result
		if r, err = file.Run(context.Background(), a.registry); err == nil {
			// a default that had to be limited is a given value now
			one, two := *want.result, *r
			one.Warnings, two.Warnings = nil, nil
			first, _ := json.Marshal(one)
			second, _ := json.Marshal(two)
			l.that(bytes.Equal(first, second), "with defaults written out the result is another")
		}
	}
	if err != nil {
		l.that(false, "with defaults written out: %v", err)
	}
	return nil
}

// mostFrames bounds how many frames of a scenario are looked at.
const mostFrames = 400

// page: a page in a browser shows the result, and each frame's parts sum to its length, which
// follows the one before in time.
func (a *auditor) page(l *laws, s object, want *run) error {
	file, err := parse(s, 1)
	if err != nil {
		return err
	}
	result, err := playground.ResultOf(context.Background(), file)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	l.that(string(result) == string(want.json), "the page's result is another")
	if len(want.simulation.Config().Replicas) > 1 {
		return nil // the stage shows one replica
	}
	var settings []string
	for _, key := range sortedKeys(s) {
		value, _ := json.Marshal(s[key])
		settings = append(settings, key+"="+string(value))
	}
	stage, err := playground.NewStage(settings, nil)
	if err != nil {
		return nil // what needs files, or contradicts the page's own scenario
	}
	frames, err := stage.Next(mostFrames)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	for i := range frames {
		f := &frames[i]
		sum := f.Parts.Sum()
		l.that(math.Abs(sum-(f.To-f.From)) <= 1e-6*(f.To-f.From)+1e-9,
			"frame %d of %v ms has parts of %v ms", f.Step, f.To-f.From, sum)
		l.that(f.Used >= 0 && f.Used <= f.Capacity, "frame %d: %d of %d KV", f.Step, f.Used,
			f.Capacity)
		text, err := json.Marshal(f)
		l.that(err == nil, "frame %d: %v", f.Step, err)
		if err == nil {
			var plain any
			fatal(json.Unmarshal(text, &plain))
			l.figures("frame", plain)
		}
	}
	return nil
}
