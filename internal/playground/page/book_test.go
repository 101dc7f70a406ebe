package page_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/testkit"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
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
	r.coin()
	for _, id := range see[[]string](r, `chapters.filter((c) => !c.plays).map((c) => c.id)`) {
		t.Run(id, func(t *testing.T) {
			r.t = t
			w := r.walker(id)
			rng, more := testkit.Rand(t), map[string]float64{}
			for _, name := range slices.Sorted(maps.Keys(w.chapter.Stops)) {
				more[name] = rng.Float64()
			}
			text, err := json.Marshal(more)
			testkit.OK(t, err)
			w.walk(fmt.Sprintf("walk.chapter(%q, %s)", id, text))
		})
	}
}

// The opening says nothing but what is simulated, at each moment at which it says something else,
// and after each answer.
func TestOpeningSaysWhatIsSimulated(t *testing.T) {
	if testing.Short() {
		t.Skip("the opening takes half a minute")
	}
	open(t, "book/opening.1").walker("opening").walk("walk.opening()")
}

// The command that a chapter gives away says what the chapter says: among the figures of its JSON
// is the one that the chapter has, in milliseconds or seconds.
func TestCommandsOfTheBook(t *testing.T) {
	if testing.Short() {
		t.Skip("the commands of all chapters take a minute")
	}
	r := open(t, "play")
	// The fleet's plan is asked for by TestReaderPlansAFleet.
	text, err := chromedp.Run(r.ctx, chromedp.Evaluate[string](`(async () => {
		const proofs = { join: "mean_ttft_ms", keys: "kv_tokens_share", full: "preemptions",
			heads: "memory.kv_token", apart: "apart.p99_itl_ms", agents: "run.mean_ttft_ms",
			training: "step_s" };
		const list = [];
		for (const c of chapters.filter((c) => c.command && c.id !== "fleet")) {
			const h = Object.fromEntries(Object.entries(c.handles).map(([k, x]) => [k, x.at]));
			let Value;
			do {
				ledger.forget();
				Value = new Look(c, h).value(proofs[c.id] ?? "ms");
			} while (ledger.missing() && await ledger.settle());
			list.push({ ID: c.id, Line: c.command(h).split("\n")[0], Value });
		}
		return JSON.stringify(list);
	})()`, chromedp.EvalAwaitPromise))
	testkit.OK(t, err)
	var list []struct {
		ID, Line string
		Value    float64
	}
	testkit.OK(t, json.Unmarshal([]byte(text), &list))
	program := filepath.Join(t.TempDir(), "llmsim")
	build := testkit.Command(t, "go", "build", "-o", program, "../../../cmd/llmsim")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if len(list) < 15 {
		t.Errorf("only %d chapters give a command away", len(list))
	}
	for _, c := range list {
		line := program + strings.TrimPrefix(c.Line, "llmsim") + " --format json"
		out, err := testkit.Command(t, "sh", "-c", line).Output()
		if err != nil {
			t.Errorf("%s: %s: %v", c.ID, c.Line, err)
			continue
		}
		found := slices.ContainsFunc(numberInJSON.FindAllString(string(out), -1),
			func(digits string) bool {
				x, err := strconv.ParseFloat(digits, 64)
				near := func(y float64) bool { return math.Abs(y-c.Value) <= 1e-9*math.Abs(y) }
				return err == nil && x != 0 && (near(x) || near(1000*x))
			})
		if !found {
			t.Errorf("%s: %s does not print %v", c.ID, c.Line, c.Value)
		}
	}
}

var numberInJSON = regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?`)

// A chapter whose first picture is of steps of a server shows it before the simulator runs: nothing
// in it has to be computed.
func TestPicturesThatComeWithThePage(t *testing.T) {
	r := load(t, "book/opening.5")
	defer func() { shared.loaded = false }() // its simulator will never answer
	shown, err := chromedp.Run(r.ctx, chromedp.Evaluate[string](`(async () => {
		simulator.step = simulator.result = simulator.overview = simulator.open =
			() => new Promise(() => {});
		document.body.dataset.interactive = "";
		const shown = [];
		for (const c of chapters.filter((c) => !c.plays)) {
			book.enter(c.id);
			await new Promise((goes) => { setTimeout(goes, 100); });
			const { width, height } = el("machine"), pen = el("machine").getContext("2d");
			if (el("waits") && pen.getImageData(0, 0, width, height).data.some((x) => x))
				shown.push(c.id);
		}
		return shown.join(" ");
	})()`, chromedp.EvalAwaitPromise))
	testkit.OK(t, err)
	if shown != "token slow prompt keys heads guess flash two bits where agents" {
		t.Errorf("before the simulator answers, only these have a picture: %s", shown)
	}
}

var slides = flag.String("slides", "",
	"folder into which TestBookOnPaper writes slides.html and slides.pdf")

// On paper each step of the book has a sheet with its picture and its words, and nothing of a slide
// is cut off.
func TestBookOnPaper(t *testing.T) {
	if testing.Short() {
		t.Skip("the sheets take a minute")
	}
	r := open(t, "book")
	defer func() { shared.loaded = false }() // sheets take the place of the page
	steps := see[int](r, `chapters.flatMap(book.pages).length`)
	type seen struct {
		Kind, At      string
		Sheets, Blank int
		Cut, Gaps     []string
	}
	text, err := chromedp.Run(r.ctx, chromedp.Evaluate[string](`(async () => {
		const slides = await paper.make("slides"), found = [];
		const look = (Kind) => {
			const shown = [...document.querySelectorAll("section")];
			const drawn = (s) => [...s.querySelectorAll("img")].some((i) => i.src.length > 5000);
			const cut = (s) => document.body.className === "slides" && s.scrollHeight > s.clientHeight;
			const gap = /.{0,30}(NaN|undefined|–|Infinity|\[object).{0,30}/g;
			found.push({ Kind, At: location.hash, Sheets: shown.length,
				Blank: shown.filter((s) => !drawn(s)).length,
				Cut: shown.filter(cut).map((s) => s.innerText.slice(0, 80)),
				Gaps: document.body.innerText.match(gap) });
		};
		location.hash = "handout";
		while (!document.body.dataset.sheets) await new Promise((goes) => { setTimeout(goes, 50); });
		look("handout");
		await paper.show("slides", slides);
		look("slides");
		return JSON.stringify(found);
	})()`, chromedp.EvalAwaitPromise))
	testkit.OK(t, err)
	var found []seen
	testkit.OK(t, json.Unmarshal([]byte(text), &found))
	for _, got := range found {
		if got.At != "#handout" || got.Sheets != steps ||
			got.Blank+len(got.Cut)+len(got.Gaps) > 0 {
			t.Errorf("of %d steps, %+v", steps, got)
		}
	}
	if len(found) != 2 {
		t.Errorf("%d kinds of sheets", len(found))
	}
	if *slides != "" {
		r.publish(*slides)
	}
	// A page that is loaded with such an address makes them.
	r.navigate("slides")
	_, err = chromedp.Run(r.ctx, chromedp.Poll[bool]("!!el('making') && book.now.step > 2"))
	testkit.OK(t, err)
}

// publish writes the slides that are shown, as a page and for a projector without a browser.
func (r *reader) publish(folder string) {
	r.t.Helper()
	text := see[string](r, `"<!DOCTYPE html>\n" + document.documentElement.outerHTML`)
	testkit.OK(r.t, os.WriteFile(filepath.Join(folder, "slides.html"), []byte(text), 0o666))
	r.do(chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		yes := true
		pdf, err := cdp.Call(ctx, to, page.PrintToPDF,
			page.PrintToPDFParams{PrintBackground: &yes, PreferCSSPageSize: &yes})
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, "slides.pdf"), pdf.Data, 0o666)
	}))
}

// On a phone, Tab leads to all that can be used, and nothing covers what has the focus; on the way
// through the row of chapters the text stays where it is. Keys lead on from the notes' window too.
func TestKeysReachTheWholeBook(t *testing.T) {
	r := open(t, "book/slow.3")
	r.do(chromedp.EmulateViewport(390, 844))
	const top = `document.getElementById("book").scrollTop`
	before := see[float64](r, `(document.querySelector(".contents summary").focus(), `+top+`)`)
	for range see[[]string](r, `chapters.map((c) => c.id)`) {
		r.do(chromedp.KeyEvent(kb.Tab))
	}
	if after := see[float64](r, top); before == 0 || after != before {
		t.Errorf("the row of chapters moves the text from %v to %v", before, after)
	}
	const focused = `((a, b = a.getClientRects()[0]) => a === document.body ? "" :
		a.contains(document.elementFromPoint((b.left + b.right) / 2, (b.top + b.bottom) / 2)) ?
		a.textContent || a.id : "covered: " + a.outerHTML)(document.activeElement)`
	var last string
	for at := see[string](r, focused); at != ""; at = see[string](r, focused) {
		if strings.HasPrefix(at, "covered") {
			t.Error(at)
		}
		last = at
		r.do(chromedp.KeyEvent(kb.Tab))
		r.ready()
	}
	if !strings.HasPrefix(last, "Next:") {
		t.Errorf("Tab ends at %q", last)
	}
	// The contents close with Escape, with a press beside them, and once something is chosen.
	for _, closes := range []string{`dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }))`,
		`el("machine").dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }))`,
		`book.choose(0) ?? true`} {
		if !see[bool](r, `((list = document.querySelector(".contents details")) => {
			list.open = true; `+closes+`; return !list.open; })()`) {
			t.Errorf("the contents stay open over the page after %s", closes)
		}
		r.ready()
	}
	r.do(chromedp.EmulateViewport(1280, 800))
	if hidden := see[float64](r, `((row) => row.scrollWidth - row.clientWidth)(
		document.querySelector(".contents .row"))`); hidden > 0 {
		t.Errorf("%v pixels of the row of chapters are hidden", hidden)
	}
	step := see[float64](r, `book.now.step`)
	r.press(".contents summary", "n")
	see[bool](r, `window.open("", "notes").document.body.dispatchEvent(
		new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }))`)
	r.ready()
	if now := see[float64](r, `book.now.step`); now != step-1 {
		t.Errorf("a key in the notes leads from step %v to %v", step, now)
	}
	see[bool](r, `(window.open("", "notes").close(), true)`)
}
