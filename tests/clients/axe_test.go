package clients

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/llmsim/llmsim/internal/testkit"
)

// TestPagesAreAccessible lets axe-core look at the doors of the playground, at a chapter of the
// book, and at a report.
func TestPagesAreAccessible(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	program := os.Getenv(built)
	playground := filepath.Join(t.TempDir(), "playground.html")
	if out, err := testkit.Command(t, program, "playground", "--out",
		playground).CombinedOutput(); err != nil {
		t.Skipf("%s", out)
	}
	results := t.TempDir()
	if out, err := testkit.Command(t, program, "scenario", "chat", "--no-interval", "--out",
		results).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	axe, err := os.ReadFile("node/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(chromium),
		chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Headless, chromedp.NoFirstRun,
		chromedp.UserDataDir(t.TempDir()))
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(stop)
	desk, phone := [2]int64{1280, 900}, [2]int64{390, 844}
	look(t, ctx, "file://"+playground, string(axe), phone)
	look(t, ctx, "file://"+playground+"#book/slow.2", string(axe), desk)
	look(t, ctx, "file://"+playground+"#memory.tokens=7000", string(axe), desk)
	look(t, ctx, "file://"+filepath.Join(results, "report.html"), string(axe), desk)
}

// look opens a page and reports what axe finds.
func look(t *testing.T, ctx context.Context, address, axe string, size [2]int64) {
	t.Helper()
	err := chromedp.Do(ctx, chromedp.EmulateViewport(size[0], size[1]),
		chromedp.Navigate("about:blank"),
		chromedp.Navigate(address), chromedp.WaitVisible(chromedp.CSS(`body[data-ready="yes"]`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](axe+"; 0")); err != nil {
		t.Fatal(err)
	}
	const find = `axe.run().then((r) => window.found = r.violations.map((v) => v.id + ": " + v.help + ", such as " + v.nodes[0].target).join("\n")); 0`
	if _, err := chromedp.Run(ctx, chromedp.Evaluate[any](find)); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Run(ctx, chromedp.Poll[bool](`window.found !== undefined`)); err != nil {
		t.Fatal(err)
	}
	found, err := chromedp.Run(ctx, chromedp.Evaluate[string](`window.found`))
	if err != nil {
		t.Fatal(err)
	}
	if found != "" {
		t.Errorf("%s at %d pixels:\n%s", address[strings.LastIndex(address, "/")+1:], size[0],
			found)
	}
}
