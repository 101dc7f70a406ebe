package main

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/internal/validation/papers"
)

// The verdicts are printed as text and as JSON. One paper stands for all: package papers simulates
// every claim.
func TestVerdictsArePrinted(t *testing.T) {
	claims, err := papers.Read(papers.Shipped())
	testkit.OK(t, err)
	claims = slices.DeleteFunc(claims, func(p papers.Paper) bool {
		return !strings.HasPrefix(p.Title, "Leviathan")
	})
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetOut(&out)
	cmd.SetContext(context.Background())
	checked, err := papers.Check(cmd.Context(), claims)
	testkit.OK(t, write(cmd, "table", checked, err, (*papers.Report).WriteText))
	if !strings.Contains(out.String(), claims[0].Claims[0].Where) ||
		!strings.Contains(out.String(), "claims are met;") {
		t.Errorf("the text has no verdicts:\n%s", &out)
	}
	out.Reset()
	testkit.OK(t, write(cmd, "json", checked, err, (*papers.Report).WriteText))
	var got papers.Report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Met == 0 {
		t.Errorf("the JSON has %d claims that are met (%v)", got.Met, err)
	}
}
