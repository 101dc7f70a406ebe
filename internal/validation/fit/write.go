package fit

import (
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models/steptime"
)

// Write writes the fitted constants into a folder, in the form of hardware/fitted
// (accelerators/NAME.yaml, links/NAME.yaml, power.yaml, hosts.yaml) and of models/steptime
// (engines.yaml), routing.yaml of models, errors.md of internal/validation, machines.csv and
// errors.csv of internal/validation/accuracy, with the errors of rows in the fit and of rows that
// were predicted without any row of the same engine, accelerator and model, without half of these,
// and without their release, and left_out_rows.csv with the predictions without the first. It
// replaces no file: one that is there already is an error.
func (r *Result) Write(dir string, date time.Time) error {
	var engines []steptime.Engine
	for _, e := range steptime.Engines() {
		if from, ok := r.owners[owner{engine, e.Name}]; ok {
			measured := measuredApart(e.Source)
			e = r.engine(e.Name)
			e.Source = from.source() + fmt.Sprintf(" (%s, %d rows, median error %.2g %%)",
				date.Format(time.DateOnly), from.rows, 100*from.error) + measured
		}
		engines = append(engines, e) // as it was where no row is of it
	}
	contents := map[string]func(io.Writer) error{
		"left_out_rows.csv": r.leftOut.groups.WriteCSV,
		"errors.csv":        r.leftOut.write,
		"errors.md":         r.writeErrors,
	}
	if len(r.fitted.machines) > 0 {
		contents["machines.csv"] = func(w io.Writer) error {
			var list []accuracy.MachineHost
			for _, name := range slices.Sorted(maps.Keys(r.fitted.machines)) {
				list = append(list, accuracy.MachineHost{Machine: name,
					Host: significant(r.fitted.machines[name].Host)})
			}
			return files.WriteTable(w, list)
		}
	}
	if r.hosts > 0 {
		contents["hosts.yaml"] = files.AsYAML(hardware.HostSpread{
			Source: "llmsim validate --fit: hosts of machines.csv beside those of accelerators",
			Date:   date.Format(time.DateOnly), Machines: len(r.fitted.machines),
			Deviation: significant(r.hosts)})
	}
	if len(engines) > 0 {
		contents["engines.yaml"] = files.AsYAML(engines)
	}
	if len(r.laws) > 0 {
		contents["power.yaml"] = files.AsYAML(r.laws.written(r.draws, date))
	}
	list := r.fitted.routings()
	for i := range list {
		if from, ok := r.owners[owner{routing, list[i].Name}]; ok {
			list[i].Source = from.fit(date).Source
			round(routing, &list[i])
		}
	}
	contents["routing.yaml"] = files.AsYAML(list)
	for name, c := range r.fitted.accelerators {
		if from, ok := r.owners[owner{accelerator, name}]; ok {
			c = stated(accelerator, hardware.Stated(name), &c)
			c.Fit = from.fit(date)
			contents[filepath.Join("accelerators", name+".yaml")] = files.AsYAML(c)
		}
	}
	for name, c := range r.fitted.links {
		if from, ok := r.owners[owner{link, name}]; ok {
			measured := measuredApart(c.Fit.Source)
			c = stated(link, hardware.StatedLink(name), &c)
			c.Fit = from.fit(date)
			c.Fit.Source += measured
			contents[filepath.Join("links", name+".yaml")] = files.AsYAML(c)
		}
	}
	return files.WriteNew(dir, contents)
}

// measuredApart returns what a source says, behind the fit's own, of constants that the fit keeps.
func measuredApart(source string) string {
	for _, begin := range []string{"; bulk:", "; memory:", "; launch:"} {
		if i := strings.Index(source, begin); i >= 0 {
			return source[i:]
		}
	}
	return ""
}

// engine returns the fitted preset of a family, rounded.
func (r *Result) engine(name string) steptime.Engine {
	e := r.fitted.engines[name]
	round(engine, &e)
	return e
}

// stated returns what the file of an owner states, with the fitted values, rounded.
func stated[T any](s scope, file T, fitted *T) T {
	for _, c := range constantsOf(s, &file) {
		if c.Name = c.path(); read(&file, c.Name) != 0 {
			c.set(&file, significant(read(fitted, c.Name)))
		}
	}
	return file
}

// round rounds the constants of an owner to three significant digits, which is more than a fit is
// sure of.
func round(s scope, owner any) {
	for _, c := range constantsOf(s, owner) {
		if v := c.get(owner); v != 0 {
			c.set(owner, significant(v))
		}
	}
}

// fit says where constants are from.
func (e basis) fit(date time.Time) hardware.Fit {
	return hardware.Fit{Source: e.source(), Date: date.Format(time.DateOnly), Rows: e.rows,
		Error: significant(e.error)}
}

func (e basis) source() string {
	command := "llmsim validate --fit"
	if len(e.only) > 0 {
		command += " --only " + strings.Join(e.only, ",") + " (for study, not to ship)"
	}
	return command + ": tables " + strings.Join(e.tables, ", ") +
		"; what these do not determine is an own estimate (docs/physics.md)"
}
