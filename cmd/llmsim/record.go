package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/llmsim/llmsim/internal/records"
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runsFolder is where records are kept unless a flag or the variable says otherwise.
const (
	runsFolder   = "runs"
	runsVariable = "LLMSIM_RUNS"
)

// defaultRuns returns the folder of records.
func defaultRuns() string {
	if dir := os.Getenv(runsVariable); dir != "" {
		return dir
	}
	return runsFolder
}

// recordFlag is the flag --record of a command whose runs can be kept.
type recordFlag struct {
	dir  string
	note string `flag:"note" usage:"what to note beside the record"`
}

// add adds the flag.
func (r *recordFlag) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.dir, "record", os.Getenv(runsVariable),
		"keep the run as a record in a folder (without a value: runs); "+runsVariable+
			" names a folder that keeps every run")
	f.Lookup("record").NoOptDefVal = defaultRuns()
	f.Lookup("record").DefValue = ""
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if r.note != "" && r.dir == "" {
			return errors.New("--note: the run is not kept; give --record too")
		}
		return nil
	}
}

// repetition is the key of the context under which a repeated command leaves its record in place of
// a store, as a *records.Record.
type repetition struct{}

// unrecorded are flags that change where results go, and not what they are.
func unrecorded() []string {
	return []string{"record", "note", "out", "format", "style", "trace", "metrics",
		"no-plots", "check-slo", "nats", "workers", "emit"}
}

// keeps reports whether the run is kept or compared with a record.
func (r *recordFlag) keeps(cmd *cobra.Command) bool {
	repeated, _ := cmd.Context().Value(repetition{}).(*records.Record)
	return repeated != nil || r.dir != ""
}

// saveRun puts a run into the store, if the flag asks for it: with what the command was asked, the
// files that it read (the first of them is the scenario, if it is a file), and its result.
func (r *recordFlag) saveRun(cmd *cobra.Command, args []string, of recorded) error {
	if !r.keeps(cmd) {
		return nil
	}
	repeated, _ := cmd.Context().Value(repetition{}).(*records.Record)
	result, err := json.Marshal(of.result)
	if err != nil {
		return runError{err}
	}
	command, deeper, _ := strings.Cut(strings.TrimPrefix(cmd.CommandPath(), "llmsim "), " ")
	if deeper != "" {
		args = append([]string{deeper}, args...)
	}
	record := records.Record{Command: command, Args: args, Name: of.name, Seed: of.seed,
		Version: scenarios.Version(), Inputs: []records.Input{}, Result: result}
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if slices.Contains(unrecorded(), f.Name) {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			for _, value := range list.GetSlice() {
				record.Args = append(record.Args, "--"+f.Name+"="+value)
			}
			return
		}
		record.Args = append(record.Args, "--"+f.Name+"="+f.Value.String())
	})
	for i, path := range of.inputs {
		in, err := records.ReadInput(path, i == 0 && of.scenario)
		if err != nil {
			return runError{err}
		}
		record.Inputs = append(record.Inputs, in)
	}
	if repeated != nil {
		*repeated = record
		return nil
	}
	id, err := records.Open(r.dir).Put(&record, r.about())
	if err != nil {
		return runError{fmt.Errorf("the run is not recorded: %w", err)}
	}
	printNotes(cmd, []string{fmt.Sprintf("recorded as %.12s in %s", id, r.dir)})
	return nil
}

// about says who keeps a run, where and when.
func (r *recordFlag) about() records.About {
	about := records.About{Written: time.Now().UTC(), Note: r.note}
	if u, err := user.Current(); err == nil {
		about.Author = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		about.Host = host
	}
	return about
}

// recorded collects the parts of a run's record.
type recorded struct {
	name string
	seed *uint64
	// inputs are the files that it read; the first is the scenario itself if scenario is true.
	inputs   []string
	scenario bool
	result   any
}

// inputsOf lists the files of a scenario of that name, and whether the first is the scenario.
func inputsOf(name string, file *scenarios.File) (list []string, first bool) {
	if source := scenarios.Source(name); name != "" && source != "" {
		list, first = append(list, source), true
	}
	if file != nil {
		list = append(list, file.Files()...)
	}
	return list, first
}

// errNotRepeated is the error of a record whose run gives other bytes now.
var errNotRepeated = errors.New("the result is not that of the record")
