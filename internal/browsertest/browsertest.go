// Package browsertest starts a browser for tests of pages.
package browsertest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// Start starts a browser without a window or a network of its own, for at most so long, and returns
// the context in which chromedp drives it. It skips the test where there is no browser.
func Start(t *testing.T, longest time.Duration) context.Context {
	t.Helper()
	_, ctx, stop := Open(t)
	t.Cleanup(stop)
	ctx, stop = context.WithTimeout(ctx, longest)
	t.Cleanup(stop)
	return ctx
}

// Open starts such a browser for several tests, with a folder of theirs, until stop is called.
func Open(t *testing.T) (folder string, ctx context.Context, stop func()) {
	t.Helper()
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium on this machine (Debian: apt-get install chromium)")
	}
	folder, err = os.MkdirTemp("", "browser")
	if err != nil {
		t.Fatal(err)
	}
	ctx, ends := chromedp.NewExecAllocator(context.Background(),
		chromedp.ExecPath(chromium), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Headless,
		chromedp.NoFirstRun, chromedp.UserDataDir(filepath.Join(folder, "profile")),
		chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true))
	ctx, closes := chromedp.NewContext(ctx)
	if err := chromedp.Do(ctx); err != nil { // it ends with this context only
		t.Fatal(err)
	}
	return folder, ctx, func() {
		closes()
		ends()
		os.RemoveAll(folder)
	}
}

// See returns what a script finds on the page.
func See[T any](t *testing.T, ctx context.Context, script string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatal(err)
	}
	return value
}
