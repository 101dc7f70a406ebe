package lesson

import (
	"fmt"

	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
)

// barWidth is the width of a bar of probability 0.6, the longest, in columns.
const barWidth = 10

// Blocks is the show for people.
func (s Drafts) Blocks() (p doc.Blocks) {
	p.Heading("Speculative sampling: a drafter guesses, the target keeps its law")
	p.Gap()
	var rows [][]string
	for _, w := range s.Words {
		rows = append(rows, []string{w.Word, bar(w.Target), bar(w.Draft), share(w.Accept),
			bar(w.Residual)})
	}
	p.Table([]string{"word", "target p", "drafter q", "kept, min(1, p/q)",
		"after a rejection"}, rows, 0, 1, 2, 4)
	p.Gap()
	p.Text("The drafter draws a word from its own distribution q. A random number between 0 and " +
		"1 decides: if it is below p/q, the word is kept. Otherwise a word is drawn from max(0, " +
		"p − q), scaled to 1. These are the words that the drafter draws too rarely.")
	p.Gap()
	rows = nil
	for _, t := range s.Tosses {
		verdict := "rejected"
		if t.Accepted {
			verdict = "kept"
		}
		rows = append(rows, []string{t.Drafted, fmt.Sprintf("%.2f", t.Coin), s.chanceOf(t.Drafted),
			verdict, t.Out})
	}
	p.Table([]string{"drafted", "coin", "has to be below", "verdict", "comes out"}, rows, 0, 3, 4)
	p.Gap()
	rows = nil
	for _, t := range s.Tallies {
		rows = append(rows, []string{t.Algorithm, units.Figure(float64(t.Drafts)),
			share(t.Accepted), fmt.Sprintf("%.4f", t.Distance)})
	}
	p.Table([]string{"algorithm", "drafts", "accepted", "distance from the target's law"}, rows, 0)
	p.Gap()
	p.Text(fmt.Sprintf("In the long run %s of the drafts are accepted, the sum of min(p, q), and "+
		"the words obey the target's law: the distance falls with the square root of the number "+
		"of drafts, by either algorithm (Leviathan et al. 2023, Chen et al. 2023). Both are the "+
		"code that verifies drafts in llmsim gpt2 generate.", share(s.Chance)))
	return p
}

func (s *Drafts) chanceOf(word string) string {
	for _, w := range s.Words {
		if w.Word == word {
			return fmt.Sprintf("%.2f", w.Accept)
		}
	}
	return ""
}

func share(x float64) string { return fmt.Sprintf("%.0f%%", 100*x) }

// bar is a probability with a bar.
func bar(x float64) string { return fmt.Sprintf("%3s ", share(x)) + doc.Bar(x/0.6, barWidth) }
