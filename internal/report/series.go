package report

import (
	"encoding/csv"
	"io"
	"strconv"

	"github.com/llmsim/llmsim/metrics"
)

// writeSeries writes the state of the fleet over time as CSV.
func writeSeries(out io.Writer, points []metrics.Point) error {
	w := csv.NewWriter(out)
	if err := w.Write([]string{"time_s", "waiting", "running", "decoding", "kv_usage",
		"replicas_up"}); err != nil {
		return err
	}
	for _, p := range points {
		row := []string{
			strconv.FormatFloat(p.At.Seconds(), 'f', 3, 64), strconv.Itoa(p.Waiting),
			strconv.Itoa(p.Running), strconv.Itoa(p.Decoding),
			strconv.FormatFloat(p.KVUsage, 'f', 6, 64), strconv.Itoa(p.Up),
		}
		if err := w.Write(row); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}
