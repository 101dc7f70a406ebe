package main

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/validation/distil"
)

// distil distils tables of kernels, and prints how well the forms hold.
func (flags *validateFlags) distil(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("--kernels needs DIR, a folder with tables such as " +
			"h100_sxm/gemm/vllm/0.24.0/gemm_perf.csv")
	}
	catalog, err := hardware.Load()
	if err != nil {
		return err
	}
	dir := os.DirFS(args[0])
	list, err := distil.Kernels(dir, catalog, time.Now())
	if err != nil {
		return err
	}
	recurrent, err := distil.Recurrent(dir, catalog, time.Now())
	if err != nil {
		return err
	}
	compared, err := distil.CompareMixers(dir, catalog)
	if err != nil {
		return err
	}
	if flags.out != "" {
		if err := distil.Write(flags.out, list, recurrent); err != nil {
			return err
		}
	}
	w := cmd.OutOrStdout()
	return errors.Join(distil.WriteText(w, list), distil.WriteRecurrent(w, recurrent),
		distil.WriteMixers(w, compared))
}
