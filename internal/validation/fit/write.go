package fit

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/units"
	"github.com/llmsim/llmsim/internal/validation/accuracy"
	"github.com/llmsim/llmsim/models/steptime"
)

// Write writes the fitted constants into a folder, in the form of hardware/fitted
// (accelerators/NAME.yaml, links/NAME.yaml, power.yaml, hosts.yaml) and of models/steptime
// (engines.yaml), routing.yaml of models, errors.md of internal/validation, machines.csv and
// errors.csv of internal/validation/accuracy, with the errors of rows in the fit and of rows that
// were predicted without any row of the same engine, accelerator and model, without half of these,
// and without their release, left_out_rows.csv with the predictions without the first, and
// priors.csv of this package. It replaces no file: one that is there already is an error.
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
		"priors.csv":        r.writePriors,
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

// prior is a constant that no row determines, with its value: what is believed without rows.
type prior struct {
	Scope string  `csv:"scope"`
	Of    string  `csv:"of"`
	Name  string  `csv:"name"`
	Value float64 `csv:"value"`
}

// writePriors writes priors.csv of this package.
func (r *Result) writePriors(w io.Writer) error {
	var list []prior
	for _, c := range r.Constants {
		if _, written := r.owners[owner{scope(c.Scope), c.Of}]; c.Prior && written {
			list = append(list, prior{c.Scope, c.Of, c.Name, significant(c.Fitted)})
		}
	}
	return files.WriteTable(w, list)
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

// WriteText prints the result for people, 100 columns wide.
func (r *Result) WriteText(w io.Writer) error {
	b := &bytes.Buffer{}
	fmt.Fprintf(b, "Fitted to %d measured figures. Constants with ± are determined by them; "+
		"others are their priors.\nOf %d constants the rows determine %.1f, counting each by the "+
		"share of its variance that\nthey take away.\n", r.Rows, len(r.Constants), r.Effective)
	subject := ""
	for i := range r.Constants {
		c := &r.Constants[i]
		if s := c.Scope + " " + c.Of; s != subject {
			subject = s
			fmt.Fprintf(b, "\n%s\n  %-28s %12s %12s\n", s, "constant", "shipped", "fitted")
		}
		if c.Prior {
			fmt.Fprintf(b, "  %-28s %12s %12s  prior\n", c.Name, c.format(c.Shipped),
				c.format(c.Fitted))
		} else {
			fmt.Fprintf(b, "  %-28s %12s %12s  ±%.0f %%\n", c.Name, c.format(c.Shipped),
				c.format(c.Fitted), 100*c.Deviation)
		}
	}
	fmt.Fprintf(b, "\nMedian absolute error, in percent. Ratio is the larger error left out over "+
		"the fitted one;\nabove %g (*), constants describe the servers more than the machines.\n",
		mostRatio)
	fmt.Fprintf(b, "  %-20s %-21s %5s %7s %6s %14s %7s %9s  %s\n", "", "", "", "", "", "left out:",
		"", "", "")
	fmt.Fprintf(b, "  %-20s %-21s %5s %7s %6s %7s %6s %7s %9s  %s\n", "table", "quantity", "rows",
		"shipped", "fitted", "model", "GPU", "ratio", "at most", "best other simulator")
	for i := range r.Errors {
		r.Errors[i].write(b)
	}
	b.WriteByte('\n')
	accuracy.WriteGoals(b, r.Goals)
	_, err := w.Write(b.Bytes())
	return err
}

func (e *Error) write(b *bytes.Buffer) {
	most := "–"
	if e.AtMost > 0 {
		most = fmt.Sprintf("%g", e.AtMost)
	}
	ratio := "–"
	if e.Ratio > 0 {
		ratio = fmt.Sprintf("%.2f", e.Ratio)
	}
	if e.Ratio > mostRatio {
		ratio += "*"
	}
	fmt.Fprintf(b, "  %-20s %-21s %5d %7.1f %6.1f %7s %6s %7s %9s  %s\n", e.Table, e.Subject(), e.N,
		e.Shipped, e.Fitted, percent(e.WithoutModel), percent(e.WithoutAccelerator), ratio, most,
		e.Peer)
}

// writeErrors writes errors.md of internal/validation.
func (r *Result) writeErrors(w io.Writer) error {
	b := &bytes.Buffer{}
	large := 0
	for i := range r.Errors {
		if r.Errors[i].Ratio > mostRatio {
			large++
		}
	}
	fmt.Fprintf(b, errorsIntroduction, mostRatio, large, len(r.Errors))
	for i := range r.Errors {
		e := &r.Errors[i]
		mark := ""
		if e.Ratio > mostRatio {
			mark = "*"
		}
		fmt.Fprintf(b, "| %s | %s | %d | %.1f | %.1f%s | %s | %s |\n", e.Table,
			e.Subject(), e.N, e.Shipped, e.Fitted, mark,
			percent(e.WithoutModel), percent(e.WithoutAccelerator))
	}
	_, err := w.Write(b.Bytes())
	return err
}

const errorsIntroduction = `# Errors in the fit and left out of it

Median absolute errors in percent of each quantity that constants are fitted to: before the fit,
with the constants that it found, with constants fitted without any row of the same model, and
without any row of the same GPU, which then borrows from its nearest relative. "–" where nothing
else was measured on that engine. The fit writes this page.

A star marks quantities whose larger error left out is over %g times the fitted one, so that
constants describe the servers more than the machines: %d of %d quantities.

| table | quantity | rows | before | fitted | model left out | GPU left out |
|---|---|---|---|---|---|---|
`

func percent(v *float64) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf("%.1f", *v)
}

// format writes a value with its unit.
func (c *Constant) format(v float64) string {
	switch {
	case c.Time:
		return units.FormatDuration(significant(v))
	case v > 1e6:
		return fmt.Sprintf("%.3g", v)
	}
	return fmt.Sprint(significant(v))
}

// significant rounds to three significant digits.
func significant(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*unit) / unit
}
