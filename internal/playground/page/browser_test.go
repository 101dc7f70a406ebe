package page_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/llmsim/llmsim/internal/browsertest"
	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/scenarios"
)

// reader is somebody with the page open: mouse and keyboard, and what is seen.
type reader struct {
	t   *testing.T
	ctx context.Context
}

// open opens the page from disk in a browser without network.
func open(t *testing.T, address string) *reader {
	t.Helper()
	text := html(t)
	r := &reader{t, browsertest.Start(t, 10*time.Minute)}
	file := filepath.Join(t.TempDir(), "playground.html")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	r.do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+file+"#"+address))
	r.ready()
	return r
}

func (r *reader) do(actions ...chromedp.Action[chromedp.Void]) {
	r.t.Helper()
	if err := chromedp.Do(r.ctx, actions...); err != nil {
		r.t.Fatal(err)
	}
}

// ready waits until the stage shows the state of the controls.
func (r *reader) ready() {
	r.t.Helper()
	r.do(chromedp.WaitVisible(chromedp.CSS(`body[data-ready="yes"]`)))
}

func (r *reader) click(selector string) {
	r.t.Helper()
	r.do(chromedp.ScrollIntoView(chromedp.CSS(selector)), chromedp.Click(chromedp.CSS(selector)))
}

func (r *reader) press(selector, keys string) {
	r.t.Helper()
	r.do(chromedp.Focus(chromedp.CSS(selector)), chromedp.KeyEvent(keys))
}

// see returns what a script finds on the page.
func see[T any](r *reader, script string) T {
	r.t.Helper()
	return browsertest.See[T](r.t, r.ctx, script)
}

func (r *reader) text(id string) string {
	r.t.Helper()
	return see[string](r, `document.getElementById("`+id+`").textContent`)
}

// figures are the results that the page holds.
func (r *reader) figures() string { return see[string](r, `app.figures[0].text`) }

// want fails where the page shows other figures than the program has for the settings.
func (r *reader) want(settings ...string) {
	r.t.Helper()
	want, err := playground.Result(r.ctx, settings)
	if err != nil {
		r.t.Fatal(err)
	}
	if r.figures() != string(want) {
		r.t.Errorf("the figures are not those of %v", settings)
	}
}

// With mouse and keyboard a reader changes the scenario, takes it along as a file, a command and an
// address, and plays it step by step.
func TestReaderChangesAndPlays(t *testing.T) {
	r := open(t, "")
	r.want()
	r.press("#rate", kb.ArrowRight+kb.ArrowRight)
	r.ready()
	r.want("workload.rate=15/s")
	if words := r.text("rate-value"); words != "15 requests/s" {
		t.Errorf("the slider says %q", words)
	}

	r.click("#copy-command")
	command := see[string](r, `document.getElementById("text-area").value`)
	if !strings.Contains(command, "llmsim scenario playground") ||
		!strings.Contains(command, "--set workload.rate=15/s") {
		t.Errorf("the command is %q", command)
	}
	r.do(chromedp.KeyEvent(kb.Escape))
	r.click("#copy-yaml")
	if _, err := chromedp.Run(r.ctx,
		chromedp.Poll[bool](`document.getElementById("text-area").value.startsWith("name:")`)); err != nil {
		t.Fatal(err)
	}
	file, err := scenarios.Parse("my.yaml",
		[]byte(see[string](r, `document.getElementById("text-area").value`)))
	if err != nil || file.Scenario.Workload.Rate.Value != 15 {
		t.Errorf("the file has a rate of %v: %v", file.Scenario.Workload.Rate, err)
	}
	r.do(chromedp.KeyEvent(kb.Escape))

	r.do(chromedp.Focus(chromedp.CSS("#stage-title"))) // no control: keys go to the player
	before := see[float64](r, "app.at")
	r.click("#step")
	after := see[float64](r, "app.at")
	r.click("#back")
	if again := see[float64](r, "app.at"); after <= before || again != before {
		t.Errorf("a step leads from %v ms to %v, and back to %v", before, after, again)
	}
	r.click("#stage-title")
	r.do(chromedp.KeyEvent(" "))
	if _, err := chromedp.Run(r.ctx,
		chromedp.Poll[bool](`app.playing && app.at > `+number(after))); err != nil {
		t.Fatal("the space bar does not play: ", err)
	}
	r.do(chromedp.KeyEvent(" "))
	if see[bool](r, "app.playing") || !strings.HasPrefix(r.text("words-0"), "Step ") {
		t.Errorf("it does not pause, or says %q", r.text("words-0"))
	}

	address := see[string](r, "location.hash.slice(1)")
	words := r.text("words-0")
	r.do(chromedp.Reload())
	r.ready()
	r.want("workload.rate=15/s")
	if r.text("words-0") != words {
		t.Errorf("%s leads to %q, want %q", address, r.text("words-0"), words)
	}
	r.do(chromedp.EmulateViewport(390, 844))
	if wide := see[float64](r, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("on a phone the page is %v pixels wide", wide)
	}
}

// A scenario that is refused says why, and the page goes on.
func TestRefusedScenarioSaysWhy(t *testing.T) {
	r := open(t, "model=llama-3.1-70b&workload.rate=2/s")
	if words := r.text("problem"); !strings.Contains(words, "llama-3.1-70b") {
		t.Errorf("the page says %q", words)
	}
	r.press("#tensor", kb.ArrowRight+kb.ArrowRight)
	r.ready()
	if words := r.text("problem"); words != "" {
		t.Errorf("with four accelerators it still says %q", words)
	}
	r.want("model=llama-3.1-70b", "parallelism.tensor=4", "workload.rate=2/s")
}

// Two policies beside each other get the same requests.
func TestTwoPoliciesGetTheSameRequests(t *testing.T) {
	r := open(t, "batching=static&batching.batch-size=4&beside=orca&at=3000")
	type asked struct{ ID, Prompt, Output int }
	asks := func(stage int) (all map[int]asked) {
		text := see[string](r, `JSON.stringify(Object.fromEntries(app.stages[`+
			number(float64(stage))+
			`].frames.flatMap((f) => f.running).map((r) => [r.id, { ID: r.id, Prompt: r.prompt, Output: r.output }])))`)
		if err := json.Unmarshal([]byte(text), &all); err != nil {
			t.Fatal(err)
		}
		return all
	}
	static, orca := asks(0), asks(1)
	for id, a := range static {
		if b, both := orca[id]; both && a != b {
			t.Errorf("request %d is %+v here and %+v there", id, a, b)
		}
	}
	if len(static) < 2 || len(orca) <= len(static) {
		t.Errorf("after 3 s a static batch has run %d requests, and Orca %d", len(static),
			len(orca))
	}
}

// A reader goes through each tour to its end: every stop is a scenario that runs, asks, and shows
// something.
func TestReaderTakesEachTour(t *testing.T) {
	r := open(t, "")
	tours := see[[]string](r, `[...document.querySelectorAll("#tour-list button")].map((e) => e.id)`)
	if len(tours) != 7 {
		t.Errorf("%d tours, want 7", len(tours))
	}
	for _, tour := range tours {
		r.click("#" + tour)
		for stop := 1; ; stop++ {
			r.ready()
			title := r.text("tour-title")
			if problem := r.text("problem"); problem != "" {
				t.Errorf("%s: %s", title, problem)
			}
			if r.text("tour-reveal") != "" {
				t.Errorf("%s shows before it asks", title)
			}
			r.click("#tour-answers label")
			r.click("#tour-check")
			if _, err := chromedp.Run(r.ctx,
				chromedp.Poll[bool](
					`document.getElementById("tour-reveal").textContent.length > 40`)); err != nil {
				t.Fatalf("%s shows nothing: %v", title, err)
			}
			if words := r.text("tour-reveal"); strings.Contains(words, "NaN") ||
				strings.Contains(words, "undefined") {
				t.Errorf("%s shows %q", title, words)
			}
			last := r.text("tour-next") == "Done"
			r.click("#tour-next")
			if last || stop > 10 {
				break
			}
		}
		if see[bool](r, `!document.getElementById("tour").hidden`) {
			t.Errorf("%s does not end", tour)
		}
	}
}

// A reader sets the sliders to a machine of their own: twice the bandwidth writes twice the tokens,
// prompts stay as they are, and the address holds the machine.
func TestReaderAddsAMachine(t *testing.T) {
	r := open(t, "tour=machines.1&machine=100,3,4")
	rates := func() (decode, prompt float64) {
		return see[float64](r, "expected(machines.phases.decode).law"),
			see[float64](r, "expected(machines.phases.prompt).law")
	}
	decode, prompt := rates()
	r.press("#machine-bandwidth", strings.Repeat(kb.ArrowRight, 15)) // 15 times 0.02 decades: 2
	faster, same := rates()
	if ratio := faster / decode; ratio < 1.99 || ratio > 2.01 || same != prompt {
		t.Errorf("twice the bandwidth: tokens %v times as fast, prompts from %v to %v", ratio,
			prompt, same)
	}
	words := r.text("machine-decode-words")
	r.do(chromedp.Reload())
	r.ready()
	if r.text("machine-decode-words") != words || !strings.Contains(words, "Your machine") {
		t.Errorf("once loaded again it says %q, want %q", r.text("machine-decode-words"), words)
	}
	r.do(chromedp.EmulateViewport(390, 844))
	if wide := see[float64](r, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("on a phone the page is %v pixels wide", wide)
	}
}

// number writes a number for a script.
func number(x float64) string {
	text, err := json.Marshal(x)
	if err != nil {
		return "NaN"
	}
	return string(text)
}
