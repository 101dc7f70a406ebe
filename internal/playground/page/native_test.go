package page_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/llmsim/llmsim/internal/playground"
	"github.com/llmsim/llmsim/internal/playground/page"
	"github.com/llmsim/llmsim/internal/testkit"

	"github.com/chromedp/chromedp"
)

// native serves the page from this program, without a simulator for browsers.
func native(t *testing.T) *httptest.Server {
	t.Helper()
	handler, err := page.Native()
	testkit.OK(t, err)
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// call asks the server as a page of that name does. ran is how many simulations it told of.
func call(t *testing.T, server *httptest.Server, page, name string, args ...any) (ok,
	refused string, ran int) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"page": page, "call": name, "args": args})
	testkit.OK(t, err)
	reply, err := http.Post(server.URL+"/call", "application/json", bytes.NewReader(body))
	testkit.OK(t, err)
	text, err := io.ReadAll(reply.Body)
	testkit.OK(t, err)
	testkit.OK(t, reply.Body.Close())
	line := strings.TrimLeft(string(text), "\n")
	var answer struct{ OK, Error string }
	if err := json.Unmarshal([]byte(line), &answer); err != nil {
		t.Fatalf("%s: %v: %.200q", name, err, text)
	}
	return answer.OK, answer.Error, len(text) - len(line)
}

// A program without the simulator for browsers answers each call of the page with the bytes that
// the program itself has.
func TestProgramAnswersForTheBrowser(t *testing.T) {
	server := native(t)
	settings := []string{"workload.rate=40/s"}
	same := func(name string, want []byte, err error, args ...any) {
		t.Helper()
		testkit.OK(t, err)
		if got, refused, _ := call(t, server, "a", name, args...); got != string(want) {
			t.Errorf("%s%v answers %.200q%s, want %.200q", name, args, got, refused, want)
		}
	}
	marshal := func(v any, err error) ([]byte, error) {
		testkit.OK(t, err)
		return json.Marshal(v)
	}
	want, err := playground.Choices()
	same("options", want, err)
	want, err = playground.Result(t.Context(), settings)
	same("result", want, err, settings)
	want, err = playground.YAML(settings)
	same("yaml", want, err, settings)
	past := []playground.Phase{}
	want, err = marshal(playground.NewOverview(t.Context(), settings, past))
	same("overview", want, err, settings, past)
	chunks := []playground.Chunk{{New: 512}}
	var servers playground.Servers
	want, err = marshal(servers.Step(settings, chunks, 3, 100))
	same("step", want, err, settings, chunks, 3, 100)
	stage, err := playground.NewStage(settings, nil)
	testkit.OK(t, err)
	testkit.OK(t, stage.Skip(500))
	same("open", nil, nil, 1, settings, past, 500)
	for range 2 {
		want, err = marshal(stage.Next(20))
		same("next", want, err, 1, 20)
	}
	question := []string{"menu.hardware=[l4]", "menu.tune=none", "effort.requests=200",
		"effort.most-requests=800",
		"workload={rate: 1/s, prompt: {value: 200}, output: {value: 50}}"}
	simulations := 0
	want, err = playground.Plan(t.Context(), question, false, func() { simulations++ })
	testkit.OK(t, err)
	if got, refused, ran := call(t, server, "a", "plan", question, false); got != string(want) ||
		ran != simulations {
		t.Errorf("a plan of %d simulations is %.200q%s after %d", simulations, got, refused, ran)
	}
}

// What is wrong is refused in words, and neither other sites nor many pages take what a page has.
func TestProgramRefuses(t *testing.T) {
	server := native(t)
	for _, c := range []struct {
		name string
		args []any
		want string
	}{
		{"fly", nil, `no call "fly"`}, {"result", []any{[]string{"speed=9"}}, "speed"},
		{"result", []any{7}, "cannot unmarshal"}, {"next", []any{0, 5}, "load the page again"},
		{"open", []any{-1, nil, nil, 0}, "want 0 to 7"}, {"next", []any{-1, 5}, "not there"},
	} {
		if ok, refused, _ := call(t, server, "a", c.name, c.args...); ok != "" ||
			!strings.Contains(refused, c.want) {
			t.Errorf("%s%v: %.100q, and %q", c.name, c.args, ok, refused)
		}
	}
	opened := func(page string) bool {
		_, refused, _ := call(t, server, page, "next", 0, 1)
		return refused == ""
	}
	for i := range 18 {
		call(t, server, fmt.Sprint(i), "open", 0, []string{}, []any{}, 0)
		if i == 10 && !opened("0") {
			t.Error("a page of eleven is forgotten")
		}
	}
	if !opened("0") || opened("1") {
		t.Error("not the page that has not asked for longest is forgotten")
	}
	foreign, err := http.NewRequest(http.MethodPost, server.URL+"/call", strings.NewReader("{}"))
	testkit.OK(t, err)
	foreign.Header.Set("Origin", "https://other.example")
	for _, ask := range []func() (*http.Response, error){
		func() (*http.Response, error) { return http.DefaultClient.Do(foreign) },
		func() (*http.Response, error) { return http.Get(server.URL + "/else") },
		func() (*http.Response, error) {
			return http.Post(server.URL+"/call", "", strings.NewReader("{"))
		},
	} {
		reply, err := ask()
		testkit.OK(t, err)
		testkit.OK(t, reply.Body.Close())
		if reply.StatusCode < 400 || reply.StatusCode >= 500 {
			t.Errorf("%s: %s", reply.Request.URL, reply.Status)
		}
	}
}

// In a browser that page has its figures from the program, and plays.
func TestPageOfAProgramWithoutItsSimulator(t *testing.T) {
	server := native(t)
	r := begin(t)
	defer func() { shared.loaded = false }()
	r.do(chromedp.Navigate(server.URL + "/#workload.rate=20/s&at=3000"))
	r.ready()
	r.want("workload.rate=20/s")
	r.step("#step")
	if words := r.text("words-0"); !strings.HasPrefix(words, "Step ") {
		t.Errorf("it says %q", words)
	}
	r.do(chromedp.Navigate(server.URL + "/#book/slow.2"))
	if _, err := chromedp.Run(r.ctx, chromedp.Poll[bool](
		`book.ready && book.look().value("here.ms") > 0`)); err != nil {
		t.Fatal(err)
	}
}
