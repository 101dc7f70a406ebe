package lesson

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/llmsim/llmsim/internal/engine/generate"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/units"
)

// Word is a word with its probability under the target and the drafter, the chance with which it is
// accepted where it is drafted, and its probability after a rejection.
type Word struct {
	Word     string  `json:"word"`
	Target   float64 `json:"target"`
	Draft    float64 `json:"draft"`
	Accept   float64 `json:"accept"`
	Residual float64 `json:"residual"`
}

// Toss is one draft: the word, the coin, whether the word is accepted, and the word that comes out.
type Toss struct {
	Drafted  string  `json:"drafted"`
	Coin     float64 `json:"coin"`
	Accepted bool    `json:"accepted"`
	Out      string  `json:"out"`
}

// Tally is what many drafts of two words come to: how often the first was accepted, and the first
// words that came out. Distance is half of the sum of how far the shares of words are
// from the target's law (the total variation).
type Tally struct {
	Algorithm string  `json:"algorithm"`
	Drafts    int     `json:"drafts"`
	Accepted  float64 `json:"accepted"`
	Distance  float64 `json:"distance"`
}

// Drafts is all that is shown. Chance is the share of drafts that is accepted in the long run: the
// sum of the lesser of both probabilities (Leviathan et al. 2023, corollary 3.6).
type Drafts struct {
	Words   []Word  `json:"words"`
	Chance  float64 `json:"chance"`
	Tosses  []Toss  `json:"tosses"`
	Tallies []Tally `json:"tallies"`
}

func words() []string { return []string{"the", "a", "cat", "dog", "runs", "sleeps"} }

// laws returns the probabilities of the words under the target and under the drafter.
func laws() (target, draft []float64) {
	return []float64{0.40, 0.25, 0.15, 0.10, 0.06, 0.04},
		[]float64{0.25, 0.40, 0.10, 0.05, 0.15, 0.05}
}

// NewDrafts drafts and verifies with random numbers of a seed.
func NewDrafts(seed uint64) Drafts {
	target, draft := laws()
	show := Drafts{}
	for i := range target {
		show.Chance += min(target[i], draft[i])
	}
	for i, word := range words() {
		show.Words = append(show.Words, Word{word, target[i], draft[i],
			min(1, target[i]/draft[i]), max(0, target[i]-draft[i]) / (1 - show.Chance)})
	}
	rng := newRandom(seed)
	for range 6 {
		show.Tosses = append(show.Tosses, rng.toss())
	}
	for _, algorithm := range []generate.Algorithm{generate.Leviathan, generate.Chen} {
		for _, n := range []int{10, 100, 1000, 10_000, 100_000} {
			show.Tallies = append(show.Tallies, newRandom(seed).tally(algorithm, n))
		}
	}
	return show
}

// random draws numbers, and shows the next one beforehand.
type random struct {
	source *rand.PCG
	*rand.Rand
}

func newRandom(seed uint64) random {
	source := rand.NewPCG(seed, 0)
	return random{source, rand.New(source)}
}

// coin is the number that is drawn next.
func (r random) coin() float64 {
	ahead := *r.source
	return rand.New(&ahead).Float64()
}

// verify drafts some words and has the engine verify them: how many are accepted, and the word that
// follows these.
func (r random) verify(algorithm generate.Algorithm, drafted []int32) (accepted int, next int32) {
	target, draft := make([][]float64, len(drafted)+1), make([][]float64, len(drafted))
	for i := range target {
		target[i], _ = laws()
	}
	for i := range draft {
		_, draft[i] = laws()
	}
	return algorithm.Verify(target, draft, drafted, r.Rand)
}

func (r random) draft() int32 {
	_, draft := laws()
	return generate.Draw(draft, r.Float64())
}

// toss drafts a word and verifies it.
func (r random) toss() Toss {
	drafted := r.draft()
	t := Toss{Drafted: words()[drafted], Coin: r.coin()}
	accepted, next := r.verify(generate.Leviathan, []int32{drafted})
	t.Accepted, t.Out = accepted == 1, t.Drafted
	if !t.Accepted {
		t.Out = words()[next]
	}
	return t
}

// tally drafts two words n times, and counts the first that comes out.
func (r random) tally(algorithm generate.Algorithm, n int) Tally {
	target, _ := laws()
	counts, first := make([]int, len(target)), 0
	for range n {
		drafted := []int32{r.draft(), r.draft()}
		accepted, out := r.verify(algorithm, drafted)
		if accepted > 0 {
			first++
			out = drafted[0]
		}
		counts[out]++
	}
	distance := 0.0
	for i := range target {
		distance += math.Abs(float64(counts[i])/float64(n)-target[i]) / 2
	}
	return Tally{algorithm.String(), n, float64(first) / float64(n), distance}
}

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
