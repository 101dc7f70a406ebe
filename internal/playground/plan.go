package playground

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/llmsim/llmsim/internal/planner/capacity"
	"github.com/llmsim/llmsim/internal/planner/capacity/answer"
	"github.com/llmsim/llmsim/internal/planner/capacity/asked"
	"github.com/llmsim/llmsim/internal/planner/queue"
	"github.com/llmsim/llmsim/internal/report/doc"
)

// PlanName is the shipped plan that settings of a question change.
const PlanName = "many-users"

// Planned is a plan's answer as a page shows it.
type Planned struct {
	// Text is what the command llmsim plan says of it, a paragraph, item or command each.
	Text []Said `json:"text"`
	// Answers is what the command prints with --format json, for each model.
	Answers *answer.Answers `json:"answers"`
}

// Said is a piece of text. Kind is heading, text, item or command.
type Said struct {
	Kind  string `json:"kind"`
	Words string `json:"words"`
}

// Plan answers the shipped plan with settings of the form key.path=value, as
//
//	llmsim plan many-users --set …
//
// does. With curves, it also simulates loads above and below the one asked for, as --out does. ran
// is called after each simulation, one call at a time.
func Plan(ctx context.Context, settings []string, curves bool, ran func()) ([]byte, error) {
	text, err := asked.ReadShipped(PlanName)
	if err != nil {
		return nil, err
	}
	file, err := asked.Parse(PlanName, text, settings...)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex // simulations end in several goroutines
	all, err := capacity.Solve(ctx, file, capacity.Options{Queue: queue.Config{Workers: 1},
		Ran: func() {
			mu.Lock()
			defer mu.Unlock()
			ran()
		}, Curves: curves})
	if err != nil {
		return nil, err
	}
	p := Planned{Answers: all}
	for _, b := range all.Document() {
		if kind := kindOf(b.Kind); kind != "" && b.Words != "" {
			p.Text = append(p.Text, Said{kind, doc.Plain(b.Words)})
		}
	}
	return json.Marshal(p)
}

// kindOf returns the kind of a block in Said, and "" for tables and pictures, which the page draws
// by itself.
func kindOf(k doc.Kind) string {
	switch k {
	case doc.Heading:
		return "heading"
	case doc.Text, doc.Line:
		return "text"
	case doc.Item:
		return "item"
	case doc.Command:
		return "command"
	}
	return ""
}
