package page_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/report/lesson"
	"github.com/llmsim/llmsim/internal/testkit"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A reader walks through chapters of the book: every step, every answer, and every handle at its
// least, its most and random stops. The words have no gaps, each figure is the one that this
// program computes by the same formula for the same state, a sentence that depends on the run is
// the one whose condition holds, and the picture has the bytes and seconds of the step: of the
// chapter's run "here", or of another of its runs where a step has a picture of its own.
func TestWalkThroughTheBook(t *testing.T) {
	if testing.Short() {
		t.Skip("a walk through the book takes a minute")
	}
	r := open(t, "book")
	ids := see[[]string](r, `chapters.filter((c) => !c.plays).map((c) => c.id)`)
	r.coin()
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			r.t = t
			w := r.walker(id)
			w.act(`book.enter("` + id + `")`)
			w.look("at first")
			steps := see[int](r, `book.pages(book.now.chapter).length`)
			for step := range steps {
				w.act(fmt.Sprintf(`book.go(%d)`, step))
				w.look(fmt.Sprintf("step %d", step+1))
			}
			w.act(`book.go(0)`)
			rng := testkit.Rand(t)
			for _, name := range slices.Sorted(maps.Keys(w.chapter.Stops)) {
				stops := w.chapter.Stops[name]
				for _, i := range []int{0, len(stops) - 1, rng.IntN(len(stops))} {
					w.act(fmt.Sprintf(`book.set({ %s:
						chapters.find((c) => c.id === %q).handles.%s.stops[%d] })`, name, id, name, i))
					w.look(fmt.Sprintf("%s at %v", name, stops[i]))
				}
			}
			answers := see[int](r, `book.now.chapter.ask?.answers.length ?? 0`)
			for i := range answers {
				w.act(`book.go(book.pages(book.now.chapter).findIndex((p) => p.kind === "ask"))`)
				w.act(fmt.Sprintf(`book.choose(%d)`, i))
				w.look(fmt.Sprintf("answer %d", i+1))
			}
		})
	}
}

// The opening says nothing but what is simulated, at each moment at which it says something else,
// and after each answer.
func TestOpeningSaysWhatIsSimulated(t *testing.T) {
	if testing.Short() {
		t.Skip("the opening takes half a minute")
	}
	r := open(t, "book/opening.1")
	w := r.walker("opening")
	acts := see[[][]float64](r, `chapters.find((c) => c.plays).steps.map(
		(s) => s.says.map(([from]) => from / s.lasts + 0.001))`)
	for act, moments := range acts {
		w.act(fmt.Sprintf(`book.go(%d)`, act))
		for _, at := range moments {
			w.act(fmt.Sprintf(`(book.now.playing = false, book.now.at = %v, book.set({}))`, at))
			w.look(fmt.Sprintf("act %d at %v", act+1, at))
		}
	}
	for i := range see[int](r, `book.now.chapter.ask.answers.length`) {
		w.act(fmt.Sprintf(`book.choose(%d)`, i))
		w.look(fmt.Sprintf("answer %d", i+1))
	}
}

// On paper each step of the book has a sheet with its picture and its words, and nothing of a slide
// is cut off.
func TestBookOnPaper(t *testing.T) {
	if testing.Short() {
		t.Skip("the sheets take a minute")
	}
	r := open(t, "book")
	steps := see[int](r, `chapters.flatMap(book.pages).length`)
	for _, kind := range []string{"slides", "handout"} {
		// The book must not write another address between the two, nor after, so that the page can
		// be loaded again.
		see[string](r, `(history.replaceState(null, "", "#`+kind+`"), location.reload(), "")`)
		r.do(chromedp.WaitVisible(chromedp.CSS(`body[data-sheets="yes"]`)))
		type seen struct {
			Sheets, Blank int
			Cut, Gaps     []string
			At            string
		}
		var got seen
		text := see[string](r, `(() => {
			const sheets = [...document.querySelectorAll("section")];
			const drawn = (s) => [...s.querySelectorAll("img")].some((i) => i.src.length > 5000);
			const cut = (s) => document.body.className === "slides" && s.scrollHeight > s.clientHeight;
			const gap = /.{0,30}(NaN|undefined|–|Infinity|\[object).{0,30}/g;
			return JSON.stringify({ Sheets: sheets.length, At: location.hash,
				Blank: sheets.filter((s) => !drawn(s)).length,
				Cut: sheets.filter(cut).map((s) => s.innerText.slice(0, 80)),
				Gaps: document.body.innerText.match(gap) });
		})()`)
		testkit.OK(t, json.Unmarshal([]byte(text), &got))
		if got.At != "#"+kind || got.Sheets != steps || got.Blank+len(got.Cut)+len(got.Gaps) > 0 {
			t.Errorf("%s: of %d steps, %+v", kind, steps, got)
		}
	}
}

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
	text := see[string](r, fmt.Sprintf(`JSON.stringify((({ handles, figures }) => ({ Figures: figures,
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

// act does something, and waits until the page shows it.
func (w *walker) act(script string) {
	w.t.Helper()
	see[bool](w.reader, `((document.body.dataset.ready = ""), void `+script+`, true)`)
	w.do(chromedp.Poll[chromedp.Void]("book.ready")) // the body is ready when free play is, too
	w.ready()
}

// look holds all that the page says and draws at this state to the program.
func (w *walker) look(where string) {
	w.t.Helper()
	var shown struct {
		Words   string
		Before  map[string]any
		Figures []struct {
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
		Frames  map[string][]any
		Own     bool
	}
	// Frames are megabytes, and sent once for each run.
	see[bool](w.reader, `(window.unseen ??= (seen => (asked) => seen.size < seen.add(
		JSON.stringify(asked)).size)(new Set()), true)`)
	text := see[string](w.reader, `JSON.stringify({ Words: el("book").innerText, Before: book.look().before.h, Handles: book.now.h,
		Figures: [...el("book").querySelectorAll("[data-formula]")].map((b) => ({ Formula: b.dataset.formula, Value: b.dataset.value, Text: b.textContent, At: JSON.parse(b.dataset.at) })),
		Cases: [...el("book").querySelectorAll("[data-cases]")].map((b) => ({ Conditions: JSON.parse(b.dataset.cases), At: JSON.parse(b.dataset.at) })),
		Scene: book.seen?.scene, Lit: book.seen?.lit, Marks: !el("drawn")?.closest("[hidden]") && book.figured?.knee ? book.figured : undefined,
		Frames: Object.fromEntries(Object.entries(book.now.chapter.runs(book.now.h)).map(([run, asked]) => [run, asked.kind === "frames" && unseen(asked) && ledger.get(asked)?.list]).filter(([, list]) => list)), Own: !!book.pages(book.now.chapter)[book.now.step].scene })`)
	testkit.OK(w.t, json.Unmarshal([]byte(text), &shown))
	name := w.id + ", " + where
	for run, frames := range shown.Frames {
		w.frames(name, w.chapter.Runs(shown.Handles)[run], frames)
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

// frames holds the steps that a picture shows, with all of their fields, to those of this program.
func (w *walker) frames(name string, asked asked, shown []any) {
	w.t.Helper()
	stage, err := playground.NewStage(asked.Settings, nil)
	testkit.OK(w.t, err)
	testkit.OK(w.t, stage.Skip(asked.From))
	var want []any
	for {
		frames, err := stage.Next(200)
		testkit.OK(w.t, err)
		text, err := json.Marshal(frames)
		testkit.OK(w.t, err)
		var list []any
		testkit.OK(w.t, json.Unmarshal(text, &list))
		want = append(want, list...)
		if len(frames) < 200 || frames[len(frames)-1].To >= asked.Until {
			break
		}
	}
	if len(want) != len(shown) || len(want) == 0 {
		w.t.Errorf("%s: %d steps are drawn, not %d", name, len(shown), len(want))
		return
	}
	for i, frame := range want {
		if !reflect.DeepEqual(frame, shown[i]) {
			w.t.Errorf("%s: step %d of the picture: %s", name, i, cmp.Diff(frame, shown[i]))
			return
		}
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

// gluedWords matches a figure that the next word follows without a space.
var gluedWords = regexp.MustCompile(`[0-9] (ms|µs|[kMGT]B|times|%|[GT]FLOP)[a-z]+`)

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
