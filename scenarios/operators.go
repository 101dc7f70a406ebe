package scenarios

import (
	"io/fs"
	"path/filepath"

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

// operatorFiles lists the tables of a folder that the scenario names, beside its file or as it stands.
func (f *File) operatorFiles(folder string) []string {
	var list []string
	for _, at := range []string{folder, filepath.Join(f.dir, folder)} {
		if folder == "" {
			continue
		}
		for _, name := range measured.Files(files.Folder(f.files(), at)) {
			list = append(list, filepath.Join(folder, name))
		}
	}
	return list
}
