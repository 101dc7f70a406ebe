package commands

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arm is one of the ways that a case in a script may go.
type arm struct {
	Place
	from, to uint // offsets in the script
}

// arm returns an arm with what its pattern and the comment behind it say, as they stand in
// start.sh: the name of a group, which begins with its role, its number of replicas, and the image
// that has the version of the engine.
func (v variables) arm(item *syntax.CaseItem) arm {
	a := arm{from: item.Pos().Offset(), to: item.End().Offset()}
	if len(item.Patterns) != 1 || len(item.Stmts) == 0 {
		return a
	}
	name, plain := v.literal(item.Patterns[0])
	if !plain {
		return a
	}
	if role := ofArm(name); role != "" {
		a.Name, a.Role = name, role
	}
	for _, comment := range item.Stmts[0].Comments {
		said, found := strings.CutPrefix(strings.TrimSpace(comment.Text), "replicas: ")
		digits, _, _ := strings.Cut(said, ",")
		if n, err := strconv.Atoi(digits); found && err == nil && n > 0 {
			a.Replicas = min(n, MostReplicas)
		}
		if _, image, named := strings.Cut(said, ", image: "); named {
			a.Image = image
		}
	}
	return a
}

// ofArm returns the role with which the name of a group begins; empty without one.
func ofArm(name string) string {
	switch role, _, _ := strings.Cut(name, "-"); role {
	case "mixed", "prefill", "decode":
		return role
	}
	return ""
}

// at returns what stands around a command at a position.
func (a *arm) at(pos syntax.Pos) Place {
	if pos.Offset() < a.from || pos.Offset() >= a.to {
		return Place{}
	}
	return a.Place
}
