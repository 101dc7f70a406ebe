package page_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/report/lesson"
	"github.com/llmsim/llmsim/internal/testkit"
)

var (
	update = flag.Bool("update", false, "write the list of tours in docs/teaching.md")
	walked = flag.String("stops", "", "how the names of the stops begin to walk through")
)

// stop is a stop of a tour, as the page has it.
type stop struct {
	Name, Tour, Title, Text, Ask string
	Answers                      []string
	Use                          []string
}

// stops returns all stops of the page.
func stops(r *reader) (all []stop) {
	text := see[string](r, `JSON.stringify(tours.flatMap((t) => t.stops.map((s, i) => ({ Name: t.id + "." + (i + 1), `+
		`Tour: t.name, Title: s.title, Text: s.text, Ask: s.ask, Answers: s.answers.map((a) => a.say), Use: s.use ?? [] }))))`)
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		r.t.Fatal(err)
	}
	return all
}

// A reader goes to stops of the tours by their links, a third of them that
// each commit draws or those that -stops names, and chooses every answer. Exactly one answer is
// right, it stands nowhere before it is chosen, every figure of a reply is that of the program for
// the settings of the run that it names, and all that a stop has is on one screen. Sliders that a
// stop shows are moved to both sides, and the reply is read again.
func TestWalkThroughTheTours(t *testing.T) {
	if testing.Short() {
		t.Skip("a walk through the tours takes a minute")
	}
	r := open(t, "play")
	all := stops(r)
	walk := slices.DeleteFunc(slices.Clone(all), func(s stop) bool {
		return !strings.HasPrefix(s.Name, *walked)
	})
	if *walked == "" {
		walk = testkit.DrawCases(t, (len(all)+2)/3, all)
	}
	for _, s := range walk {
		r.visit("tour=" + s.Name)
		if problem := r.text("problem"); problem != "" {
			t.Errorf("%s: %s", s.Name, problem)
		}
		if title := r.text("tour-title"); title != s.Title {
			t.Errorf("#tour=%s leads to %q, want %q", s.Name, title, s.Title)
		}
		if see[bool](r, `!!document.getElementById("reply") || !!document.getElementById("figures")`) {
			t.Errorf("%s shows figures before it asks", s.Name)
		}
		if strings.HasPrefix(r.text("words-0"), "Nothing runs") {
			t.Errorf("%s begins at a moment at which nothing runs", s.Name)
		}
		r.onOneScreen(s.Name)
		right := 0
		for i := range s.Answers {
			if r.answer(s.Name, i) {
				right++
			}
		}
		if right != 1 {
			t.Errorf("%s: %d of its answers are right", s.Name, right)
		}
		for _, id := range s.Use {
			for _, key := range []string{kb.End, kb.Home, kb.ArrowRight} {
				r.press("#"+id, key)
				see[bool](r, "release() ?? true")
				r.ready()
				if r.text("problem") == "" {
					r.answer(s.Name+" with "+id+" moved", 0)
				}
			}
		}
	}
}

// visit opens an address anew.
func (r *reader) visit(hash string) {
	r.t.Helper()
	see[string](r, `(document.body.dataset.ready = "", location.hash = "`+hash+`")`)
	r.do(chromedp.Reload())
	r.ready()
}

// onOneScreen fails where a stop does not fit on the screens of a lecture, a laptop and a phone:
// the stage and the question are in view without scrolling the page.
func (r *reader) onOneScreen(name string) {
	r.t.Helper()
	for _, size := range [][2]int64{{1920, 1080}, {1280, 800}, {390, 844}} {
		r.do(chromedp.EmulateViewport(size[0], size[1]))
		fits := see[string](r, `(() => {
			const stage = (document.body.classList.contains("charted") ? el("chart") : el("stages")).getBoundingClientRect();
			const page = document.documentElement;
			const charts = el("chart");
			return [charts.scrollHeight <= charts.clientHeight + 1, page.scrollWidth <= innerWidth, page.scrollHeight <= innerHeight, stage.height > 120, stage.bottom <= innerHeight,
				el("panel").getBoundingClientRect().bottom <= innerHeight + 1].join();
		})()`)
		if fits != "true,true,true,true,true,true" {
			r.t.Errorf("%s at %v: charts, width, height, stage, its end and the panel fit: %s",
				name, size, fits)
		}
	}
	r.do(chromedp.EmulateViewport(1280, 800))
}

// answer chooses an answer, holds each figure of the reply to the program, and reports whether the
// page calls the answer right.
func (r *reader) answer(name string, i int) bool {
	r.t.Helper()
	see[bool](r, fmt.Sprintf(`(document.querySelectorAll(".answer")[%d].click(), true)`, i))
	var shown struct {
		Right, Words string
		Runs         map[string][]string
		Figures      []struct{ Run, Key, By, Value, Text string }
		Laws         []struct{ Run, Value, Text string }
	}
	text := see[string](r, `JSON.stringify({ Right: el("reply").dataset.right, Words: el("reply").textContent,
		Runs: Object.fromEntries(Object.entries(app.runs).map(([name, r]) => [name, r.settings])),
		Figures: [...el("reply").querySelectorAll(".figure")].map((b) => ({ Run: b.dataset.run, Key: b.dataset.key, By: b.dataset.by, Value: b.dataset.value, Text: b.textContent })),
		Laws: [...el("reply").querySelectorAll(".law")].map((b) => ({ Run: b.dataset.run, Value: b.dataset.value, Text: b.textContent })) })`)
	if err := json.Unmarshal([]byte(text), &shown); err != nil {
		r.t.Fatal(err)
	}
	if strings.Contains(shown.Words, "NaN") || strings.Contains(shown.Words, "undefined") ||
		len(shown.Words) < 40 {
		r.t.Errorf("%s says %q", name, shown.Words)
	}
	results := map[string]map[string]any{}
	for run, settings := range shown.Runs {
		results[run] = maps.Clone(r.result(name+": "+run, settings))
	}
	priceAlike(results)
	for _, l := range shown.Laws {
		k, _ := lookUp(results[l.Run], "scenario.speculation.tokens").(float64)
		p, _ := lookUp(results[l.Run], "scenario.speculation.acceptance.rate").(float64)
		want := (1 - math.Pow(p, k+1)) / (1 - p)
		if got, err := strconv.ParseFloat(l.Value, 64); err != nil ||
			math.Abs(got-want) > 1e-9*want || !says(l.Text, want) {
			r.t.Errorf("%s: the law gives %v for %v drafts and %v, not %s", name, want, k, p,
				l.Text)
		}
	}
	for _, f := range shown.Figures {
		if f.Run == "coin" {
			r.holdsCoin(name, f.Key, f.Value, f.Text)
			continue
		}
		want, isNumber := lookUp(results[f.Run], f.Key).(float64)
		if by := strings.Fields(f.By); len(by) == 2 {
			under, ok := lookUp(results[by[0]], by[1]).(float64)
			want, isNumber = want/under, isNumber && ok
		}
		if !isNumber {
			if lookUp(results[f.Run], f.Key) != f.Text {
				r.t.Errorf("%s: %s of %s is %v, not %q", name, f.Key, f.Run,
					lookUp(results[f.Run], f.Key), f.Text)
			}
			continue
		}
		got, err := strconv.ParseFloat(f.Value, 64)
		if err != nil || math.Abs(got-want) > 1e-9*math.Abs(want) {
			r.t.Errorf("%s: %s of %s is %v, not %s", name, f.Key, f.Run, want, f.Value)
		}
		if !says(f.Text, want) {
			r.t.Errorf("%s: %s of %s is %v, and %q is shown", name, f.Key, f.Run, want, f.Text)
		}
	}
	return shown.Right == "true"
}

// priceAlike prices the results over their whole runs where some of them, but not all, are priced
// at their offered rate, as comparisons do.
func priceAlike(results map[string]map[string]any) {
	bases := map[any]bool{}
	for _, result := range results {
		if basis := result["priced_over"]; basis != nil {
			bases[basis] = true
		}
	}
	for _, result := range results {
		cost, priced := result["cost"].(float64)
		if tokens, _ := result["total_output_tokens"].(float64); priced && len(bases) > 1 {
			result["cost_per_million_output_tokens"] = cost / tokens * 1e6
		}
	}
}

// result returns what the program has for the settings of a run, which is simulated once.
func (r *reader) result(run string, settings []string) (result map[string]any) {
	r.t.Helper()
	key := strings.Join(settings, "\n")
	if r.known[key] == nil {
		out, err := playground.Result(r.ctx, settings)
		if err != nil {
			r.t.Fatalf("%s with %v: %v", run, settings, err)
		}
		testkit.OK(r.t, json.Unmarshal(out, &result))
		r.known[key] = result
	}
	return r.known[key]
}

// holdsCoin holds a figure of the coin to the closed forms of the laws that the page drew by,
// within four standard deviations where it was drawn.
func (r *reader) holdsCoin(name, key, value, text string) {
	r.t.Helper()
	chance, apart := 0.0, 0.0
	words := lesson.NewDrafts(0).Words
	for _, w := range words {
		chance += min(w.Target, w.Draft)
		apart += math.Abs(w.Target-w.Draft) / 2
	}
	got, err := strconv.ParseFloat(value, 64)
	drawn := see[float64](r, "coin.drafts")
	want := map[string][2]float64{
		"chance": {chance, 1e-9}, "apart": {apart, 1e-9}, "drafts": {drawn, 0},
		"kept": {chance, 4 * math.Sqrt(chance*(1-chance)/drawn)},
		"far":  {0, 2 * math.Sqrt(float64(len(words))/drawn)},
	}[key]
	if err != nil || drawn < 1000 || math.Abs(got-want[0]) > want[1] || !says(text, got) {
		r.t.Errorf("%s: %s of the coin is %s after %v draws, want %v ± %v", name, key, text, drawn,
			want[0], want[1])
	}
}

// lookUp returns a value of a result by its path.
func lookUp(result map[string]any, path string) any {
	var value any = result
	for key := range strings.SplitSeq(path, ".") {
		if list, ok := value.([]any); ok {
			if i, err := strconv.Atoi(key); err == nil && i < len(list) {
				value = list[i]
				continue
			}
		}
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

var digits = regexp.MustCompile(`[0-9][0-9.,]*`)

// says reports whether a text has the value, rounded to the digits that it shows, in one of the
// units that the page writes: ms for s, % for shares, GiB for bytes, millions of dollars.
func says(text string, value float64) bool {
	shown, err := strconv.ParseFloat(strings.ReplaceAll(digits.FindString(text), ",", ""), 64)
	if err != nil {
		return false
	}
	units := []float64{1, 100, 1000, 0.001, 1e-6, 1. / (1 << 30)}
	return slices.ContainsFunc(units, func(unit float64) bool {
		decimals := 0
		if _, after, found := strings.Cut(digits.FindString(text), "."); found {
			decimals = len(after)
		}
		return math.Abs(shown-unit*value) <= 0.51*math.Pow(10, -float64(decimals))+0.006*unit*value
	})
}

// What a stop tells a reader to do can be done: the stage stands in the prompt, and steps lead into
// the answer.
func TestStepsLeadFromThePromptIntoTheAnswer(t *testing.T) {
	r := open(t, "tour=phases.2")
	if words := r.text("words-0"); !strings.Contains(words, "prompt tokens of #0") {
		t.Errorf("the stage stands at %q", words)
	}
	for range 3 {
		r.step("#step")
	}
	if words := r.text("words-0"); !strings.Contains(words, "1 request decodes.") {
		t.Errorf("three steps later it stands at %q", words)
	}
}

// docs/teaching.md lists every chapter of the book, and every tour with the link to its first stop.
func TestTeachingPageListsChaptersAndTours(t *testing.T) {
	r := open(t, "play")
	list := "| tour | first stop | stops |\n|---|---|---|\n"
	all := stops(r)
	for first := 0; first < len(all); {
		n := 0
		for first+n < len(all) && all[first+n].Tour == all[first].Tour {
			n++
		}
		list += fmt.Sprintf("| %s | `#tour=%s` | %d |\n", all[first].Tour, all[first].Name, n)
		first += n
	}
	holdsBlock(t, "The tours.", list)
	list = "| chapter | address |\n|---|---|\n"
	for _, c := range see[[]struct {
		ID, Title string
		Number    int
	}](r, "chapters.map(({ id, title, number }) => ({ ID: id, Title: title, Number: number }))") {
		list += fmt.Sprintf("| %d %s | `#book/%s` |\n", c.Number, c.Title, c.ID)
	}
	holdsBlock(t, "The chapters.", list)
}

// holdsBlock holds a block of docs/teaching.md, between a comment that names it and the next end,
// to its text.
func holdsBlock(t *testing.T, name, list string) {
	t.Helper()
	const page, end = "../../../docs/teaching.md", "<!-- end -->\n"
	begin := "<!-- " + name + " -->\n"
	text := string(testkit.Read(t, page))
	head, rest, opened := strings.Cut(text, begin)
	_, tail, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("%s has no lines %q and %q", page, begin, end)
	}
	want := head + begin + list + end + tail
	if *update {
		testkit.OK(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	if text != want {
		t.Errorf("%s is out of date; go test ./internal/playground/page -run TeachingPage -update",
			page)
	}
}
