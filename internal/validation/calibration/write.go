package calibration

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/llmsim/llmsim/hardware"
)

// Write writes hosts as a hardware file, which scenarios name with hardware.file.
func Write(w io.Writer, fits []*Fit, processor string) error {
	_, err := io.WriteString(w,
		"# Measured by llmsim calibrate. The measured steps are in the CSV file of the same "+
			"name.\naccelerators:\n")
	for _, f := range fits {
		err = errors.Join(err, f.write(w, processor))
	}
	return err
}

func (f *Fit) write(w io.Writer, processor string) error {
	a, c := &f.Accelerator, f.Accelerator.Constants
	us := func(s hardware.Seconds) string {
		return strconv.FormatFloat(1e6*float64(s), 'f', 4, 64) +
			"us"
	}
	_, err := fmt.Fprintf(w, `  # Steps of the grid are predicted within %.1f %% (median; %.1f %% where the constants were fitted without them).
  %s:
    title: %q
    kind: %s
    generation: %s
    source: %q
    memory: %.0fB
    bandwidth: %.0fB/s
    peak: {fp32: %.0fFLOPS}
    sms: %d
    scale_up: loopback
    host_link: loopback
    network: loopback
    constants:
      fit: {source: %q, date: %s, rows: %d, error: %.4f}
      linear: {compute: {fp32: %.4f}, memory: %.4f, kernel: %s, overlap: %.3f, tile: %d}
      elementwise: {kernel: %s, memory: %.4f}
      attention: {decode_kernel: %s, decode_memory: %.4f, prefill_kernel: %s, prefill_compute: %.4f, prefill_memory: %.4f}
      head: {kernel: %s, passes: %.3f}
`, 100*f.Error, 100*f.LeftOutError,
		a.Name, fmt.Sprintf("%s, threads: %d", processor, a.SMs), a.Kind, a.Generation,
		"llmsim calibrate, "+c.Fit.Date,
		a.Memory, a.Bandwidth, a.Peak[hardware.FP32], a.SMs,
		c.Fit.Source, c.Fit.Date, c.Fit.Rows, c.Fit.Error,
		c.Linear.Compute[hardware.FP32], c.Linear.Memory, us(c.Linear.Kernel), c.Linear.Overlap,
		c.Linear.Tile,
		us(c.Elementwise.Kernel), c.Elementwise.Memory,
		us(c.Attention.DecodeKernel), c.Attention.DecodeMemory, us(c.Attention.PrefillKernel),
		c.Attention.PrefillCompute, c.Attention.PrefillMemory,
		us(c.Head.Kernel), c.Head.Passes)
	return err
}

// WritePoints writes what was measured and predicted, a row a step.
func WritePoints(w io.Writer, fits []*Fit) error {
	rows := [][]string{{"threads", "decodes", "context", "new", "cached", "measured_ms", "spread",
		"samples", "predicted_ms", "left_out_ms"}}
	ms := func(seconds float64) string { return strconv.FormatFloat(1000*seconds, 'f', 4, 64) }
	for _, f := range fits {
		for i, p := range f.Points {
			rows = append(rows, []string{
				strconv.Itoa(f.Accelerator.SMs), strconv.Itoa(p.Decodes), strconv.Itoa(p.Context),
				strconv.Itoa(p.New), strconv.Itoa(p.Cached),
				ms(p.Seconds), strconv.FormatFloat(p.Spread, 'f', 4, 64), strconv.Itoa(p.Samples),
				ms(f.Predicted[i]), ms(f.LeftOut[i]),
			})
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}
