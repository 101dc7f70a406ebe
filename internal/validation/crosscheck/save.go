package crosscheck

import (
	"encoding/csv"
	"errors"
	"io"
	"path/filepath"
	"strconv"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/report"
)

// Save writes crosscheck.json into dir, and into a folder for each scenario steps.csv and
// requests.csv of all runs and pictures of them.
func Save(dir string, g *Grid) error {
	err := files.Write(filepath.Join(dir, "crosscheck.json"), func(w io.Writer) error {
		return report.JSON(w, g)
	})
	for _, c := range g.Comparisons {
		folder := filepath.Join(dir, filepath.Base(c.Name))
		err = errors.Join(err,
			files.Write(filepath.Join(folder, "steps.csv"), c.writeSteps),
			files.Write(filepath.Join(folder, "requests.csv"), c.writeRequests),
			c.draw(folder),
		)
	}
	return err
}

// SaveWhatIfs writes what-ifs.json into dir.
func SaveWhatIfs(dir string, list []*WhatIf) error {
	return files.Write(filepath.Join(dir, "what-ifs.json"), func(w io.Writer) error {
		return report.JSON(w, list)
	})
}

// writeSteps writes a row for each executed step.
func (c *Comparison) writeSteps(w io.Writer) error {
	rows := [][]string{{"run", "step", "decodes", "decode_tokens", "context", "chunks", "new",
		"cached", "last", "executed_ms", "predicted_ms"}}
	for i, run := range c.Executed {
		for j, s := range run.Steps {
			row := []string{strconv.Itoa(i + 1), strconv.Itoa(j)}
			for _, n := range []int{s.Decodes, s.DecodeTokens, int(s.Context), s.Chunks, s.New,
				s.Cached, s.Last} {
				row = append(row, strconv.Itoa(n))
			}
			rows = append(rows,
				append(row, decimal(s.Took.Milliseconds()), decimal(s.Predicted.Milliseconds())))
		}
	}
	return csv.NewWriter(w).WriteAll(rows)
}

// writeRequests writes a row for each request of each run, executed and predicted.
func (c *Comparison) writeRequests(w io.Writer) error {
	rows := [][]string{{"run", "kind", "arrival_s", "ttft_ms", "tpot_ms", "e2el_ms"}}
	add := func(run int, kind string, list []Request) {
		for _, r := range list {
			rows = append(rows, []string{strconv.Itoa(run + 1), kind, decimal(r.Arrival),
				decimal(1000 * r.TTFT), decimal(1000 * r.TPOT), decimal(1000 * r.E2E)})
		}
	}
	for i := range c.Executed {
		add(i, "executed", c.Executed[i].Requests)
		add(i, "predicted", c.Predicted[i].Requests)
	}
	return csv.NewWriter(w).WriteAll(rows)
}

func decimal(v float64) string { return strconv.FormatFloat(v, 'f', 4, 64) }
