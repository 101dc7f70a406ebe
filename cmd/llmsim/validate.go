package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/report/plots"
	"github.com/llmsim/llmsim/internal/validation"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/internal/validation/fit"
)

// validateFlags are the flags of the validate command.
type validateFlags struct {
	format  string   `flag:"format" choice:"table,brief,json" usage:"what to print: table, brief (a line for each quantity) or json"`
	out     string   `flag:"out" usage:"folder for rows.csv (every prediction beside its measurement), coverage.md, a picture of each table, and two pictures that show how often the 80 % ranges contain the measurement"`
	fit     bool     `flag:"fit" usage:"fit the constants again, leave out each model and GPU in turn, and write the constants to --out, with errors.csv, the errors of rows in the fit and left out of it"`
	only    []string `flag:"only" split:"," usage:"with --fit: the engines, accelerators and links whose constants are fitted; others keep theirs"`
	kernels bool     `flag:"kernels" usage:"compute the constants of engines from the published tables of kernels in DIR, and write them to --out"`
	papers  bool     `flag:"papers" usage:"test claims of papers with the scenarios that ship with the program for them"`
	row     string   `flag:"row" usage:"one row, FILE:LINE, with the name of its file in DIR"`
	emit    bool     `flag:"emit" usage:"with --row: print the scenario by which the row is predicted, for llmsim scenario; with --out, write scenario.yaml there, and the requests of rows that were measured request by request"`
	site    string   `flag:"site" usage:"folder for index.html, a page of every prediction beside its measurement that needs no network"`
}

func validateCommand() *cobra.Command {
	var flags validateFlags
	cmd := declare(&cobra.Command{
		Use:   "validate [DIR]...",
		Short: "Predict what was measured on real GPUs, and show how wrong the predictions are",
		Long: "Simulate each row of the tables of measurements in each DIR and below as it was " +
			"measured, and compare. docs/validation.md lists the known tables. Without DIR, the " +
			"command takes published figures that ship with the program.\n\n" +
			"With --papers it repeats experiments of papers on schedulers and KV memory, and " +
			"says which of their claims llmsim confirms.",
		Example: `  llmsim validate
  llmsim validate --papers
  llmsim validate measurements --out errors
  llmsim validate --row closed_loop_concurrency.csv:2 --emit
  llmsim validate measurements --site pages
  llmsim validate measurements --fit --out constants`,
		Args: folders,
		RunE: flags.run,
	}, &flags)
	cmd.MarkFlagsMutuallyExclusive("papers", "fit", "kernels", "site", "row")
	cmd.MarkFlagsMutuallyExclusive("papers", "out")
	return cmd
}

func (flags *validateFlags) run(cmd *cobra.Command, args []string) error {
	if len(flags.only) > 0 && !flags.fit {
		return errors.New("--only needs --fit")
	}
	if flags.emit && flags.row == "" {
		return errors.New("--emit needs --row")
	}
	if flags.format == "brief" && (flags.papers || flags.fit || flags.kernels) {
		return errors.New("--format brief does not go with --papers, --fit or --kernels")
	}
	if flags.papers {
		return flags.checkPapers(cmd, args)
	}
	if flags.kernels {
		return flags.distil(cmd, args)
	}
	tables := []fs.FS{validation.Cited()}
	for i, dir := range args {
		tables = append(tables[:i], os.DirFS(dir))
	}
	data, err := validation.Read(tables...)
	if err != nil {
		return err
	}
	if flags.fit {
		return flags.refit(cmd, data)
	}
	if flags.row != "" {
		if data, err = data.Row(flags.row); err != nil {
			return err
		}
	}
	if flags.emit {
		return flags.emitRow(cmd, data)
	}
	debug.SetGCPercent(400) // runs of many requests need more memory than what is kept between them
	compared, err := data.Compare(cmd.Context(), accuracy.Physics{})
	if err != nil {
		return err
	}
	if len(args) > 0 {
		fit.Mark(data, compared)
	}
	if flags.out != "" {
		if err := writeErrors(flags.out, compared); err != nil {
			return err
		}
	}
	if flags.site != "" {
		err := files.Write(filepath.Join(flags.site, "index.html"),
			func(w io.Writer) error { return validation.WriteSite(w, compared) })
		if err != nil {
			return err
		}
	}
	summary := compared.Summary()
	text := (*accuracy.Summary).WriteText
	if flags.format == "brief" {
		text = (*accuracy.Summary).WriteBrief
	}
	return write(cmd, flags.format, &summary, nil, text)
}

// emitRow prints the scenario of a row, or writes it to --out with the requests that it sends.
func (flags *validateFlags) emitRow(cmd *cobra.Command, data *validation.Data) error {
	row, err := data.Scenario(cmd.Context(), flags.row)
	switch {
	case err != nil:
		return err
	case flags.out == "" && row.Trace != nil:
		return fmt.Errorf("%s: the row's requests are sent one by one: want a folder for the "+
			"scenario and %s, such as --out row", flags.row, validation.RequestsFile)
	case flags.out == "":
		_, err = cmd.OutOrStdout().Write(row.Scenario)
		return err
	}
	if row.Trace != nil {
		err := files.WriteBytes(filepath.Join(flags.out, validation.RequestsFile), row.Trace, 0o666)
		if err != nil {
			return err
		}
	}
	return files.WriteBytes(filepath.Join(flags.out, "scenario.yaml"), row.Scenario, 0o666)
}

// refit fits the constants to the data, and writes them.
func (flags *validateFlags) refit(cmd *cobra.Command, data *validation.Data) error {
	result, err := fit.Run(cmd.Context(), data, flags.only,
		func(progress string) { fmt.Fprintln(cmd.ErrOrStderr(), progress) })
	if err != nil {
		return err
	}
	if flags.out != "" {
		if err := result.Write(flags.out, time.Now()); err != nil {
			return err
		}
	}
	return write(cmd, flags.format, result, nil, (*fit.Result).WriteText)
}

// folders accepts arguments that are folders.
func folders(_ *cobra.Command, args []string) error {
	for _, dir := range args {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fmt.Errorf("%s: no such folder", dir)
		}
	}
	return nil
}

// writeErrors writes every comparison, and draws the errors of each table.
func writeErrors(dir string, compared *accuracy.Report) error {
	if err := files.Write(filepath.Join(dir, "rows.csv"), compared.WriteCSV); err != nil {
		return err
	}
	if err := files.Write(filepath.Join(dir, "coverage.md"), compared.WriteCoverage); err != nil {
		return err
	}
	pictures, err := compared.ReliabilityPlots()
	if err != nil {
		return err
	}
	for name, picture := range pictures {
		if err := plots.Save(dir, name, picture); err != nil {
			return err
		}
	}
	for i := range compared.Tables {
		t := &compared.Tables[i]
		if len(t.Rows) == 0 {
			continue
		}
		picture, err := t.Accuracy().Draw()
		if err != nil {
			return err
		}
		if err := plots.Save(dir, t.Name, picture); err != nil {
			return err
		}
	}
	return nil
}
