package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// twinObserveFlags are the flags of the twin observe command.
type twinObserveFlags struct {
	sourceFlags
	out        string        `flag:"out" usage:"folder for observed.json and workload.yaml"`
	scrape     string        `flag:"scrape" usage:"address of a server whose /metrics is read over time"`
	prometheus string        `flag:"prometheus" usage:"address of a Prometheus that scrapes the server"`
	selector   string        `flag:"selector" usage:"labels that choose the server's series in Prometheus, such as job=\"vllm\""`
	span       time.Duration `flag:"for" default:"10m" usage:"how long to scrape, or to look back"`
	every      time.Duration `flag:"every" default:"1m" usage:"the time between two pages of metrics"`
}

func twinObserveCommand() *cobra.Command {
	var flags twinObserveFlags
	return declare(&cobra.Command{
		Use:   "observe [SOURCE…]",
		Short: "Read what was seen of a deployment: results, logs, metrics, traces",
		Long: "Reads files and folders of load generators, engines and Prometheus, says what " +
			"is in " +
			"them and what is missing, and writes a folder for the other commands. Nothing of a " +
			"prompt's text is kept.\n\nFormats: " + strings.Join(formats.Names(), ", ") + ".",
		Example: `  llmsim twin observe bench/*.json --out observed
  llmsim twin observe --scrape http://server:8000 --for 10m --out observed
  llmsim twin observe requests.csv --map first=t_first_s --map last=t_last_s --out observed`,
		Args: arguments(0, noLimit),
		RunE: flags.run,
	}, &flags)
}

func (flags *twinObserveFlags) run(cmd *cobra.Command, args []string) error {
	o, err := flags.observe(cmd, args)
	if err != nil {
		return err
	}
	if flags.out != "" {
		if err := o.Save(flags.out); err != nil {
			return failed(err)
		}
	}
	return failed(o.WriteText(cmd.OutOrStdout()))
}

// observe reads all sources.
func (flags *twinObserveFlags) observe(cmd *cobra.Command,
	args []string) (*observed.Observed, error) {
	if len(args) == 0 && flags.scrape == "" && flags.prometheus == "" {
		return nil, errors.New("give a source: files or folders, --scrape or --prometheus")
	}
	o, err := flags.read(args)
	if err != nil {
		return nil, err
	}
	if address := cmp.Or(flags.scrape, flags.prometheus); address != "" {
		how := formats.Scrape{Address: address, For: flags.span, Every: flags.every,
			Selector: flags.selector, Prometheus: flags.scrape == ""}
		live, err := how.Run(cmd.Context())
		if err != nil {
			return nil, failed(err)
		}
		o.Add(live)
	}
	return o, nil
}

// read reads files and folders.
func (flags *sourceFlags) read(args []string) (*observed.Observed, error) {
	columns := map[string]string{}
	for _, pair := range flags.fields {
		field, column, found := strings.Cut(pair, "=")
		if !found || column == "" {
			return nil, fmt.Errorf("--map: found %q, want field=column", pair)
		}
		maps.Copy(columns, map[string]string{field: column})
	}
	all := &observed.Observed{}
	for _, path := range args {
		o, err := formats.Read(files.Disk{}, path,
			formats.Options{Format: flags.format, Columns: columns})
		if err != nil {
			return nil, err
		}
		all.Add(o)
	}
	return all, nil
}
