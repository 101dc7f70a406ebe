package scenarios

import (
	"io/fs"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/models/measured"
	"github.com/llmsim/llmsim/models/steptime"
)

// readOperators reads the kernel tables that the scenario names.
func (b *builder) readOperators() {
	folder := b.locate("hardware.operators", b.s.Hardware.Operators)
	if folder == "" || len(b.problems) > 0 {
		return
	}
	if info, err := fs.Stat(b.file.files(), folder); err != nil || !info.IsDir() {
		b.problem("hardware.operators", "found %q, which is no folder; want one with tables such as GPU__gemm.csv", folder)
		return
	}
	wanted := measured.Wanted{
		Accelerator: append([]string{b.Accelerator.Name}, b.Accelerator.Aliases...),
		Engine:      b.Engine.Kernels, Version: b.s.Hardware.Kernels,
	}
	var err error
	if b.Physics.Operators, err = steptime.ReadTables(files.Folder(b.file.files(), folder), wanted); err != nil {
		b.problem("hardware.operators", "%s: %v", folder, err)
	}
}
