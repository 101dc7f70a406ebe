package page_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/testkit"
)

// planned waits until the answer is as sure as the command's.
func (r *reader) planned() {
	r.t.Helper()
	r.do(chromedp.WaitVisible(chromedp.CSS(`body[data-planned="yes"]`)))
}

// question is the settings of the question that the page asks.
func (r *reader) question() (settings []string) {
	r.t.Helper()
	testkit.OK(r.t, json.Unmarshal([]byte(see[string](r, `JSON.stringify(planSettings())`)),
		&settings))
	return settings
}

// answers returns the values of a plan, without what starts a fleet, which the page does not write.
func answers(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var p struct {
		Answers struct{ Models []map[string]any }
	}
	testkit.OK(t, json.Unmarshal(text, &p))
	one := p.Answers.Models[0]
	if chosen, found := one["chosen"].(map[string]any); found {
		for _, key := range []string{"launch", "launch_lacks", "unstartable"} {
			delete(chosen, key)
		}
	}
	list, _ := one["worth_measuring"].([]any)
	for _, m := range list {
		delete(m.(map[string]any), "commands")
	}
	return one
}

// A reader asks for a fleet at the second door. The answer is the command's, value by value; the
// link leads back to the question, and the command that the page gives away asks it.
func TestReaderPlansAFleet(t *testing.T) {
	r := open(t, "book/slow.2")
	// The page stops after its first answer, until the test has looked at it.
	see[bool](r, `!!(window.answerWith = ((does) => async (effort, curves) => {
		await does(effort, curves);
		if (window.firstAnswer) return;
		window.firstAnswer = { effort, text: JSON.stringify(planner.answer) };
		document.body.dataset.first = "yes";
		await new Promise((goes) => { window.goOn = goes; });
	})(answerWith))`)
	see[string](r, `location.hash = "plan&rate=6&menu=l4,h100-sxm:2.5"`)
	check := func(shown string, curves bool, question ...string) {
		t.Helper()
		text, err := playground.Plan(r.ctx, question, curves, func() {})
		testkit.OK(t, err)
		if diff := cmp.Diff(answers(t, text), answers(t, []byte(shown))); diff != "" {
			t.Errorf("to %v the page answers %q; the program otherwise: %s", question,
				r.text("plan-headline"), diff)
		}
	}
	// The first answer is from short simulations, and what it says can be held at once.
	r.do(chromedp.WaitVisible(chromedp.CSS(`body[data-first="yes"]`)))
	before, asked := r.text("plan-headline"), r.question()
	check(see[string](r, "firstAnswer.text"), false,
		append(asked, see[[]string](r, "firstAnswer.effort")...)...)
	r.click("#plan-hold")
	r.press("#plan-rate", strings.Repeat(kb.ArrowRight, 8))
	see[bool](r, "goOn() ?? true")
	if q := strings.Join(asked, "; "); !strings.Contains(q,
		"menu.hardware=[l4, {accelerator: h100-sxm, price: $2.5/h}]") ||
		!strings.Contains(q, "rate: 6/s") {
		t.Errorf("the address is read as %s", q)
	}
	r.planned()
	if after := r.text("plan-headline"); after == before || !strings.Contains(
		r.text("plan-held"), before) {
		t.Errorf("at a higher rate it answers %q, beside %q", after, r.text("plan-held"))
	}
	check(see[string](r, `JSON.stringify(planner.answer)`), true, r.question()...)
	r.click("#plan-command")
	if command := see[string](r, `document.getElementById("text-area").value`); !strings.HasPrefix(
		command, "llmsim plan many-users") || !strings.Contains(command, "'slo={ttft: ") {
		t.Errorf("the command is %q", command)
	}
	r.do(chromedp.KeyEvent(kb.Escape))
	asked = r.question()
	r.do(chromedp.Reload())
	r.ready()
	if again := r.question(); !slices.Equal(again, asked) {
		t.Errorf("once loaded again it asks %q, want %q", again, asked)
	}
	r.do(chromedp.WaitVisible(chromedp.CSS("#plan-headline")))
	defer func() { shared.loaded = false }() // it goes on planning, which no test waits for
	for name, size := range map[string][2]int64{"wide": {1280, 800}, "narrow": {390, 844}} {
		r.do(chromedp.EmulateViewport(size[0], size[1]))
		wide := see[float64](r, "document.documentElement.scrollWidth")
		if wide > float64(size[0]) {
			t.Errorf("on a screen of %d pixels the page is %v wide", size[0], wide)
		}
		r.picture("planner-" + name)
	}
	r.click("#door")
	r.want()
}

// A question that no fleet answers, and one that is refused, say why.
func TestPlannerSaysWhy(t *testing.T) {
	r := open(t, "plan&model=llama-3.1-405b&rate=1&menu=l4")
	r.planned()
	if words := r.text("planner"); !strings.Contains(words, "405") ||
		strings.Contains(words, "undefined") || strings.Contains(words, "NaN") {
		t.Errorf("the page says %.500q", words)
	}
}

// picture keeps what is seen in the folder LLMSIM_PICTURES, if there is one.
func (r *reader) picture(name string) {
	r.t.Helper()
	folder := os.Getenv("LLMSIM_PICTURES")
	if folder == "" {
		return
	}
	image, err := chromedp.Run(r.ctx, chromedp.FullScreenshot(100))
	testkit.OK(r.t, err)
	testkit.OK(r.t, os.WriteFile(folder+"/"+name+".png", image, 0o600))
}
