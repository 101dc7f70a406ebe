package distil

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
)

// Write writes constants into a folder, in the form of hardware/fitted/kernels
// (ENGINE/ACCELERATOR.yaml). It replaces no file: one that is there already is an error.
func Write(dir string, list []hardware.Kernels) error {
	for i := range list {
		k := &list[i]
		if err := write(filepath.Join(dir, k.Engine, k.Accelerator+".yaml"), k); err != nil {
			return err
		}
	}
	return nil
}

// WriteRecurrentFiles writes the constants of linear attention into a folder, in the form of
// hardware/fitted/recurrent: recurrent/ENGINE.yaml. It replaces no file.
func WriteRecurrentFiles(dir string, list []hardware.RecurrentKernel) error {
	byEngine := map[string][]hardware.RecurrentKernel{}
	for _, k := range list {
		byEngine[k.Engine] = append(byEngine[k.Engine], k)
	}
	for _, engine := range slices.Sorted(maps.Keys(byEngine)) {
		if err := write(filepath.Join(dir, "recurrent", engine+".yaml"),
			byEngine[engine]); err != nil {
			return err
		}
	}
	return nil
}

// write writes a data file that is not there yet.
func write(name string, content any) error {
	data, err := files.EncodeYAML(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already; constants replace no file, so choose another folder",
			name)
	}
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

// WriteText writes a table of the errors of the forms.
func WriteText(w io.Writer, list []hardware.Kernels) error {
	_, err := fmt.Fprintf(w, "%-8s %-14s %-27s %-9s %7s %7s %9s\n", "engine", "accelerator",
		"kernels", "format", "rows", "error", "left out")
	line := func(k *hardware.Kernels, what string, d hardware.DType, f hardware.KernelFit) {
		left := "–" // of kernels of one shape nothing can be left out
		if f.LeftOut > 0 {
			left = fmt.Sprintf("%.1f %%", 100*f.LeftOut)
		}
		if err == nil {
			_, err = fmt.Fprintf(w, "%-8s %-14s %-27s %-9s %7d %5.1f %% %9s\n", k.Engine,
				k.Accelerator, what, d, f.Rows, 100*f.Error, left)
		}
	}
	for i := range list {
		k := &list[i]
		for _, d := range slices.Sorted(maps.Keys(k.Products)) {
			line(k, "products", d, k.Products[d].Fit)
		}
		for _, d := range slices.Sorted(maps.Keys(k.Experts)) {
			for _, name := range slices.Sorted(maps.Keys(k.Experts[d])) {
				line(k, "experts, "+name, d, k.Experts[d][name].Fit)
			}
		}
	}
	return err
}
