package page_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/report/lesson"
	"github.com/llmsim/llmsim/internal/testkit"
)

// coin fails where the words of the chapter on guesses, and their two laws, are not those of the
// lesson, or where what it says of a simulated scenario does not stand in docs/speculation.md.
func (r *reader) coin() {
	r.t.Helper()
	lessons := lesson.NewDrafts(0)
	type law struct {
		Word                   string
		Model, Draft, Holds, P float64
	}
	var want, got []law
	for _, w := range lessons.Words {
		want = append(want, law{w.Word, w.Target, w.Draft, w.Accept, lessons.Chance})
	}
	text := see[string](r, `(() => {
		const c = chapters.find((c) => c.id === "guess");
		return JSON.stringify(c.handles.word.stops.map((Word) => {
			const l = new Look(c, { word: Word }), value = (name) => l.value(name);
			return { Word, Model: value("model"), Draft: value("draft"), Holds: value("holds"),
				P: value("kept") };
		}));
	})()`)
	testkit.OK(r.t, json.Unmarshal([]byte(text), &got))
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
		r.t.Errorf("the words of the coin are not the lesson's: %s", diff)
	}
	said := regexp.MustCompile(`\d\.\d\d times`).FindAllString(
		see[string](r, `chapters.find((c) => c.id === "guess").measured.text`), -1)
	docs := string(testkit.Read(r.t, filepath.Join("..", "..", "..", "docs", "speculation.md")))
	for _, words := range said {
		if !strings.Contains(docs, words) {
			r.t.Errorf("docs/speculation.md does not say %q", words)
		}
	}
	if len(said) != 2 {
		r.t.Errorf("the chapter says %q of what was simulated", said)
	}
}

// walker reads a chapter.
type walker struct {
	*reader
	id      string
	chapter *bookChapter
}

func (r *reader) walker(id string) *walker {
	r.t.Helper()
	w := &walker{r, id, &bookChapter{ID: id, Known: map[string]map[string]any{},
		Servers: &playground.Servers{}}}
	text := see[string](r, fmt.Sprintf(`JSON.stringify((({ handles, figures, check, ask }) => ({ Figures: figures, Check: check,
		Best: ask.best, Answers: ask.answers.map((a) => ({ Set: a.set, Right: a.right })), At: ask.at,
		First: Object.fromEntries(Object.entries(handles).map(([k, h]) => [k, h.at])),
		Stops: Object.fromEntries(Object.entries(handles).map(([k, h]) => [k, h.stops])) }))(chapters.find((c) => c.id === %q)))`, id))
	testkit.OK(r.t, json.Unmarshal([]byte(text), w.chapter))
	w.chapter.Result = func(settings []string) map[string]any {
		return r.result(id, settings)
	}
	known := map[string]map[string]asked{}
	w.chapter.Runs = func(handles map[string]any) map[string]asked {
		key, err := json.Marshal(handles)
		testkit.OK(r.t, err)
		if known[string(key)] == nil {
			text := see[string](r, fmt.Sprintf(
				`JSON.stringify(chapters.find((c) => c.id === %q).runs(%s))`, id, key))
			var runs map[string]asked
			testkit.OK(r.t, json.Unmarshal([]byte(text), &runs))
			known[string(key)] = runs
		}
		return known[string(key)]
	}
	return w
}

// look is what walk.js says that the page shows at a state.
type look struct {
	Where, Words string
	Before       map[string]any
	Figures      []struct {
		Formula, Value, Text string
		At                   map[string]any
	}
	Cases []struct {
		Conditions []string
		At         map[string]any
	}
	Handles map[string]any
	Scene   map[string]any
	Lit     float64 // cells of the field, of 500
	Marks   map[string]any
	Coins   [][2]int64 // which request, and how many of its guesses held in a step
	Frames  map[string]framed
	Own     bool
	Labels  []string // that are cut off or lie over others
}

// framed is how many frames a run has, and the digest of their JSON.
type framed struct {
	Count  int
	Digest string
}

// walk has the page walk as testdata/walk.js does, and holds what it showed to the program.
func (w *walker) walk(script string) {
	w.t.Helper()
	if !see[bool](w.reader, `"walk" in window`) {
		text := string(testkit.Read(w.t, filepath.Join("testdata", "walk.js")))
		see[bool](w.reader, text+"\n;true")
	}
	text, err := chromedp.Run(w.ctx, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
	testkit.OK(w.t, err)
	var looks []*look
	testkit.OK(w.t, json.Unmarshal([]byte(text), &looks))
	seen := 0
	for _, l := range looks {
		if l != nil {
			w.look(l)
			seen++
		}
	}
	if seen < 10 {
		w.t.Errorf("of %s only %d states were seen", w.id, seen)
	}
	w.best()
}

// best fails where an answer that is called right is not the best one by the question's own words,
// or another is as good.
func (w *walker) best() {
	w.t.Helper()
	state := func(sets ...map[string]any) map[string]any {
		all := maps.Clone(w.chapter.First)
		for _, set := range sets {
			maps.Copy(all, set)
		}
		return all
	}
	before, wants := state(w.chapter.At), w.chapter.Best
	right, won := -1, []int{}
	top := math.Inf(-1)
	for i, a := range w.chapter.Answers {
		if a.Right {
			right = i
		}
		at := bookState{state(w.chapter.At, a.Set), before, w.chapter}
		if wants.Where != "" && at.evaluate(wants.Where) != true {
			continue
		}
		var value float64
		if wants.Most != "" {
			value = number64(at.evaluate(wants.Most))
		} else {
			value = -number64(at.evaluate(wants.Least))
		}
		if value > top {
			top, won = value, nil
		}
		if value == top {
			won = append(won, i)
		}
	}
	if !slices.Equal(won, []int{right}) {
		w.t.Errorf("%s: answer %d is called right, and by %+v it is %v", w.id, right+1, wants, won)
	}
}

// look holds all that the page says and draws at a state to the program.
func (w *walker) look(shown *look) {
	w.t.Helper()
	name := w.id + ", " + shown.Where
	for run, frames := range shown.Frames {
		w.frames(name, w.chapter.Runs(shown.Handles)[run], frames)
	}
	if shown.Coins != nil {
		here := bookState{shown.Handles, shown.Before, w.chapter}
		w.coins(name, w.chapter.Runs(shown.Handles)["draws"], number64(here.get("here.given")),
			shown.Coins)
	}
	for _, label := range shown.Labels {
		w.t.Errorf("%s: the picture has %s", name, label)
	}
	for _, shares := range sharesAdded.FindAllString(shown.Words, -1) {
		sum := 0.0
		for _, digits := range shownNumber.FindAllString(shares, -1) {
			share, err := strconv.ParseFloat(digits, 64)
			testkit.OK(w.t, err)
			sum += share
		}
		if math.Abs(sum-100) > 0.001 {
			w.t.Errorf("%s: %s is %v", name, shares, sum)
		}
	}
	if glued := gluedWords.FindString(shown.Words); glued != "" {
		w.t.Errorf("%s has no space in %q", name, glued)
	}
	for _, gap := range []string{"NaN", "undefined", "–", "Infinity", "[object"} {
		if strings.Contains(shown.Words, gap) {
			w.t.Errorf("%s says %q: %s", name, gap, shown.Words)
		}
	}
	for _, f := range shown.Figures {
		want := bookState{f.At, shown.Before, w.chapter}.evaluate(f.Formula)
		if text, ok := want.(string); ok {
			if text != f.Value {
				w.t.Errorf("%s: %s is %q, not %q", name, f.Formula, text, f.Value)
			}
			continue
		}
		value, got := number64(want), math.NaN()
		if parsed, err := strconv.ParseFloat(f.Value, 64); err == nil {
			got = parsed
		}
		if !(math.Abs(got-value) <= 1e-9*math.Abs(value)) || !shows(f.Text, value) {
			w.t.Errorf("%s: %s is %v, not %s (%q)", name, f.Formula, value, f.Value, f.Text)
		}
	}
	for _, c := range shown.Cases {
		for i, condition := range c.Conditions {
			holds := condition == "" ||
				bookState{c.At, shown.Before, w.chapter}.evaluate(condition) == true
			if holds != (i == len(c.Conditions)-1) {
				w.t.Errorf("%s: %q holds: %v", name, condition, holds)
			}
		}
	}
	here := bookState{shown.Handles, shown.Before, w.chapter}
	w.check(name, here)
	w.marks(name, here, shown.Marks)
	memory, _ := shown.Scene["memory"].(map[string]any)
	if memory == nil || w.id == "opening" || here.get("error") != nil {
		return
	}
	runs := []string{"here"}
	if shown.Own {
		runs = slices.Sorted(maps.Keys(w.chapter.Runs(shown.Handles)))
	}
	read, _ := shown.Scene["read"].(map[string]any)
	of := func(run string) (differs []string) {
		for field, got := range map[string]any{"ms": shown.Scene["ms"],
			"bytes.weights": read["weights"], "bytes.kv_read": read["kv"],
			"peak": shown.Scene["peak"], "layers": shown.Scene["layers"],
			"memory.weights": memory["weights"], "memory.kv_used": memory["kv"],
			"memory.capacity": memory["capacity"], "bandwidth": shown.Scene["bandwidth"]} {
			want := here.get(run + "." + field)
			if !(math.Abs(number64(got)-number64(want)) <= 1e-9*number64(got)) {
				differs = append(differs, fmt.Sprintf("%v, and %s.%s is %v", got, run, field, want))
			}
		}
		sums := strings.ReplaceAll("(R.flop.matmul + R.flop.attention + R.flop.other) / R.ms * "+
			"1000 / R.peak", "R", run)
		lit := 500 * min(1, number64(here.evaluate(sums)))
		if here.get(run+".fits") == true && !(math.Abs(shown.Lit-lit) <= 1e-6*lit) {
			differs = append(differs, fmt.Sprintf("%v cells are lit, not %v", shown.Lit, lit))
		}
		return differs
	}
	if readers := shown.Scene["readers"]; readers != nil &&
		shown.Handles["readers"] != nil && readers != shown.Handles["readers"] {
		w.t.Errorf("%s: %v readers are drawn, not %v", name, readers, shown.Handles["readers"])
	}
	if !slices.ContainsFunc(runs, func(run string) bool { return of(run) == nil }) {
		w.t.Errorf("%s: the picture has %v", name, of(runs[0]))
	}
}

// check fails where a question that names neither a handle nor a figure has another answer than at
// another state: what is asked stays the same.
func (w *walker) check(name string, here bookState) {
	w.t.Helper()
	c := w.chapter
	if c.Check.Formula == "" || strings.Contains(c.Check.Text, "{") {
		return
	}
	answer := here.evaluate(c.Check.Formula)
	if c.comes == nil {
		c.comes = answer
	}
	if c.comes != answer {
		w.t.Errorf("%s: the answer to %q is %v, and elsewhere %v", name, c.Check.Text, answer,
			c.comes)
	}
}

// framesOf returns the steps of this program.
func (w *walker) framesOf(asked asked) (want []playground.Frame) {
	w.t.Helper()
	stage, err := playground.NewStage(asked.Settings, nil)
	testkit.OK(w.t, err)
	testkit.OK(w.t, stage.Skip(asked.From))
	for {
		frames, err := stage.Next(200)
		testkit.OK(w.t, err)
		want = append(want, frames...)
		if len(frames) < 200 || frames[len(frames)-1].To >= asked.Until {
			return want
		}
	}
}

// frames holds the steps that a picture shows, with all of their fields, to those of this program.
func (w *walker) frames(name string, asked asked, shown framed) {
	w.t.Helper()
	want := w.framesOf(asked)
	text, err := json.Marshal(want)
	testkit.OK(w.t, err)
	if digest := fmt.Sprintf("%x", sha256.Sum256(text)); len(want) == 0 ||
		shown != (framed{len(want), digest}) {
		w.t.Errorf("%s: the picture of %+v has %+v, not %d steps with the digest %s", name, asked,
			shown, len(want), digest)
	}
}

// coins holds the draws of a picture to those of this program: in a step that does not end an
// answer, its tokens grow by one more than guesses hold. Their mean is within five standard
// deviations of the expected one.
func (w *walker) coins(name string, asked asked, given float64, shown [][2]int64) {
	w.t.Helper()
	tokens := map[int64]int{}
	var want [][2]int64
	sum, squares := 0.0, 0.0
	for _, f := range w.framesOf(asked) {
		for _, r := range f.Running {
			if before, known := tokens[r.ID]; known && r.Does == "decode" && !r.Done {
				held := r.Tokens - before - 1
				want = append(want, [2]int64{r.ID, int64(held)})
				sum, squares = sum+float64(held), squares+float64(held*held)
			}
			tokens[r.ID] = r.Tokens
		}
	}
	n := float64(len(want))
	deviation := math.Sqrt((squares/n - sum/n*sum/n) / n)
	if expected := given - 1; !(math.Abs(sum/n-expected) <= 5*deviation) {
		w.t.Errorf("%s: of %g coins, %g guesses hold on average, not %g", name, n, sum/n, expected)
	}
	if !slices.Equal(want, shown) {
		w.t.Errorf("%s: %d coins are drawn, not these %d: %v, not %v", name, len(shown), len(want),
			shown, want)
	}
}

// marks holds the marks of a roofline to the steps that they stand for.
func (w *walker) marks(name string, here bookState, marks map[string]any) {
	w.t.Helper()
	for mark, run := range map[string]string{"decode": "here", "prompt": "prompt"} {
		shown, _ := marks[mark].(map[string]any)
		for axis, formula := range map[string]string{"x": "F / (R.bytes.weights + R.bytes.kv_read)",
			"y": "F / R.ms * 1000"} {
			sums := "(R.flop.matmul + R.flop.attention + R.flop.other)"
			formula = strings.ReplaceAll(strings.ReplaceAll(formula, "F", sums), "R", run)
			want := number64(here.evaluate(formula))
			if got := number64(shown[axis]); shown != nil && !(math.Abs(got-want) <= 1e-9*want) {
				w.t.Errorf("%s: the mark of %s has %s = %v, not %v", name, run, axis, got, want)
			}
		}
	}
}

// gluedWords matches a figure that the next word follows without a space, and two such sentences.
var gluedWords = regexp.MustCompile(
	`[0-9] (ms|µs|[kMGT]B|times|%|[GT]FLOP)[a-z]+|[a-z0-9)][.:;][A-Z][a-z]`)

// sharesAdded matches shares of a whole that are written as a sum.
var sharesAdded = regexp.MustCompile(`[0-9.]+ %( \+ [0-9.]+ %)+`)

var shownNumber = regexp.MustCompile(`-?[0-9][0-9,]*(\.[0-9]+)?`)

// shows reports whether a text has a value in some decimal unit, rounded to its digits.
func shows(text string, value float64) bool {
	digits := shownNumber.FindString(text)
	got, err := strconv.ParseFloat(strings.ReplaceAll(digits, ",", ""), 64)
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(digits, ".")
	unit := 0.51 * math.Pow(10, -float64(len(after)))
	units := []float64{1, 100, 1e3, 1e6, 1e-3, 1e-6, 1e-9, 1e-12, 1e-15}
	return slices.ContainsFunc(units, func(u float64) bool { return math.Abs(got-u*value) <= unit })
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
