package scenarios

import (
	"io/fs"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models/measured"
	"github.com/llmsim/llmsim/models/steptime"
)

// readOperators reads the kernel tables that the scenario names; nil where it names none.
func (v *server) readOperators(a *hardware.Accelerator, e *steptime.Engine) *steptime.Tables {
	folder := v.locate("hardware.operators", v.written.Hardware.Operators)
	if folder == "" {
		return nil
	}
	if info, err := fs.Stat(v.file.files(), folder); err != nil || !info.IsDir() {
		v.problem("hardware.operators",
			"found %q, which is no folder; want one with tables such as GPU__gemm.csv", folder)
		return nil
	}
	tables, err := steptime.ReadTables(files.Folder(v.file.files(), folder), measured.Wanted{
		Accelerator: append([]string{a.Name}, a.Aliases...),
		Engine:      e.Kernels, Version: v.written.Hardware.Kernels,
	})
	if err != nil {
		v.problem("hardware.operators", "%s: %v", folder, err)
	}
	return tables
}
