package main

import (
	"fmt"
	"io"
	"os"

	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
)

// describesServer accepts MODEL and HARDWARE, or the file of a scenario.
func describesServer(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		if info, err := os.Stat(args[0]); err == nil && !info.IsDir() {
			return nil
		}
	}
	return arguments(2, 2)(cmd, args)
}

// describe returns the scenario that arguments such as describesServer accepts are about.
func describe(args, overrides []string) (*scenarios.File, error) {
	if len(args) == 1 {
		return scenarios.Load(args[0], overrides...)
	}
	return scenarios.Describe(args[0], args[1], overrides...)
}

// describeSteps predicts the steps of a model on an accelerator, and notes what the predictions
// rest on.
func describeSteps(cmd *cobra.Command, args, overrides []string) (*scenarios.Steps, error) {
	file, err := describe(args, overrides)
	if err != nil {
		return nil, err
	}
	steps, err := file.Steps(policies.Default())
	if err == nil {
		printNotes(cmd, steps.Warnings)
	}
	return steps, err
}

// formatFlag is the flag --format of a command that prints a table or JSON.
type formatFlag struct {
	format string `flag:"format" choice:"table,json" usage:"what to print: table or json"`
}

// show prints a value as JSON where the format says so, and otherwise as blocks. Where the value
// could not be made it returns the error.
func show[T any](cmd *cobra.Command, format string, value T, err error,
	blocks func(T) doc.Blocks) error {
	return write(cmd, format, value, err, func(value T, w io.Writer) error {
		return doc.Print(w, blocks(value))
	})
}

// write prints a value as JSON where the format says so, and otherwise as text. Where the value
// could not be made it returns the error.
func write[T any](cmd *cobra.Command, format string, value T, err error,
	text func(T, io.Writer) error) error {
	switch {
	case err != nil:
		return failed(err)
	case format == "json":
		return failed(report.JSON(cmd.OutOrStdout(), value))
	}
	return failed(text(value, cmd.OutOrStdout()))
}

// build returns the simulation of a scenario, or the error with which it was read.
func build(file *scenarios.File, err error) (*scenarios.Simulation, error) {
	if err != nil {
		return nil, err
	}
	return file.Build(policies.Default())
}

// printNotes writes what a reader should know to standard error.
func printNotes(cmd *cobra.Command, warnings []string) {
	for _, warning := range warnings {
		fmt.Fprintln(cmd.ErrOrStderr(), "llmsim: note:", warning)
	}
}
