package page_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/testkit"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the list of chapters in docs/teaching.md")

// The address of a guided tour, of which links of others have many, leads to the chapter that has
// its idea.
func TestAddressesOfToursLeadToChapters(t *testing.T) {
	r := open(t, "memory.tokens=7000&tour=cache.1")
	tours := see[map[string]string](r, `book.tours`)
	if at := see[string](r, `book.now.chapter.id`); at != tours["cache"] {
		t.Errorf("the tour of the cache leads to %q", at)
	}
	for tour, chapter := range tours {
		if !see[bool](r, fmt.Sprintf(`chapters.some((c) => c.id === %q)`, chapter)) {
			t.Errorf("the tour %s leads to %s, which is no chapter", tour, chapter)
		}
	}
	for _, size := range [][2]int64{{1920, 1080}, {1280, 800}, {390, 844}} {
		r.do(chromedp.EmulateViewport(size[0], size[1]))
		if wide := see[int64](r, "document.documentElement.scrollWidth"); wide > size[0] {
			t.Errorf("at %v the page is %d pixels wide", size, wide)
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

// docs/teaching.md lists every chapter of the book.
func TestTeachingPageListsChapters(t *testing.T) {
	r := open(t, "play")
	list := "| chapter | what it is about | address |\n|---|---|---|\n"
	for _, c := range see[[]struct {
		ID, Title, Ideas string
		Number           int
	}](r, "chapters.map((c) => ({ ID: c.id, Title: c.title, Ideas: c.ideas, Number: c.number }))") {
		list += fmt.Sprintf("| %d %s | %s | `#book/%s` |\n", c.Number, c.Title, c.Ideas, c.ID)
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
