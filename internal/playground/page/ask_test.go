package page_test

import (
	"context"
	escapes "html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/ask"
	"github.com/llmsim/llmsim/internal/testkit"
)

// The box for threads answers what llmsim ask does, says what is missing, shows a thread as it was
// pasted, and takes none from another site's page.
func TestThreadsAreAnsweredInThePage(t *testing.T) {
	server := native(t)
	post := func(origin string, fields ...string) (int, string) {
		t.Helper()
		form := url.Values{}
		for i := 0; i < len(fields); i += 2 {
			form.Set(fields[i], fields[i+1])
		}
		request, err := http.NewRequest("POST", server.URL+"/ask", strings.NewReader(form.Encode()))
		testkit.OK(t, err)
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", origin)
		reply, err := http.DefaultClient.Do(request)
		testkit.OK(t, err)
		defer reply.Body.Close()
		text, err := io.ReadAll(reply.Body)
		testkit.OK(t, err)
		return reply.StatusCode, string(text)
	}
	const thread = "Is it slow? </textarea><b>\nvllm serve Qwen/Qwen3-0.6B\nMean TPOT (ms): 4\n"
	own, err := ask.Ask(context.Background(), thread, ask.Options{GPU: "l4"})
	testkit.OK(t, err)
	want := escapes.EscapeString(string(own.Blocks().Terminal(false)))
	_, got := post(server.URL, "text", thread, "gpu", "l4")
	if !strings.Contains(got, want) || strings.Contains(got, "<b>") {
		t.Errorf("the page answers\n%s\nwant\n%s", got, want)
	}
	if _, got := post(server.URL, "text", thread); !strings.Contains(got, "lacks the accelerator") {
		t.Errorf("without a GPU the page answers\n%s", got)
	}
	if status, _ := post("https://example.com", "text", thread); status != http.StatusForbidden {
		t.Errorf("another site's thread is answered with status %d", status)
	}
	reply, err := http.Get(server.URL + "/")
	testkit.OK(t, err)
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	testkit.OK(t, err)
	if !strings.Contains(string(text), `href="/ask"`) {
		t.Error("the page that is served does not lead to the box")
	}
}
