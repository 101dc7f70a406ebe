package page_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/llmsim/llmsim/internal/browsertest"
	"github.com/llmsim/llmsim/internal/report/diagnosis"
	"github.com/llmsim/llmsim/internal/report/doc"
	"github.com/llmsim/llmsim/internal/report/page"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// writePage runs a shipped scenario and writes its page.
func writePage(t *testing.T, name string, set ...string) (string, *scenarios.Result) {
	t.Helper()
	file, err := scenarios.Load(name, set...)
	testkit.OK(t, err)
	s, err := file.Build(policies.Default())
	testkit.OK(t, err)
	sample := page.NewSample(page.SampleSize)
	result, err := s.Run(context.Background(), sample)
	testkit.OK(t, err)
	var text bytes.Buffer
	testkit.OK(t, page.Write(&text,
		page.Run{Result: result, Sample: sample, Steps: s.Steps()}))
	path := filepath.Join(t.TempDir(), "report.html")
	testkit.OK(t, os.WriteFile(path, text.Bytes(), 0o600))
	return path, result
}

// However many requests there are, the page stays small enough to send.
func TestPageIsSmall(t *testing.T) {
	path, result := writePage(t, "chat", "workload.requests=100000", "workload.duration=100h")
	info, err := os.Stat(path)
	testkit.OK(t, err)
	if result.Completed != 100_000 || info.Size() > 2_000_000 {
		t.Errorf("%d requests give a page of %d bytes, want less than 2 MB", result.Completed,
			info.Size())
	}
}

// A browser without network opens the page from disk: its headline is the result's, and a brushed
// range of time chooses requests.
func TestPageInBrowser(t *testing.T) {
	ctx := browsertest.Start(t, 5*time.Minute)
	path, result := writePage(t, "chat")
	console := chromedp.Console(ctx)
	ready := chromedp.WaitVisible(chromedp.CSS(`body[data-ready="yes"]`))
	do := func(steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		testkit.OK(t, chromedp.Do(ctx, steps...))
	}
	do(chromedp.EmulateViewport(1280, 900), chromedp.Navigate("file://"+path), ready)
	compareHeadline(t, browsertest.See[[][2]string](t, ctx,
		`[...document.querySelectorAll(".card")].map((e) => [...e.children].map((c) => c.textContent))`), result)

	const chosen = `document.getElementById("chosen").textContent`
	all := browsertest.See[string](t, ctx, chosen)
	before := browsertest.See[string](t, ctx, `document.querySelector("#ttft svg").outerHTML`)
	do(chromedp.ScrollIntoView(chromedp.CSS("#timeline svg")))
	box := browsertest.See[[]float64](t, ctx,
		`(() => { const r = document.querySelector("#timeline svg").getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()`)
	middle := box[1] + box[3]/2
	do(chromedp.DragAndDropXY(box[0]+0.3*box[2], middle, box[0]+0.5*box[2], middle))
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](chosen+`.includes("arriving from")`,
		chromedp.WithPollingTimeout(time.Minute))); err != nil {
		t.Fatal("the brushed range chose no requests: ", err)
	}
	brushed := browsertest.See[string](t, ctx, chosen)
	if !strings.Contains(all, "in all") || countOf(t, brushed) >= countOf(t, all) ||
		countOf(t, brushed) == 0 {
		t.Errorf("the page states %q, and once brushed %q", all, brushed)
	}
	if after := browsertest.See[string](t, ctx,
		`document.querySelector("#ttft svg").outerHTML`); after == before {
		t.Error("the linked chart is the same after the brush")
	}

	// The keyboard chooses as the mouse does, and every chart says in words what it shows.
	browsertest.See[bool](t, ctx, `(() => { document.getElementById("from").value = 100; document.getElementById("to").value = 200; document.querySelector("#range button").click(); return true; })()`)
	if n := countOf(t, browsertest.See[string](t, ctx, chosen)); n == 0 || n >= countOf(t, all) {
		t.Errorf("the form chooses %d requests", n)
	}
	if names := browsertest.See[[]string](t, ctx,
		`[...document.querySelectorAll(".chart")].map((e) => e.querySelector("svg")?.getAttribute("aria-label") ?? e.querySelector("[aria-label]")?.getAttribute("aria-label") ?? "")`); len(names) < 6 || slices.ContainsFunc(names, func(s string) bool { return len(s) < 20 }) {
		t.Errorf("charts are described as %q", names)
	}

	do(chromedp.EmulateViewport(400, 800), chromedp.Reload(), ready)
	if width := browsertest.See[float64](t, ctx, `document.documentElement.scrollWidth`); width > 400 {
		t.Errorf("on a phone the page is %v pixels wide, want at most 400", width)
	}
	do(chromedp.Steps(printMark)) // the last message: what came before has been seen
	for message, err := range console {
		if err != nil || message.Text == lastMark {
			break
		}
		t.Errorf("console: %s: %s", message.Type, message.Text)
	}
}

const lastMark = "the test is done"

// printMark writes the last message to the console.
func printMark(ctx context.Context, _ *chromedp.Target) (chromedp.Void, error) {
	_, err := chromedp.Run(ctx, chromedp.Evaluate[any](`console.log("`+lastMark+`")`))
	return chromedp.Void{}, err
}

// compareHeadline compares the cards with the entries of the result's text.
func compareHeadline(t *testing.T, shown [][2]string, result *scenarios.Result) {
	t.Helper()
	for _, b := range diagnosis.Outcome(result) {
		if b.Kind != doc.Entry {
			continue
		}
		if want := [2]string{b.Name, doc.Plain(b.Words)}; len(shown) == 0 || shown[0] != want {
			t.Fatalf("the cards go on with %q, want %q", shown, want)
		}
		shown = shown[1:]
	}
	if len(shown) > 0 {
		t.Errorf("cards without an entry: %q", shown)
	}
}

// countOf reads the number of requests that the page states: "– 1,234 in all; …".
func countOf(t *testing.T, words string) int {
	t.Helper()
	fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(words), "–"))
	if len(fields) == 0 {
		t.Fatalf("no number in %q", words)
	}
	n, err := strconv.Atoi(strings.ReplaceAll(fields[0], ",", ""))
	if err != nil {
		t.Fatalf("no number in %q: %v", words, err)
	}
	return n
}
