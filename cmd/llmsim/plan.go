package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/planner"
	"github.com/llmsim/llmsim/internal/planner/capacity"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/strict"
)

// planFlags are the flags of the plan command.
type planFlags struct {
	set    []string `flag:"set" usage:"override a field of the plan: key.path=value (repeatable)"`
	format string   `flag:"format" choice:"table,brief,json" usage:"what to print: table, brief (about ten lines) or json"`
	detail bool     `flag:"details" usage:"print the whole page: what limits each kind of replica, every fleet, what changes the answer, and how it was found"`
	out    string   `flag:"out" usage:"folder for report.html with pictures, plan.json, options.csv, scenario.yaml (the answer), measure.yaml (what is worth measuring), a picture of a front, and the journal from which a stopped plan goes on"`
	emit   string   `flag:"emit" usage:"folder for the files that start the answer's fleet: start.sh, kubernetes.yaml and notes"`
	trust  string   `flag:"trust" choice:"any,distant,relative,measured" usage:"the least evidence on which an option may win: any, distant, relative or measured"`
	effort string   `flag:"effort" usage:"how far to look: first finds the cheapest fleet at the settings of the menu and how sure it is; normal also tries other settings, fleets and inputs, and a number does so until as many requests are simulated"`
	noTune bool     `flag:"no-tune" usage:"leave settings that are not on the menu to the engine's defaults"`
	prices string   `flag:"prices" usage:"file with prices of your own, in YAML or CSV, in place of the catalogue's"`
	strict strictFlag
	now    currentFlags
	queue  queueFlags
	shard  shardFlag
	keep   recordFlag
}

func planCommand() *cobra.Command {
	flags := planFlags{strict: strictFlag{reads: "--current"}}
	return declare(&cobra.Command{
		Use:   "plan FILE|NAME",
		Short: "Find the cheapest fleet that meets an SLO, and say why other options lose",
		Long: "Find the cheapest fleet that meets an SLO, and say why other options lose. The " +
			"exit code is 3 if no fleet meets it.",
		Example: `  llmsim plan llama2-70b-chat
  llmsim plan my-plan.yaml --set workload.rate=40/s --out answer`,
		Args: arguments(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error { return flags.run(cmd, args[0]) },
	}, &flags, &flags.strict, &flags.now, &flags.queue, &flags.shard, &flags.keep)
}

func (flags *planFlags) run(cmd *cobra.Command, name string) error {
	if cmd.Flags().Changed("trust") {
		flags.set = append(flags.set, "trust="+flags.trust)
	}
	if cmd.Flags().Changed("effort") {
		key := "effort.level="
		if _, err := strconv.ParseInt(flags.effort, 10, 64); err == nil {
			key = "effort.refine="
		}
		flags.set = append(flags.set, key+flags.effort)
	}
	if cmd.Flags().Changed("prices") {
		flags.set = append(flags.set, "prices="+strconv.Quote(flags.prices))
	}
	if flags.noTune {
		flags.set = append(flags.set, "menu.tune=none")
	}
	if flags.emit != "" {
		if err := launch.CheckFolder(flags.emit); err != nil {
			return fmt.Errorf("--emit: %w", err)
		}
	}
	file, err := asked.Open(name, flags.set...)
	if err != nil {
		return flags.named(err)
	}
	if err := flags.compare(cmd, file); err != nil {
		return err
	}
	if err := flags.shard.begin(flags.out,
		planner.Question{Command: "plan", Name: name, Set: flags.set}, asked.Read); err != nil {
		return err
	}
	answers, err := flags.solve(cmd, file)
	if err == nil && !flags.shard.Whole() {
		return failed(flags.shard.printDone(cmd, flags.out))
	}
	if err == nil {
		inputs, first := inputsOf(name, nil)
		if flags.prices != "" {
			inputs = append(inputs, flags.prices)
		}
		err = flags.keep.saveRun(cmd, []string{name}, recorded{name: name, inputs: inputs,
			scenario: first, result: jsonOf(answers)})
	}
	return flags.conclude(cmd, answers, err)
}

// named has an error about what a flag of its own gave name that flag.
func (flags *planFlags) named(err error) error {
	return located(err, func(p strict.Problem) strict.Problem {
		if flags.prices != "" && p.Where == "--set prices" {
			return at(p, "--prices", "prices")
		}
		if flags.effort != "" && strings.HasPrefix(p.Where, "--set effort.") {
			return at(p, "--effort", "effort")
		}
		return p
	})
}

// conclude writes the answer, and returns the error that chooses the exit code.
func (flags *planFlags) conclude(cmd *cobra.Command, answers *answer.Answers, err error) error {
	if err == nil {
		err = flags.write(cmd, answers)
	}
	if err != nil {
		return failed(err)
	}
	if n := answers.Failed(); n > 0 {
		return failed(fmt.Errorf(
			"%d simulations failed, and the answer leaves their results out; the same command "+
				"tries these again", n))
	}
	if !answers.Buildable() {
		return errors.New("no option of the menu can be built: see what limits each")
	}
	if flags.emit != "" {
		err := flags.strict.refuse("the files do not express", notExpressed(answers))
		if err != nil {
			return err
		}
	}
	if !answers.Met() {
		return errSLOMissed
	}
	return nil
}

// solve answers the plan, with a journal if there is a folder for it.
func (flags *planFlags) solve(cmd *cobra.Command, file *asked.File) (*answer.Answers, error) {
	counter := report.NewCounter(cmd.ErrOrStderr(), "simulations")
	counter.Start(-1)
	defer counter.End()
	var answers *answer.Answers
	err := flags.queue.withJournal(cmd, flags.out, "simulations",
		func(c queue.Config, j *planner.Journal) (err error) {
			answers, err = capacity.Solve(cmd.Context(), file, capacity.Options{Queue: c,
				Shard: flags.shard.Shard, Ran: counter.Step, Leads: counter.Say,
				Journal: j, Curves: flags.out != "",
				Short: flags.out == "" && !flags.detail && flags.format != "json" &&
					!flags.keep.keeps(cmd)})
			return err
		})
	return answers, err
}

// jsonOf returns what --format json prints: the answer, or the answers of several models.
func jsonOf(all *answer.Answers) any {
	if len(all.Models) == 1 {
		return all.Models[0]
	}
	return all
}

// write prints the answers, and writes the files of --out: where there are several models, each has
// a folder of its own.
func (flags *planFlags) write(cmd *cobra.Command, all *answer.Answers) error {
	asJSON := func(w io.Writer) error { return report.JSON(w, jsonOf(all)) }
	if flags.out != "" {
		if err := files.Write(filepath.Join(flags.out, "plan.json"), asJSON); err != nil {
			return err
		}
		if err := files.Write(filepath.Join(flags.out, "report.html"), all.Page); err != nil {
			return err
		}
		if d := all.Divided; d != nil {
			if err := files.WriteBytes(filepath.Join(flags.out, "scenario.yaml"),
				[]byte(d.Scenario), 0o666); err != nil {
				return err
			}
		}
		for _, a := range all.Models {
			dir := flags.out
			if len(all.Models) > 1 {
				dir = filepath.Join(dir, filepath.Base(a.Name))
			}
			if err := writeAnswer(dir, a); err != nil {
				return err
			}
		}
	}
	started := flags.start(all) // before the text, whose reader may leave after its first lines
	level := answer.Short
	switch {
	case flags.format == "brief":
		level = answer.Brief
	case flags.detail:
		level = answer.Whole
	}
	print := func(w io.Writer) error { return all.Write(w, level) }
	if flags.format == "json" {
		print = asJSON
	}
	// Where no file starts the answer, it is printed all the same.
	if err := print(cmd.OutOrStdout()); err != nil {
		return err
	}
	return started
}

// notExpressed returns what of the chosen fleets the files that start them do not express.
func notExpressed(all *answer.Answers) []string {
	var list []string
	for _, a := range all.Models {
		if a.Chosen != nil && a.Chosen.Bundle != nil {
			list = append(list, a.Chosen.Lacks...)
		}
	}
	return list
}

// start writes what starts the chosen fleets, each in a folder of its own where there are several
// models. With --strict, it writes nothing where the files would not express a fleet.
func (flags *planFlags) start(all *answer.Answers) error {
	if flags.emit == "" || flags.strict.on && len(notExpressed(all)) > 0 {
		return nil
	}
	for _, a := range all.Models {
		dir := flags.emit
		if len(all.Models) > 1 {
			dir = filepath.Join(dir, filepath.Base(a.Name))
		}
		switch {
		case a.Chosen == nil:
			continue
		case a.Chosen.Bundle == nil:
			return fmt.Errorf("--emit: %s", a.Chosen.Unstartable)
		}
		if err := a.Chosen.Bundle.Write(dir); err != nil {
			return err
		}
	}
	return nil
}

// writeAnswer writes what became of each option, and the chosen fleet.
func writeAnswer(dir string, a *answer.Answer) error {
	if err := files.Write(filepath.Join(dir, "options.csv"), a.WriteCSV); err != nil ||
		a.Chosen == nil {
		return err
	}
	if err := a.WriteFront(dir); err != nil {
		return err
	}
	for i := range a.Measurements[:min(1, len(a.Measurements))] {
		if err := files.WriteBytes(filepath.Join(dir, answer.MeasureFile),
			[]byte(a.Measurements[i].Scenario), 0o666); err != nil {
			return err
		}
	}
	if h := a.Horizon; h != nil {
		for i := range h.Mixed {
			name := filepath.Join(dir, fmt.Sprintf("month-%d.yaml", h.Mixed[i].To))
			text := []byte(h.Mixed[i].Scenario)
			if err := files.WriteBytes(name, text, 0o666); err != nil {
				return err
			}
		}
	}
	return files.WriteBytes(filepath.Join(dir, "scenario.yaml"), []byte(a.Chosen.Scenario), 0o666)
}
