package playground

import (
	"context"
	"encoding/json"

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

// Said is a piece of text, of a kind of kinds.
type Said struct {
	Kind  string `json:"kind"`
	Words string `json:"words"`
}

// kinds names the kinds of blocks that the page shows; it draws its own tables and pictures.
var kinds = map[doc.Kind]string{doc.Heading: "heading", doc.Text: "text", doc.Item: "item",
	doc.Command: "command", doc.Line: "text"}

// Plan answers the shipped plan with settings of the form key.path=value, as
//
//	llmsim plan many-users --set …
//
// does. With curves, it also simulates loads above and below the one asked for, as --out does. ran
// is called after each simulation.
func Plan(ctx context.Context, settings []string, curves bool, ran func()) ([]byte, error) {
	text, err := asked.ReadShipped(PlanName)
	if err != nil {
		return nil, err
	}
	file, err := asked.Parse(PlanName, text, settings...)
	if err != nil {
		return nil, err
	}
	all, err := capacity.Solve(ctx, file, capacity.Options{Queue: queue.Config{Workers: 1},
		Ran: ran, Curves: curves})
	if err != nil {
		return nil, err
	}
	p := Planned{Answers: all}
	for _, b := range all.Document() {
		if kind := kinds[b.Kind]; kind != "" && b.Words != "" {
			p.Text = append(p.Text, Said{kind, doc.Plain(b.Words)})
		}
	}
	return json.Marshal(p)
}
