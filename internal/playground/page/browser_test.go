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
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/scenarios"
)

// reader is somebody with the page open: mouse and keyboard, and what is seen.
type reader struct {
	t     *testing.T
	ctx   context.Context
	known map[string]map[string]any // results of the program by their settings
}

// shared is the browser of all tests, which use its page one after the other: to load the page
// costs some eight CPU-seconds.
var shared struct {
	ctx    context.Context
	stop   func()
	folder string // with the page
	loaded bool   // and in a state from which an address leads to another
}

// TestMain ends the browser after the tests.
func TestMain(m *testing.M) { os.Exit(testkit.Checked{Tests: closing{m}}.Run()) }

type closing struct{ *testing.M }

func (c closing) Run() int {
	defer func() {
		if shared.stop != nil {
			shared.stop()
		}
	}()
	return c.M.Run()
}

// open opens an address of the page, from disk in a browser without network. A page that is loaded
// goes there as where a reader follows a link.
func open(t *testing.T, address string) *reader {
	t.Helper()
	return opened(t, address, false)
}

// load loads the page anew, at an address.
func load(t *testing.T, address string) *reader {
	t.Helper()
	return opened(t, address, true)
}

func opened(t *testing.T, address string, anew bool) *reader {
	t.Helper()
	text := html(t)
	r := begin(t)
	if anew || !shared.loaded {
		testkit.OK(t, os.WriteFile(filepath.Join(shared.folder, "page.html"), text, 0o600))
		r.navigate(address)
	} else {
		// The browser tells a page of another address later, and until then what an earlier test
		// began could set these marks.
		see[bool](r, `(app.controls = false, document.body.dataset.planned = "",
			document.body.dataset.ready = isPlan("`+address+`") ? "yes" : "",
			history.replaceState(null, "", "#`+address+`"), dispatchEvent(new Event("hashchange")))`)
	}
	r.ready()
	shared.loaded = true
	return r
}

// begin has the browser ready for a test.
func begin(t *testing.T) *reader {
	t.Helper()
	testkit.Dear(t)
	if shared.ctx == nil {
		shared.folder, shared.ctx, shared.stop = browsertest.Open(t)
	}
	ctx, stop := context.WithTimeout(shared.ctx, 10*time.Minute)
	t.Cleanup(func() {
		stop()
		shared.loaded = shared.loaded && !t.Failed()
	})
	r := &reader{t, ctx, map[string]map[string]any{}}
	r.do(chromedp.EmulateViewport(1280, 900))
	return r
}

// navigate loads the page.
func (r *reader) navigate(address string) {
	r.t.Helper()
	r.do(chromedp.Navigate("about:blank"),
		chromedp.Navigate("file://"+filepath.Join(shared.folder, "page.html")+"#"+address))
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
func (r *reader) figures() string { return see[string](r, `app.runs.main.text`) }

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
	r := open(t, "batching=vllm-v1&at=0")
	r.want()
	r.click("#all-controls")
	r.press("#prompt", kb.ArrowRight+kb.ArrowRight)
	r.ready()
	r.want("workload.prompt.mean=800")
	if words := r.text("prompt-value"); words != "800 tokens" {
		t.Errorf("the slider says %q", words)
	}

	see[bool](r, `(document.querySelector("details").open = true)`)
	r.click("#copy-command")
	command := see[string](r, `document.getElementById("text-area").value`)
	if !strings.Contains(command, "llmsim scenario playground") ||
		!strings.Contains(command, "--set workload.prompt.mean=800") {
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
	if err != nil || file.Scenario.Workload.Prompt.Mean != 800 {
		t.Errorf("the file has a prompt of %+v: %v", file.Scenario.Workload.Prompt, err)
	}
	r.do(chromedp.KeyEvent(kb.Escape))
	see[bool](r, `!(document.querySelector("details").open = false)`)

	before := see[float64](r, "app.at")
	r.step("#step")
	after := see[float64](r, "app.at")
	r.step("#back")
	if again := see[float64](r, "app.at"); after <= before || again != before {
		t.Errorf("a step leads from %v ms to %v, and back to %v", before, after, again)
	}
	r.do(chromedp.KeyEvent(" ")) // after a click on a button
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
	r.want("workload.prompt.mean=800")
	if r.text("words-0") != words {
		t.Errorf("%s leads to %q, want %q", address, r.text("words-0"), words)
	}
	r.do(chromedp.EmulateViewport(390, 844))
	if wide := see[float64](r, "document.documentElement.scrollWidth"); wide > 390 {
		t.Errorf("on a phone the page is %v pixels wide", wide)
	}
}

// step clicks on a button of the player, and waits until the stage has moved.
func (r *reader) step(button string) {
	r.t.Helper()
	at := number(see[float64](r, "app.at"))
	r.click(button)
	if _, err := chromedp.Run(r.ctx, chromedp.Poll[bool](`app.at !== `+at)); err != nil {
		r.t.Fatal(button, " does not move: ", err)
	}
}

// Free play and the book move, and have their figures, before the simulator of the browser runs,
// and what they show then is what the simulator shows.
func TestFirstFramesAreThoseOfTheSimulator(t *testing.T) {
	r := load(t, "play")
	r.want()
	r.movesFirst()
	first := see[string](r, `JSON.stringify(JSON.parse(el("first").textContent).frames)`)
	again, err := chromedp.Run(r.ctx, chromedp.Poll[string](`(async () => {
		await simulator.open(1, [], [], 2000);
		return JSON.stringify(await simulator.next(1, 120));
	})()`))
	testkit.OK(t, err)
	if first != again {
		t.Error("the first frames are not those that the simulator has")
	}
	see[string](r, `(document.body.dataset.ready = "", location.hash = "")`)
	r.do(chromedp.Reload())
	r.ready()
	if at := see[string](r, `location.hash`); at != "#book/opening.1" {
		t.Errorf("an address without a state leads to %s", at)
	}
	if _, err := chromedp.Run(r.ctx,
		chromedp.Poll[bool](`document.body.dataset.interactive > 0`)); err != nil {
		t.Fatal(err)
	}
	r.movesFirst()
	differ, err := chromedp.Run(r.ctx, chromedp.Poll[string](`(async () => {
		const differ = [], { steps } = JSON.parse(el("first").textContent);
		for (const { asked: a, answer } of steps) {
			const now = await simulator.step(a.settings, a.prompts, a.decodes, a.context);
			if (JSON.stringify(now) !== JSON.stringify(answer)) differ.push(a);
		}
		return steps.length + " steps differ in " + JSON.stringify(differ);
	})()`))
	testkit.OK(t, err)
	if differ != "17 steps differ in []" {
		t.Error(differ)
	}
}

// movesFirst fails where nothing moved before the simulator answered.
func (r *reader) movesFirst() {
	r.t.Helper()
	if !see[bool](r, `document.body.dataset.moved - document.body.dataset.interactive < 0`) {
		r.t.Error("nothing moves before the simulator runs")
	}
}

// A reader who opens the tap changes a server that runs: what was shown stays, and the queue of
// later moments grows.
func TestReaderOpensTheTap(t *testing.T) {
	see[bool](open(t, "play"), "(play(true), app.playing)")
	r := open(t, "at=20000") // what an address names is shown, and does not go on by itself
	shown := r.text("words-0")
	r.press("#rate", strings.Repeat(kb.ArrowRight, 8))
	see[bool](r, "release() ?? true")
	r.ready()
	if now := see[float64](r, "app.at"); now < 20000 || r.text("words-0") != shown {
		t.Errorf("the stage moves to %v ms: %q", now, r.text("words-0"))
	}
	waits := func(from, to int) float64 {
		return see[float64](r, `Math.max(...app.overviews[0].points.filter((p) => p.at > `+
			number(float64(from))+` && p.at < `+number(float64(to))+`).map((p) => p.waiting + p.running))`)
	}
	if early, late := waits(0, 20000), waits(30000, 60000); late < 3*early {
		t.Errorf("%v requests at most before, %v afterwards", early, late)
	}
	words := r.text("words-0")
	r.do(chromedp.Reload())
	r.ready()
	if r.text("words-0") != words {
		t.Errorf("once loaded again it says %q, want %q", r.text("words-0"), words)
	}
	r.click("#anew")
	r.ready()
	if see[float64](r, "app.state.past.length") != 0 {
		t.Error("it does not begin anew")
	}
}

// A scenario that is refused says why, and the page goes on.
func TestRefusedScenarioSaysWhy(t *testing.T) {
	r := open(t, "model=llama-3.1-70b&workload.rate=2/s")
	if words := r.text("problem"); !strings.Contains(words, "llama-3.1-70b") {
		t.Errorf("the page says %q", words)
	}
	r.click("#all-controls")
	r.press("#tensor", kb.ArrowRight+kb.ArrowRight)
	r.ready()
	if words := r.text("problem"); words != "" {
		t.Errorf("with four accelerators it still says %q", words)
	}
	r.want("model=llama-3.1-70b", "parallelism.tensor=4", "workload.rate=2/s")
}

// The second server may differ by any setting.
func TestSecondServerDiffersByAnySetting(t *testing.T) {
	r := open(t, "workload.rate=20/s&beside=hardware=a100-80gb-sxm%20batching.max-sequences=16")
	got := see[string](r, `app.runs.beside.text`)
	want, err := playground.Result(r.ctx, []string{"hardware=a100-80gb-sxm", "workload.rate=20/s",
		"batching.max-sequences=16"})
	if err != nil || got != string(want) {
		t.Errorf("the figures beside it are others (%v); its settings are %s", err,
			see[string](r, `JSON.stringify(app.runs.beside.settings)`))
	}
}

// Under a slider near the edge, the page says what other arrivals lead to.
func TestPageShowsSeveralSeeds(t *testing.T) {
	r := open(t, "workload.rate=36/s")
	r.do(chromedp.WaitVisible(chromedp.CSS(`body[data-seeds="yes"]`)))
	met, least, most := 0, 1.0, 0.0
	for seed := range 5 {
		text, err := playground.Result(r.ctx, []string{"workload.rate=36/s",
			"seed=" + number(float64(seed))})
		testkit.OK(t, err)
		var f struct {
			Met   bool                  `json:"slo_met"`
			Share struct{ All float64 } `json:"slo_attainment"`
		}
		testkit.OK(t, json.Unmarshal(text, &f))
		if f.Met {
			met++
		}
		least, most = min(least, f.Share.All), max(most, f.Share.All)
	}
	words := r.text("seeds")
	share := func(x float64) string { return see[string](r, `percent(`+number(x)+`)`) }
	if !strings.Contains(words, "met in "+number(float64(met))+":") ||
		!strings.Contains(words, share(least)+" to "+share(most)) {
		t.Errorf("%d of 5 meet the SLO, %v to %v; the page says %q", met, least, most, words)
	}
}

// Two policies beside each other get the same requests.
func TestTwoPoliciesGetTheSameRequests(t *testing.T) {
	r := open(t, "batching=static&batching.batch-size=4&beside=orca&at=3000")
	type asked struct{ ID, Prompt, Output int }
	asks := func(stage int) (all map[int]asked) {
		text := see[string](r, `JSON.stringify(Object.fromEntries(app.servers[`+
			number(float64(stage))+
			`].list.flatMap((f) => f.running).map((r) => [r.id, { ID: r.id, Prompt: r.prompt, Output: r.output }])))`)
		testkit.OK(t, json.Unmarshal([]byte(text), &all))
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

// number writes a number for a script.
func number(x float64) string {
	text, err := json.Marshal(x)
	if err != nil {
		return "NaN"
	}
	return string(text)
}
