package main

import (
	"github.com/llmsim/llmsim/internal/report"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/policies"

	"github.com/spf13/cobra"
)

// memoryFlag is a flag of the memory command and the scenario key that it sets.
type memoryFlag struct{ flag, key, usage string }

func memoryFlags() []memoryFlag {
	list := []memoryFlag{
		{"tensor-parallel", "parallelism.tensor",
			"the number of accelerators that share each layer (default: the fewest that hold the " +
				"model)"},
		{"pipeline-parallel", "parallelism.pipeline", "the number of stages that share the layers"},
		{"engine", "engine.preset", "engine preset"},
		{"assume", "shape.assume", "the model type as which to read a config.json of an unknown " +
			"type: llama"},
		{"weights", "engine.weights", "number format of the weights (default: as published)"},
		{"kv-cache", "engine.kv-cache", "number format of the KV cache"},
		{"max-model-len", "engine.max-model-len", "the most tokens of a prompt and its answer " +
			"together"},
		{"utilization", "memory.utilization", "share of the memory that the engine takes"},
	}
	batching := &policies.Default().Batching.Policies[0]
	for _, role := range []string{policies.Tokens, policies.Sequences} {
		limit := batching.Param(role)
		list = append(list, memoryFlag{limit.Name, "batching." + limit.Name,
			"the most " + limit.Tag.Get("jsonschema")})
	}
	return list
}

func memoryCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use: "memory MODEL HARDWARE",
		Short: "Show what fits into memory: weights, activation peak, KV blocks, concurrent " +
			"contexts",
		Long: "Show what fits into memory. The file of a scenario may stand in place of MODEL " +
			"and HARDWARE.",
		Example: "  llmsim memory llama-2-70b a100-80gb --tensor-parallel 2\n" +
			"  llmsim memory scenario.yaml",
		Args: describesServer,
	}
	f := cmd.Flags()
	for _, m := range memoryFlags() {
		f.String(m.flag, "", m.usage)
	}
	f.Var(choice(&format, "table", "json"), "format", "what to print: table or json")
	set := f.StringArray("set", nil, "override any scenario field: key.path=value (repeatable)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		overrides := *set
		for _, m := range memoryFlags() {
			if value := cmd.Flag(m.flag); value.Changed {
				overrides = append(overrides, m.key+"="+value.Value.String())
			}
		}
		return memory(cmd, args, overrides, format)
	}
	return cmd
}

func memory(cmd *cobra.Command, args, overrides []string, format string) error {
	file, err := describe(args, overrides)
	if err != nil {
		return err
	}
	plan, err := file.Memory(policies.Default())
	if err != nil {
		return err
	}
	printNotes(cmd, plan.Warnings)
	return show(cmd, format, report.NewMemoryEntry(plan), nil,
		func(report.MemoryEntry) doc.Blocks { return report.Memory(plan) })
}
