package bench

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/report/plots"
)

// Growth lists cases that show how time and memory grow with the length of a run, the number of
// replicas, the length of answers and the rate.
func Growth() []Case {
	list := []Case{{Name: base, Requests: 200_000, Set: rate(20)}}
	add := func(axis, name string, value, requests int, set []string) {
		list = append(list, Case{Name: fmt.Sprintf(name, value), Requests: requests, Set: set,
			Axis: axis, Value: float64(value)})
	}
	for requests := 1000; requests <= 10_000_000; requests *= 10 {
		add("requests", "%d requests", requests, requests, rate(20))
	}
	for _, replicas := range []int{4, 16, 64, 256, 1024, 4096} { // with the same load each
		add("replicas", "%d replicas", replicas, 300_000,
			rate(20*float64(replicas), fmt.Sprintf("replicas=%d", replicas)))
	}
	for _, output := range []int{25, 250, 2500, 25_000} { // with the same tokens a second
		add("tokens of an output", "outputs of %d tokens", output, 100_000, rate(
			2500/float64(output),
			fmt.Sprintf("workload.output.mean=%d", output),
			fmt.Sprintf("workload.output.max=%d", 4*output)))
	}
	for _, r := range []int{1, 5, 10, 20, 40} {
		add("requests/s", "%d requests/s", r, 200_000, rate(float64(r)))
	}
	return list
}

// Draw draws how time and memory grow, and writes growth-time and growth-memory into dir as SVG and
// PNG. The results belong to the cases that Growth lists.
func Draw(dir string, cases []Case, results []Result) error {
	var times, memory []plots.Series
	for i := range cases {
		c, r := &cases[i], &results[i]
		if c.Axis == "" {
			continue
		}
		last := len(times) - 1
		if last < 0 || times[last].Name != c.Axis {
			times = append(times, plots.Series{Name: c.Axis})
			memory = append(memory, plots.Series{Name: c.Axis})
			last++
		}
		times[last].X = append(times[last].X, c.Value)
		times[last].Y = append(times[last].Y, r.Microseconds)
		memory[last].X = append(memory[last].X, c.Value)
		memory[last].Y = append(memory[last].Y, float64(r.Memory)/1e6)
	}
	for _, picture := range []struct {
		name, title, y string
		series         []plots.Series
	}{
		{"growth-time", "Time of a request, the program's start included", "µs", times},
		{"growth-memory", "Memory of a run", "MB", memory},
	} {
		p, err := plots.Growth(picture.title, "number of what a line is named after", picture.y,
			picture.series)
		if err != nil {
			return err
		}
		if err := plots.Save(dir, picture.name, p); err != nil {
			return err
		}
	}
	return nil
}
