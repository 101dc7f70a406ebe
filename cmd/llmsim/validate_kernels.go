package main

import (
	"errors"
	"os"
	"time"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/distil"

	"github.com/spf13/cobra"
)

// distil distils tables of kernels, and prints how well the forms hold.
func (flags *validateFlags) distil(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("--kernels needs DIR, a folder with tables such as h100_sxm/gemm/vllm/0.24.0/gemm_perf.parquet")
	}
	catalog, err := hardware.Load()
	if err != nil {
		return err
	}
	list, err := distil.Kernels(os.DirFS(args[0]), catalog, time.Now())
	if err != nil {
		return err
	}
	if flags.out != "" {
		if err := distil.Write(flags.out, list); err != nil {
			return err
		}
	}
	return distil.WriteText(cmd.OutOrStdout(), list)
}
