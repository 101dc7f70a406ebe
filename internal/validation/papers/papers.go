// Package papers holds llmsim against what papers claim. Claims are data, in claims/*.yaml: a
// published figure, the scenarios that show it, and an expression over their results.
package papers

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/llmsim/llmsim/internal/strict"
	"github.com/llmsim/llmsim/scenarios"
)

//go:embed claims/*.yaml
var shipped embed.FS

// Shipped returns the claims that come with the program, as Read takes them.
func Shipped() fs.FS { return shipped }

// Paper is a publication, runs that repeat its experiments, and what it claims of them.
type Paper struct {
	// Title names authors, title and venue.
	Title  string  `json:"paper" required:"true"`
	Runs   []Run   `json:"runs" required:"true"`
	Claims []Claim `json:"claims" required:"true"`
}

// Run is a scenario with settings, or the capacity of one.
type Run struct {
	// Name is what expressions call its result.
	Name     string    `json:"name" required:"true"`
	Scenario string    `json:"scenario" required:"true"`
	Set      []string  `json:"set,omitempty"`
	Capacity *Capacity `json:"capacity,omitempty"`
	// Draws is how often the scenario is run, with seeds from 0 on, where a paper reports few
	// requests; each figure is the median. 0 means once.
	Draws int `json:"draws,omitempty" above:"0"`
}

// Capacity asks for the highest rate of requests that a scenario stands.
type Capacity struct {
	// From is a rate that it stands, To one that it does not.
	From scenarios.PerSecond `json:"from" required:"true" above:"0"`
	To   scenarios.PerSecond `json:"to" required:"true" above:"0"`
	// While is the condition on the result.
	While string `json:"while" required:"true"`
}

// Claim is a published figure, and how close ours has to be: within a number of percent or points
// of it, or between limits.
type Claim struct {
	Name string `json:"name" required:"true"`
	// Where is the section, figure or table, Says the claim in words.
	Where string `json:"where" required:"true"`
	Says  string `json:"says" required:"true"`
	// Figure computes ours from the results of runs; where it is a condition, the claim is that it
	// holds.
	Figure string `json:"figure" required:"true"`
	Unit   string `json:"unit,omitempty"`

	Published float64   `json:"published,omitempty"`
	Percent   float64   `json:"percent,omitempty" above:"0"`
	Points    float64   `json:"points,omitempty" above:"0"`
	Between   []float64 `json:"between,omitempty"`
	AtLeast   float64   `json:"at-least,omitempty" above:"0"`
}

// Read returns the papers of all *.yaml files in the tree, in order of their titles.
func Read(tree fs.FS) ([]Paper, error) {
	var papers []Paper
	var names []string
	err := fs.WalkDir(tree, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		doc, err := strict.Parse(path, data)
		if err != nil {
			return err
		}
		var p Paper
		if err := doc.Decode(&p); err != nil {
			return err
		}
		for i := range p.Claims {
			c := &p.Claims[i]
			if problem := c.check(); problem != "" {
				return doc.Problem(fmt.Sprintf("claims.%d", i), "%s", problem)
			}
			if slices.Contains(names, c.Name) {
				return doc.Problem(fmt.Sprintf("claims.%d.name", i), "there is a claim %q already",
					c.Name)
			}
			names = append(names, c.Name)
		}
		papers = append(papers, p)
		return nil
	})
	slices.SortFunc(papers, func(a, b Paper) int { return strings.Compare(a.Title, b.Title) })
	return papers, err
}

// check returns what is wrong with a claim, or "".
func (c *Claim) check() string {
	ways := 0
	for _, given := range []bool{c.Percent > 0, c.Points > 0, c.Between != nil, c.AtLeast > 0} {
		if given {
			ways++
		}
	}
	switch {
	case ways > 1:
		return "percent, points, between and at-least exclude each other"
	case (c.Percent > 0 || c.Points > 0) != (c.Published != 0) && c.AtLeast == 0:
		return "published goes with percent, points or at-least, which say how close ours must be"
	case c.Between != nil && (len(c.Between) != 2 || c.Between[0] > c.Between[1]):
		return fmt.Sprintf("between is %v, want two numbers, the smaller first", c.Between)
	}
	return ""
}
