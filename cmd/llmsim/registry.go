package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/records"
	"github.com/llmsim/llmsim/internal/registry"
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/scenarios"

	"github.com/spf13/cobra"
)

// registryFolder returns the folder of the registry.
func registryFolder() string { return os.Getenv(registry.Variable) }

func registryCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "registry",
		Short: "Keep models, hardware, deployments and policies of your own under names",
		Long: "Keep models (config.json), hardware, deployments (scenarios) and policies in a " +
			"folder, under names and versions. " + registry.Variable + " names the folder; then " +
			"all commands know the names, as NAME for the newest version or NAME@VERSION. What " +
			"ships (llmsim list) keeps its names. docs/records.md describes the files.",
		Example: "  export LLMSIM_REGISTRY=team\n  llmsim registry add model ours config.json\n" +
			"  llmsim scenario chat --set model=ours",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return fmt.Errorf("give what to do: %s", strings.Join(verbs(cmd), ", "))
		},
	}
	cmd.PersistentFlags().StringVar(&dir, "registry", registryFolder(),
		"the folder of the registry (default: what "+registry.Variable+" names)")
	cmd.PersistentFlags().Lookup("registry").DefValue = ""
	open := func() (*registry.Store, error) {
		if dir == "" {
			return nil, errors.New("give the folder of the registry: --registry, or the variable " +
				registry.Variable)
		}
		return registry.Open(dir), nil
	}
	cmd.AddCommand(registryAdd(open), registryList(open), registryShow(open), registryUses(open))
	return cmd
}

// registryOpener opens the registry that the flags name.
type registryOpener func() (*registry.Store, error)

// kindOf reads the kind of an entry.
func kindOf(word string) (registry.Kind, error) {
	var words []string
	for _, k := range registry.Kinds() {
		words = append(words, string(k))
	}
	if !slices.Contains(words, word) {
		return "", fmt.Errorf("found %q, want one of %s", word, strings.Join(words, ", "))
	}
	return registry.Kind(word), nil
}

func registryAdd(open registryOpener) *cobra.Command {
	return &cobra.Command{Use: "add KIND NAME FILE",
		Short: "Add a file as the next version of a name: model, hardware, deployment or policy",
		Args:  arguments(3, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, err := kindOf(args[0])
			if err != nil {
				return err
			}
			store, err := open()
			if err != nil {
				return err
			}
			data, err := registry.ReadFile(args[2])
			if err != nil {
				return err
			}
			if err := scenarios.CheckEntry(kind, args[1], args[2], data); err != nil {
				return err
			}
			e, err := store.Add(kind, args[1], data)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s %s@%d %.12s\n", e.Kind, e.Name, e.Version,
				e.SHA256)
			return failed(err)
		}}
}

func registryList(open registryOpener) *cobra.Command {
	var flags formatFlag
	return declare(&cobra.Command{Use: "list", Args: arguments(0, 0),
		Short: "List the entries, each with its newest version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, err := open()
			if err == nil {
				err = thereIs(cmd, "registry", cmd.Flag("registry").Value.String())
			}
			if err != nil {
				return err
			}
			list, problems := store.List()
			for _, p := range problems {
				printNotes(cmd, []string{p.Error()})
			}
			if flags.format == "json" {
				return failed(report.JSON(cmd.OutOrStdout(), list))
			}
			rows := [][]string{}
			for _, e := range list {
				rows = append(rows, []string{string(e.Kind), e.Name, strconv.Itoa(e.Version),
					e.SHA256[:12]})
			}
			return aligned(cmd, []string{"kind", "name", "version", "sha-256"}, rows)
		}}, &flags)
}

// entry finds the entry that arguments name.
func entry(open registryOpener, args []string) (*registry.Entry, error) {
	kind, err := kindOf(args[0])
	if err != nil {
		return nil, err
	}
	store, err := open()
	if err != nil {
		return nil, err
	}
	e, err := store.Find(kind, args[1])
	if errors.Is(err, fs.ErrNotExist) {
		return nil, store.Unknown(kind, args[1])
	}
	return e, err
}

func registryShow(open registryOpener) *cobra.Command {
	return &cobra.Command{Use: "show KIND NAME", Short: "Print the file of an entry",
		Args: arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := entry(open, args)
			if err != nil {
				return err
			}
			data, err := registry.ReadFile(e.Path)
			if err != nil {
				return failed(err)
			}
			_, err = cmd.OutOrStdout().Write(data)
			return failed(err)
		}}
}

func registryUses(open registryOpener) *cobra.Command {
	var runs string
	cmd := &cobra.Command{Use: "uses KIND NAME",
		Short: "List the deployments and the recorded runs that use an entry",
		Args:  arguments(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := entry(open, args)
			if err != nil {
				return err
			}
			store, err := open()
			if err != nil {
				return err
			}
			if err := thereIs(cmd, "runs", runs); err != nil {
				return err
			}
			var rows [][]string
			list, _ := store.List()
			for _, d := range list {
				if d.Kind == registry.Deployment && scenarios.UsesEntry(d.Path, e) {
					rows = append(rows, []string{"deployment", fmt.Sprintf("%s@%d", d.Name,
						d.Version)})
				}
			}
			kept, err := allRecords(cmd, func() *records.Store { return records.Open(runs) })
			if err != nil {
				return err
			}
			for i := range kept {
				used := func(in records.Input) bool { return in.SHA256 == e.SHA256 }
				if slices.ContainsFunc(kept[i].Inputs, used) {
					rows = append(rows, []string{"run", kept[i].ID[:12] + " " + kept[i].Name})
				}
			}
			return aligned(cmd, []string{"what", "name"}, rows)
		}}
	cmd.Flags().StringVar(&runs, "runs", defaultRuns(), "the folder of records")
	return cmd
}
