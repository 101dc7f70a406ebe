package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/planner/compare"
	"github.com/llmsim/llmsim/internal/records"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
)

func runsCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List, compare and repeat the runs that --record keeps",
		Long: "Work with the records of runs. A record is named by the hash of its contents; " +
			"any four characters or more that begin it stand for it, and so does a tag that " +
			"no other record has; latest is the last that was written. docs/records.md " +
			"describes the folder.",
		Example: "  llmsim scenario chat --record\n  llmsim runs list\n  llmsim runs repeat latest",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fmt.Errorf("give what to do: %s", strings.Join(verbs(cmd), ", "))
		},
	}
	cmd.PersistentFlags().StringVar(&dir, "runs", defaultRuns(), "the folder of records")
	cmd.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return thereIs(cmd, "runs", dir)
	}
	store := func() *records.Store { return records.Open(dir) }
	cmd.AddCommand(runsList(store), runsShow(store), runsDiff(store), runsTag(store),
		runsRemove(store), runsTable(store), runsReport(store), runsRepeat(store))
	return cmd
}

// thereIs refuses a folder that a flag names and that is not there: it would look like an empty
// one.
func thereIs(cmd *cobra.Command, flag, dir string) error {
	if cmd.Flags().Changed(flag) && !files.IsFolder(dir) {
		return fmt.Errorf("--%s: %s: found no such folder", flag, dir)
	}
	return nil
}

// verbs lists the commands under a command.
func verbs(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	return names
}

// opener opens the store that the flags name.
type opener func() *records.Store

// allRecords reads all records, and notes the records that cannot be read.
func allRecords(cmd *cobra.Command, store opener) ([]records.Entry, error) {
	list, problems, err := store().List()
	var words []string
	for _, p := range problems {
		words = append(words, p.Error())
	}
	printNotes(cmd, words)
	return list, failed(err)
}

func runsList(store opener) *cobra.Command {
	var flags formatFlag
	return declare(&cobra.Command{Use: "list", Short: "List the records", Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := allRecords(cmd, store)
			if err != nil {
				return err
			}
			if flags.format == "json" {
				return failed(report.JSON(cmd.OutOrStdout(), list))
			}
			rows := [][]string{}
			for i := range list {
				e := &list[i]
				written := ""
				if !e.Written.IsZero() {
					written = e.Written.UTC().Format(time.DateTime)
				}
				by := e.Author
				if e.Host != "" {
					by += "@" + e.Host
				}
				rows = append(rows, []string{e.ID[:12], written, by, e.Command, e.Name, e.Version,
					strings.Join(e.Tags, " "), short(e.Note)})
			}
			return aligned(cmd, []string{"record", "written (UTC)", "by", "command", "name",
				"version", "tags", "note"}, rows)
		}}, &flags)
}

func runsShow(store opener) *cobra.Command {
	var flags struct {
		input string `flag:"input" usage:"print the text of an input instead"`
	}
	return declare(&cobra.Command{Use: "show RECORD", Short: "Print a record as JSON",
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := store().Get(args[0])
			if err != nil {
				return err
			}
			if flags.input == "" {
				return failed(report.JSON(cmd.OutOrStdout(), e))
			}
			for _, in := range e.Inputs {
				if in.Path == flags.input && in.Text != "" {
					_, err := io.WriteString(cmd.OutOrStdout(), in.Text)
					return failed(err)
				}
			}
			return fmt.Errorf("--input: the record has no text of %q", flags.input)
		}}, &flags)
}

func runsDiff(store opener) *cobra.Command {
	var flags struct {
		all bool `flag:"all" usage:"print all figures that differ, with their ratios"`
		formatFlag
	}
	return declare(&cobra.Command{Use: "diff RECORD RECORD",
		Short: "Show in which settings and figures two records differ", Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := store().Get(args[0])
			if err != nil {
				return err
			}
			b, err := store().Get(args[1])
			if err != nil {
				return err
			}
			settings, figures, err := records.Diff(a.Record, b.Record)
			if err != nil {
				return failed(err)
			}
			if flags.format == "json" {
				return failed(report.JSON(cmd.OutOrStdout(), map[string]any{
					"settings": settings, "figures": figures}))
			}
			compared, err := records.Compared(a.Record, b.Record)
			if err != nil {
				return failed(err)
			}
			if len(compared) > 0 && !flags.all {
				return printCompared(cmd, settings, compared, a.ID, b.ID)
			}
			var rows [][]string
			for _, d := range append(settings, figures...) {
				ratio := ""
				if d.Ratio != 0 {
					ratio = strconv.FormatFloat(d.Ratio, 'f', 3, 64)
				}
				rows = append(rows, []string{d.Key, short(d.One), short(d.Other), ratio})
			}
			return aligned(cmd, []string{"", a.ID[:12], b.ID[:12], "ratio"}, rows)
		}}, &flags)
}

// printCompared prints the settings in which two records of scenarios differ, and the figures of a
// comparison with its verdicts.
func printCompared(cmd *cobra.Command, settings []records.Difference, figures []compare.Line,
	one, other string) error {
	var rows [][]string
	for _, d := range settings {
		rows = append(rows, []string{d.Key, short(d.One), short(d.Other)})
	}
	for _, l := range figures {
		rows = append(rows, []string{l.Title, l.One, l.Other, l.Difference, l.Verdict})
	}
	err := aligned(cmd, []string{"", one[:12], other[:12], "difference", "verdict"}, rows)
	if err != nil {
		return err
	}
	_, err = io.WriteString(cmd.OutOrStdout(), "\nEach record is one run: a difference is "+
		"“unsure” where the ranges of both overlap.\n`llmsim compare` runs both with the same "+
		"seeds; --all prints all figures.\n")
	return failed(err)
}

// aligned prints rows under their header, in columns as wide as they need.
func aligned(cmd *cobra.Command, header []string, rows [][]string) error {
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		fmt.Fprintln(w, strings.TrimRight(strings.Join(row, "\t"), "\t"))
	}
	return failed(w.Flush())
}

// short cuts a long text for a table.
func short(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

func runsTag(store opener) *cobra.Command {
	var flags struct {
		remove bool `flag:"remove" usage:"take the tag from the record"`
	}
	return declare(&cobra.Command{Use: "tag RECORD TAG", Short: "Give a record a tag, or take it",
		Args: arguments(2, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			if flags.remove {
				return store().Untag(args[0], args[1])
			}
			return store().Tag(args[0], args[1])
		}}, &flags)
}

func runsRemove(store opener) *cobra.Command {
	return &cobra.Command{Use: "rm RECORD", Short: "Remove a record", Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := store().Remove(args[0])
			if err == nil {
				printNotes(cmd, []string{"removed " + id[:12]})
			}
			return err
		}}
}

func runsTable(store opener) *cobra.Command {
	var flags struct {
		format  string   `flag:"format" choice:"table,csv,json" usage:"what to print: table, csv or json"`
		columns []string `flag:"figures" split:"," usage:"figures by their paths in the result (default: a few; in csv and json all)"`
	}
	return declare(&cobra.Command{Use: "table", Short: "Print figures of all records, a line each",
		Example: "  llmsim runs table --figures p99_ttft_ms,output_throughput",
		Args:    arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := allRecords(cmd, store)
			if err != nil {
				return err
			}
			if flags.format == "table" && len(flags.columns) == 0 {
				flags.columns = []string{"output_throughput", "p99_ttft_ms", "p99_tpot_ms",
					"cost_per_million_output_tokens"}
			}
			t, err := records.NewTable(list, flags.columns)
			if err != nil {
				return failed(err)
			}
			switch flags.format {
			case "csv":
				return failed(t.WriteCSV(cmd.OutOrStdout()))
			case "json":
				return failed(report.JSON(cmd.OutOrStdout(), t))
			}
			header := append([]string{"record", "name"}, t.Columns...)
			var rows [][]string
			for i := range list {
				row := []string{list[i].ID[:12], list[i].Name}
				for _, c := range t.Columns {
					row = append(row, t.Cell(i, c, 4))
				}
				rows = append(rows, row)
			}
			return aligned(cmd, header, rows)
		}}, &flags)
}

func runsReport(store opener) *cobra.Command {
	var flags struct {
		out string `flag:"out" default:"runs.html" usage:"the file of the page"`
	}
	return declare(&cobra.Command{Use: "report", Short: "Write a page that compares all records",
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := allRecords(cmd, store)
			if err != nil {
				return err
			}
			t, err := records.NewTable(list, nil)
			if err != nil {
				return failed(err)
			}
			return failed(files.Write(flags.out, t.WriteHTML))
		}}, &flags)
}

func runsRepeat(store opener) *cobra.Command {
	return &cobra.Command{Use: "repeat RECORD",
		Short: "Run a record again: the same bytes, or which input changed",
		Args:  arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := store().Get(args[0])
			if err != nil {
				return err
			}
			return repeat(cmd, e)
		}}
}

// repeat runs the command of a record again, and compares.
func repeat(cmd *cobra.Command, e *records.Entry) error {
	changed := e.Changed(scenarios.Version())
	for _, what := range changed {
		fmt.Fprintln(cmd.OutOrStdout(), "changed:", what)
	}
	var out, problems bytes.Buffer
	root := newRoot()
	root.SetArgs(append(append([]string{e.Command}, e.Args...), "--format=json", "--record="))
	root.SetOut(&out)
	root.SetErr(&problems)
	var now records.Record
	ctx := context.WithValue(cmd.Context(), repetition{}, &now)
	if err := root.ExecuteContext(ctx); err != nil && out.Len() == 0 {
		return fmt.Errorf("%s %s: %w", e.Command, strings.Join(e.Args, " "), err)
	}
	others := e.OtherInputs(&now)
	for _, what := range others {
		fmt.Fprintln(cmd.OutOrStdout(), "changed:", what)
	}
	same, err := e.SameResult(out.Bytes(), scenarios.Version())
	switch {
	case err != nil:
		return runError{err}
	case same:
		except := ""
		if e.Version != scenarios.Version() {
			except = ", but for the version that they state"
		}
		_, err := fmt.Fprintf(cmd.OutOrStdout(), "%.12s: the same bytes%s\n", e.ID, except)
		return failed(err)
	case len(changed)+len(others) == 0:
		fmt.Fprintln(cmd.OutOrStdout(), "no input changed that the record knows of")
	}
	return runError{errNotRepeated}
}
