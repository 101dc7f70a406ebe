package main

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/ask"
	"github.com/llmsim/llmsim/internal/ask/deployment"
	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/capacity/detail"
	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/scenarios"
)

// currentFlags name the deployment that a plan's answer is put beside.
type currentFlags struct {
	file string   `flag:"current" usage:"today's deployment, put beside the answer: a scenario file, or what scenario --from or ask reads"`
	set  []string `flag:"current-set" usage:"override a field of today's deployment: key.path=value (repeatable)"`
}

// compare has the answer of a plan put beside the deployment of the flags.
func (flags *planFlags) compare(cmd *cobra.Command, file *asked.File) error {
	c := &flags.now
	switch {
	case c.file == "" && len(c.set) > 0:
		return errors.New("--current-set changes the deployment of --current, which is missing")
	case c.file == "":
		return nil
	case !flags.shard.Whole() || flags.keep.dir != "":
		return errors.New("--current goes with neither --shard nor --record")
	}
	now, err := c.load(cmd, flags.strict)
	if err == nil {
		err = detail.PutBeside(file, now)
	}
	if err != nil {
		return fmt.Errorf("--current: %w", c.named(err))
	}
	return nil
}

// load reads a command or manifests that say their hardware, else a scenario, else a thread as the
// ask command reads it.
func (c *currentFlags) load(cmd *cobra.Command, refusing strictFlag) (*scenarios.File, error) {
	reading, noCommand := launch.ReadFileOrText(c.file, nil, c.set...)
	if noCommand != nil {
		now, err := scenarios.Load(c.file, c.set...)
		if err == nil || looksLikeScenario(c.file) {
			return now, err
		}
	}
	d := &deployment.Deployment{}
	if noCommand == nil {
		d.Settings = append(reading.Settings, c.set...)
		d.Notes, d.Ignored = reading.Notes, reading.Ignored
	}
	if !slices.ContainsFunc(d.Settings, func(set string) bool {
		return strings.HasPrefix(set, "hardware")
	}) {
		thread, err := c.thread()
		switch {
		case err != nil:
			return nil, err
		case thread != nil:
			d = thread
		case noCommand != nil:
			return nil, noCommand
		}
	}
	printNotes(cmd, d.Notes)
	if err := refusing.refuse("it leaves out", d.Ignored); err != nil {
		return nil, err
	}
	return scenarios.Parse("--current", []byte("{}"), d.Settings...)
}

// thread reads the file as a thread; nil where it is no file or does not say all that it takes.
func (c *currentFlags) thread() (*deployment.Deployment, error) {
	text, err := read(nil, []string{c.file})
	if err != nil {
		return nil, nil // it is a command itself
	}
	p, err := ask.Read(text, ask.Options{Set: c.set})
	if err != nil {
		return nil, nil // the command's own error says what is missing and how to give it
	}
	return deployment.Of(text, p, c.set)
}

// looksLikeScenario reports whether a file has the key without which there is no scenario.
func looksLikeScenario(name string) bool {
	data, err := scenarios.Read(name)
	return err == nil && (bytes.HasPrefix(data, []byte("model:")) ||
		bytes.Contains(data, []byte("\nmodel:")))
}

// named has an error about a key that --current-set sets name it, and one about what is missing say
// how to give it.
func (c *currentFlags) named(err error) error {
	return located(err, func(p strict.Problem) strict.Problem {
		key, found := strings.CutPrefix(p.Where, "--set ")
		switch {
		case found && slices.ContainsFunc(c.set, sets(key)):
			return at(p, "--current-set "+key, key)
		case p.Message == "must be given":
			p.Message += ": add --current-set " + p.Path + "=NAME"
			fallthrough
		case strings.HasPrefix(p.Where, "--current"):
			p.Where = ""
		}
		return p
	})
}
