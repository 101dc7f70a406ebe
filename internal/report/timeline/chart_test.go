package timeline

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// recordChart records the first requests of a shipped scenario.
func recordChart(t *testing.T, name string, set ...string) *Chart {
	t.Helper()
	file, err := scenarios.Load(name, set...)
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	c, err := RecordChart(context.Background(), strings.Join(set, " "), s, 0, 12, true)
	testkit.OK(t, err)
	return c
}

// Whatever the policy, a row is the life of its request: its prompt is computed once, and each
// token after the first takes a step.
func TestRowsAreLives(t *testing.T) {
	for _, set := range [][]string{
		{"batching=static", "memory=contiguous"}, {"batching=orca", "memory=contiguous"},
		{"batching=sarathi"},
		{"batching=vllm-v1", "batching.token-budget=64", "batching.max-sequences=16"},
		{"batching=vllm-v0"}, {"replicas=2"}, {"parallelism.pipeline=2"},
	} {
		c := recordChart(t, "chat", append(set, "workload.rate=40/s", "workload.requests=30")...)
		if len(c.Rows) != 12 {
			t.Errorf("%v: %d rows, want 12", set, len(c.Rows))
		}
		for _, row := range c.Rows {
			prompt, decodes := 0, int64(0)
			for _, p := range row.Parts {
				switch p.Kind {
				case Prefill:
					prompt += p.Tokens
				case Decode:
					decodes += p.Steps
				}
			}
			if prompt != row.Prompt || decodes != int64(row.Output-1) {
				t.Errorf("%v: request %d computes %d of %d prompt tokens and has %d decode steps "+
					"for %d tokens", set, row.ID, prompt, row.Prompt, decodes, row.Output)
			}
		}
	}
}

// All of prefill and decode is seen where pools do them apart.
func TestPoolsHaveTracks(t *testing.T) {
	if c := recordChart(t, "disaggregated"); len(c.Tracks) < 2 {
		t.Errorf("%d tracks of a prefill and a decode pool", len(c.Tracks))
	}
}

// The picture is XML whatever a scenario is called, the text keeps to 80 columns, and both hold
// every request.
func TestPictures(t *testing.T) {
	a, b := recordChart(t, "chat", "batching=static", "memory=contiguous"), recordChart(t, "chat")
	b.Name = `<b>"&` + "\x1b[31m"
	charts := []*Chart{a, b}
	var picture, page, text bytes.Buffer
	testkit.OK(t, errors.Join(WriteSVG(&picture, b.Name, charts), WritePage(&page, b.Name, charts),
		doc.Print(&text, Charts(charts))))
	decoder := xml.NewDecoder(&picture)
	rows := 0
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		testkit.OK(t, err)
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "line" {
			rows++
		}
	}
	if rows != 24 {
		t.Errorf("%d rows in the picture, want 24", rows)
	}
	if strings.Contains(page.String(), "<b>") {
		t.Error("a name is markup on the page")
	}
	for _, line := range strings.Split(text.String(), "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("%q is longer than 80 columns", line)
		}
	}
}

// A paged memory holds little more than tokens; a contiguous one keeps room for answers that are
// not written yet. No memory is fuller than full.
func TestBlocks(t *testing.T) {
	empty := map[string]int64{}
	for _, memory := range []string{"paged", "contiguous"} {
		b := recordChart(t, "attention-mha", "memory="+memory).Blocks
		var room, stored int64
		for _, h := range b.Holders {
			if h.Stored > h.Room || h.Stored <= 0 {
				t.Errorf("%s: %+v", memory, h)
			}
			room, stored = room+h.Room, stored+h.Stored
		}
		if room > b.Capacity || len(b.Holders) == 0 {
			t.Errorf("%s: %d of %d tokens are taken by %d requests", memory, room, b.Capacity,
				len(b.Holders))
		}
		taken := int64(0) // when it is fullest, by the blocks
		for _, span := range b.Spans {
			if span.From < b.At && b.At <= span.To && !span.Kept {
				taken += b.Size
			}
		}
		if taken < room || taken >= room+b.Size*int64(len(b.Holders)) {
			t.Errorf("%s: blocks of %d tokens are held for %d", memory, taken, room)
		}
		empty[memory] = (room - stored) / int64(max(1, len(b.Holders)))
	}
	if empty["paged"] >= 16 || empty["contiguous"] <= 16 {
		t.Errorf("empty room of a request: %v", empty)
	}
}
