package main

import (
	"os"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/models"
	"github.com/llmsim/llmsim/models/steptime"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
)

func listCommand() *cobra.Command {
	var flags formatFlag
	return declare(&cobra.Command{
		Use:       "list hardware|links|models|engines|policies|scenarios|plans|configs DIR",
		Short:     "List the names that scenarios can use, and the scenarios and plans that ship",
		Args:      listArgs,
		ValidArgs: listed(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return list(cmd, args, flags.format)
		},
	}, &flags)
}

// listArgs wants the name of a list, and the folder whose configs are listed.
func listArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && args[0] == "configs" {
		return arguments(2, 2)(cmd, args)
	}
	return cobra.MatchAll(arguments(1, 1), oneOf(listed()...))(cmd, args)
}

// listed returns the names of the lists.
func listed() []string {
	return []string{"hardware", "links", "models", "engines", "policies", "scenarios", "plans",
		"configs"}
}

func list(cmd *cobra.Command, args []string, format string) error {
	switch args[0] {
	case "configs":
		entries, err := report.ConfigList(os.DirFS(args[1]))
		return show(cmd, format, entries, err, report.Configs)
	case "hardware":
		catalog, err := hardware.Load()
		return show(cmd, format, report.HardwareList(catalog), err, report.Hardware)
	case "models":
		catalog, err := models.Load()
		if err != nil {
			return failed(err)
		}
		return show(cmd, format, report.ModelList(catalog), nil, report.Models)
	case "links":
		catalog, err := hardware.Load()
		return show(cmd, format, report.LinkList(catalog), err, report.Links)
	case "engines":
		return show(cmd, format, report.EngineList(steptime.Engines()), nil, report.Engines)
	case "policies":
		return show(cmd, format, report.PolicyList(policies.Default()), nil, report.Policies)
	case "plans":
		shipped, err := asked.List()
		return show(cmd, format, shipped, err, func(list []scenarios.Listing) doc.Blocks {
			return report.Shipped("plan", list)
		})
	}
	shipped, err := scenarios.List()
	return show(cmd, format, shipped, err, func(list []scenarios.Listing) doc.Blocks {
		return report.Shipped("scenario", list)
	})
}
