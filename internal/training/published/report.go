package published

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
)

// Report has the errors of computed times of steps and memories, by publication.
type Report struct {
	Publications []Errors `json:"publications"`
	// Step and Memory are over all rows.
	Step   *Median `json:"step,omitempty"`
	Memory *Median `json:"memory,omitempty"`
	// Left counts the rows that are not compared, by the reason.
	Left map[string]int `json:"left_out"`
}

// Errors is the errors of a publication.
type Errors struct {
	Publication string  `json:"publication"`
	Step        *Median `json:"step,omitempty"`
	Memory      *Median `json:"memory,omitempty"`
}

// Median holds medians over some rows: Signed of the errors, Absolute of their absolute values, as
// fractions of what is published.
type Median struct {
	Rows     int     `json:"rows"`
	Signed   float64 `json:"signed"`
	Absolute float64 `json:"absolute"`
}

// Report compares all rows.
func (d *Data) Report() *Report {
	r := &Report{Left: map[string]int{}}
	steps, memories := map[string][]float64{}, map[string][]float64{}
	var allSteps, allMemories []float64
	for i := range d.Rows {
		row := &d.Rows[i]
		if row.Step > 0 {
			step := row.Job.Step()
			e := step.Total()/row.Step - 1
			steps[row.Publication] = append(steps[row.Publication], e)
			allSteps = append(allSteps, e)
		}
		if row.Memory > 0 {
			memory := row.Job.Memory()
			bytes := memory.Total()
			if row.Allocated {
				bytes = memory.Allocated()
			}
			e := bytes/row.Memory - 1
			memories[row.Publication] = append(memories[row.Publication], e)
			allMemories = append(allMemories, e)
		}
	}
	names := map[string]bool{}
	for i := range d.Rows {
		names[d.Rows[i].Publication] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		r.Publications = append(r.Publications,
			Errors{name, median(steps[name]), median(memories[name])})
	}
	r.Step, r.Memory = median(allSteps), median(allMemories)
	for _, l := range d.Left {
		r.Left[l.Why]++
	}
	return r
}

// median returns the medians of errors; nil without rows.
func median(errors []float64) *Median {
	if len(errors) == 0 {
		return nil
	}
	absolute := make([]float64, len(errors))
	for i, e := range errors {
		absolute[i] = math.Abs(e)
	}
	return &Median{len(errors), middle(errors), middle(absolute)}
}

func middle(list []float64) float64 {
	list = slices.Sorted(slices.Values(list))
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2
}

// WriteText writes the errors for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "Training: time of a step against published runs\n\n  %-30s %5s %8s %8s\n",
		"publication", "rows", "median", "absolute")
	for _, p := range r.Publications {
		writeMedian(&b, p.Publication, p.Step)
		writeMedian(&b, p.Publication+", memory", p.Memory)
	}
	writeMedian(&b, "all, time", r.Step)
	writeMedian(&b, "all, memory", r.Memory)
	r.writeLeft(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeLeft writes how many rows are not compared, and why, the most frequent reasons first.
func (r *Report) writeLeft(b *strings.Builder) {
	total := 0
	for _, n := range r.Left {
		total += n
	}
	if total == 0 {
		return
	}
	fmt.Fprintf(b, "\n%d rows are not compared:\n", total)
	reasons := slices.SortedFunc(maps.Keys(r.Left), func(a, b string) int {
		return cmp.Or(cmp.Compare(r.Left[b], r.Left[a]), strings.Compare(a, b))
	})
	const most = 12
	for i, why := range reasons {
		if i == most {
			fmt.Fprintf(b, "         and %d more reasons (--format json has all)\n",
				len(reasons)-most)
			break
		}
		fmt.Fprintf(b, "  %5d  %s\n", r.Left[why], why)
	}
}

func writeMedian(b *strings.Builder, name string, m *Median) {
	if m == nil {
		return
	}
	fmt.Fprintf(b, "  %-30s %5d %+7.1f%% %7.1f%%\n", name, m.Rows, 100*m.Signed, 100*m.Absolute)
}
