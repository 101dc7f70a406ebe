package serve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/telemetry"
	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
	"github.com/llmsim/llmsim/sim"
)

// small is a scenario whose answers come fast at the speed of tests.
const small = `
model: llama-3.1-8b
hardware: h100-sxm
engine: {max-model-len: 4096}
workload: {rate: 10/s, prompt: 100, output: 20, requests: 50}
`

// instance is a service under test.
type instance struct {
	*Service
	*httptest.Server
	stop func()
}

// open serves a scenario on a port of its own until the test ends.
func open(t testing.TB, scenario string, change func(*Options)) *instance {
	t.Helper()
	file, err := scenarios.Parse("test.yaml", []byte(scenario))
	testkit.OK(t, err)
	simulation, err := file.Build(policies.Default())
	testkit.OK(t, err)
	o := Options{
		Simulation: simulation.Config(), Models: simulation.Models(),
		Lengths: Lengths(simulation.Source),
		Speed:   50, Dialect: "vllm", Version: "test",
	}
	simulation.Source.Close()
	if change != nil {
		change(&o)
	}
	s, err := Open(o)
	testkit.OK(t, err)
	i := &instance{Service: s}
	// The test's own listener has the limits of the service, those of time shorter.
	s.Limits.HeaderTime, s.Limits.BodyTime = 2*time.Second, 2*time.Second
	i.Server = httptest.NewUnstartedServer(s.Handler())
	i.Config.ReadHeaderTimeout = s.Limits.HeaderTime
	i.Server.Start()
	go s.fleet.Run()
	stopped := false
	i.stop = func() {
		if !stopped {
			stopped = true
			i.Server.CloseClientConnections()
			i.Server.Close()
			s.fleet.stop()
			<-s.fleet.done
		}
	}
	t.Cleanup(i.stop)
	return i
}

// post sends a body and returns the status and the answer.
func (i *instance) post(t testing.TB, path, body string) (int, string) {
	t.Helper()
	response, err := http.Post(i.URL+path, "application/json", strings.NewReader(body))
	testkit.OK(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	testkit.OK(t, err)
	return response.StatusCode, string(text)
}

// reply has the fields of answers that tests look at.
type reply struct {
	Object  string
	Choices []struct {
		Text    string
		Finish  string  `json:"finish_reason"`
		Stop    *string `json:"stop_reason"`
		Message struct {
			Content *string
			Calls   []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Delta struct{ Content string }
	}
	Usage *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Total      int `json:"total_tokens"`
		Details    struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	Output []struct {
		Type    string
		Content []struct{ Text string }
	}
	Error *struct{ Message, Type, Param, Code string }
}

func (i *instance) ask(t testing.TB, path, body string) reply {
	t.Helper()
	status, text := i.post(t, path, body)
	var r reply
	if err := json.Unmarshal([]byte(text), &r); err != nil || status != http.StatusOK {
		t.Fatalf("%s %s: %d %s", path, body, status, text)
	}
	return r
}

// events returns the data of a stream's events.
func (i *instance) events(t testing.TB, path, body string) []string {
	t.Helper()
	_, text := i.post(t, path, body)
	var list []string
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			list = append(list, data)
		}
	}
	return list
}

func TestCompletions(t *testing.T) {
	i := open(t, small, nil)
	one := i.ask(t, "/v1/completions",
		`{"prompt":"Once upon a time","max_tokens":7,"ignore_eos":true}`)
	if one.Object != "text_completion" || one.Usage.Completion != 7 || one.Usage.Prompt != 4 ||
		one.Usage.Total != 11 ||
		one.Choices[0].Finish != "length" || len(strings.Fields(one.Choices[0].Text)) != 7 {
		t.Errorf("%+v", one)
	}
	again := i.ask(t, "/v1/completions",
		`{"prompt":"Once upon a time","max_tokens":7,"ignore_eos":true}`)
	if again.Choices[0].Text != one.Choices[0].Text {
		t.Errorf("the same prompt was answered by %q and %q", one.Choices[0].Text,
			again.Choices[0].Text)
	}
	natural := i.ask(t, "/v1/completions", `{"prompt":[1,2,3],"max_tokens":100}`)
	if natural.Usage.Completion != 20 || natural.Choices[0].Finish != "stop" ||
		natural.Usage.Prompt != 3 {
		t.Errorf("the scenario's answers have 20 tokens: %+v", natural)
	}
	several := i.ask(t, "/v1/completions", `{"prompt":["a","b"],"n":3,"max_tokens":2}`)
	if len(several.Choices) != 6 || several.Usage.Completion != 12 || several.Usage.Prompt != 2 {
		t.Errorf("%+v", several)
	}
}

// An answer ends before the first text at which to stop that lies behind the first min_tokens
// tokens, wherever it lies, and names it; a stream says the same, and nothing of that text. An
// answer without one names none.
func TestStop(t *testing.T) {
	i := open(t, small, nil)
	const ask = `{"prompt":"x","max_tokens":20,"ignore_eos":true`
	long := i.ask(t, "/v1/completions", ask+"}").Choices[0]
	whole := long.Text
	if long.Stop != nil {
		t.Errorf("without a stop: %q", *long.Stop)
	}
	six := i.ask(t, "/v1/completions", strings.Replace(ask, "20", "6", 1)+"}").Choices[0].Text
	for at := 3; at < 2*len(whole)-8; at += 5 {
		stop := whole[at/2 : at/2+4]
		from, least := 0, at%2*6
		if least > 0 {
			from = len(six) - 3
		}
		want, reason := whole, (*string)(nil)
		if end := strings.Index(whole[from:], stop); end >= 0 {
			want, reason = whole[:from+end], &stop
		}
		body := ask + fmt.Sprintf(`,"stop":["zz%s",%[1]q],"min_tokens":%d`, stop, least)
		cut := i.ask(t, "/v1/completions", body+"}").Choices[0]
		streamed, by := "", (*string)(nil)
		for _, data := range i.events(t, "/v1/completions", body+`,"stream":true}`) {
			var r reply
			if json.Unmarshal([]byte(data), &r) == nil && len(r.Choices) > 0 {
				streamed += r.Choices[0].Text
				by = r.Choices[0].Stop
			}
		}
		if cut.Text != want || !reflect.DeepEqual(cut.Stop, reason) ||
			(cut.Finish == "stop") != (reason != nil) ||
			streamed != want || !reflect.DeepEqual(by, reason) {
			t.Errorf("stop at %q after %d tokens: found %+v, streamed %q; want %q", stop, least,
				cut, streamed, want)
		}
	}
}

// TestStreamsSayTheSame compares each endpoint's stream with its answer in one piece.
func TestStreamsSayTheSame(t *testing.T) {
	i := open(t, small, nil)
	body := `{"messages":[{"role":"user","content":"Hi"}],"max_tokens":9,"ignore_eos":true`
	whole := i.ask(t, "/v1/chat/completions", body+"}")
	events := i.events(t, "/v1/chat/completions",
		body+`,"stream":true,"stream_options":{"include_usage":true}}`)
	text, finish, usage := "", "", 0
	for _, data := range events[:len(events)-1] {
		var r reply
		if err := json.Unmarshal([]byte(data), &r); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if len(r.Choices) > 0 {
			text += r.Choices[0].Delta.Content
			finish += r.Choices[0].Finish
		}
		if r.Usage != nil {
			usage += r.Usage.Completion
		}
	}
	if text != *whole.Choices[0].Message.Content || finish != "length" || usage != 9 ||
		events[len(events)-1] != "[DONE]" {
		t.Errorf("streamed %q, %s, %d tokens; want %q", text, finish, usage,
			*whole.Choices[0].Message.Content)
	}
	answer := i.ask(t, "/v1/responses", `{"input":"Hi","max_output_tokens":4}`)
	last := i.events(t, "/v1/responses", `{"input":"Hi","max_output_tokens":4,"stream":true}`)
	if want := answer.Output[0].Content[0].Text; !strings.Contains(last[len(last)-1], want) ||
		want == "" {
		t.Errorf("the last event is %s, want %q in it", last[len(last)-1], want)
	}
}

func TestToolsAndSchemas(t *testing.T) {
	i := open(t, small, nil)
	const tools = `"tools":[{"type":"function","function":{"name":"weather","parameters":{"type":"object",
		"properties":{"city":{"type":"string"},"days":{"type":"integer","minimum":3}},"required":["city","days"]}}}]`
	called := i.ask(t, "/v1/chat/completions", `{"messages":[{"role":"user","content":"Rain?"}],`+
		tools+`}`)
	var arguments struct {
		City string
		Days int
	}
	calls := called.Choices[0].Message.Calls
	if len(calls) != 1 || calls[0].Function.Name != "weather" ||
		called.Choices[0].Finish != "tool_calls" ||
		json.Unmarshal([]byte(calls[0].Function.Arguments), &arguments) != nil ||
		arguments.City == "" || arguments.Days < 3 {
		t.Errorf("%+v", called)
	}
	told := i.ask(t, "/v1/chat/completions", `{"messages":[{"role":"user","content":"Rain?"},
		{"role":"assistant","tool_calls":[]},{"role":"tool","content":"yes"}],`+tools+`}`)
	if told.Choices[0].Message.Content == nil || told.Choices[0].Finish == "tool_calls" {
		t.Errorf("after a tool's answer: %+v", told)
	}
	shaped := i.ask(t, "/v1/chat/completions",
		`{"messages":[{"role":"user","content":"List"}],"response_format":{"type":"json_schema",
		"json_schema":{"name":"list","schema":{"type":"object","properties":{"items":{"type":"array","minItems":2,
		"items":{"enum":["a","b"]}}},"required":["items"]}}}}`)
	var list struct{ Items []string }
	if err := json.Unmarshal([]byte(*shaped.Choices[0].Message.Content), &list); err != nil ||
		len(list.Items) != 2 {
		t.Errorf("%s: %v", *shaped.Choices[0].Message.Content, err)
	}
}

// TestPrefixesAreFound asks twice with the same long prompt: the second time, its whole blocks come
// from the cache.
func TestPrefixesAreFound(t *testing.T) {
	i := open(t, strings.Replace(small, "workload:", "memory: prefix-cache\nworkload:", 1), nil)
	body := `{"prompt":"` + strings.Repeat("word ", 100) + `","max_tokens":2}`
	if cached := i.ask(t, "/v1/completions", body).Usage.Details.Cached; cached != 0 {
		t.Errorf("%d tokens cached at first", cached)
	}
	if cached := i.ask(t, "/v1/completions", body).Usage.Details.Cached; cached < 80 {
		t.Errorf("%d tokens cached when asked again, want 80 at least", cached)
	}
}

func TestErrors(t *testing.T) {
	i := open(t, small, func(o *Options) { o.APIKey = "" })
	for _, c := range []struct {
		path, body string
		status     int
		words      string
	}{
		{"/v1/completions", `{`, 400, "not JSON"},
		{"/v1/completions", `{"max_tokens":1}`, 400, "prompt: found none"},
		{"/v1/completions", `{"prompt":"x","n":0}`, 400, "n: found 0"},
		{"/v1/completions", `{"prompt":"x","max_tokens":"many"}`, 400, "max_tokens"},
		{"/v1/completions", `{"prompt":"x","model":"gpt-9"}`, 404, "does not exist"},
		{"/v1/completions", `{"prompt":"x","max_tokens":5000}`, 400,
			"maximum context length is 4096"},
		{"/v1/completions", `{"prompt":"x","logprobs":3}`, 400, "probabilities"},
		{"/v1/completions", `{"prompt":"x","structured_outputs":{"choice":["a"]}}`, 400,
			"structured_outputs.choice: "},
		{"/v1/completions", `{"prompt":"x","structured_outputs":{"regex":"a+"}}`, 400,
			"structured_outputs.regex: "},
		{"/v1/completions", `{"prompt":"x","guided_grammar":"a"}`, 400, "guided_grammar: "},
		{"/v1/completions", `{"prompt":"x","stop_token_ids":[3]}`, 400, "stop_token_ids: "},
		{"/v1/completions", `{"prompt":"x","return_token_ids":true}`, 400, "return_token_ids: "},
		{"/v1/completions", `{"prompt":"x","prompt_logprobs":0}`, 400, "prompt_logprobs: "},
		{"/v1/completions", `{"prompt":"x","include_stop_str_in_output":true}`, 400,
			"include_stop_str_in_output: "},
		{"/v1/responses", `{"input":"x","previous_response_id":"r"}`, 400,
			"previous_response_id: "},
		{"/v1/chat/completions", `{"messages":[]}`, 400, "messages: found 0"},
		{"/v1/chat/completions", `{"messages":[{"role":"king","content":"x"}]}`, 400, "king"},
		{"/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`,
			400, "image_url"},
		{"/v1/chat/completions",
			`{"messages":[{"role":"user","content":"x"}],"tool_choice":"required"}`, 400,
			"without tools"},
		{"/v1/completions", `{"prompt":"` + strings.Repeat("a", 2<<20) + `"}`, 413, "larger than"},
		{"/v1/complete", `{}`, 404, "/v1/completions"},
		{"/detokenize", `{"tokens":[-4]}`, 400, "outside the vocabulary"},
		{"/llmsim/faults", `{"kind":"flood"}`, 400, "allowed: kill, slow, drop"},
	} {
		status, text := i.post(t, c.path, c.body)
		var r reply
		if err := json.Unmarshal([]byte(text), &r); err != nil || r.Error == nil {
			t.Errorf("%s %.60s: %s is not an error in OpenAI's shape", c.path, c.body, text)
			continue
		}
		if status != c.status || !strings.Contains(r.Error.Message, c.words) {
			t.Errorf("%s %.60s: found %d %s, want %d %s", c.path, c.body, status, r.Error.Message,
				c.status, c.words)
		}
	}
}

// A path that takes another method says which; a path that is not there does not.
func TestWrongMethods(t *testing.T) {
	i := open(t, small, nil)
	for _, c := range []struct{ method, path, allow string }{
		{"GET", "/v1/chat/completions", "POST"}, {"GET", "/tokenize", "POST"},
		{"DELETE", "/v1/models", "GET"}, {"POST", "/metrics", "GET"}, {"PUT", "/ping", "GET, POST"},
		{"GET", "/v1/complete", ""},
	} {
		r, err := http.NewRequest(c.method, i.URL+c.path, nil)
		testkit.OK(t, err)
		response, err := http.DefaultClient.Do(r)
		testkit.OK(t, err)
		response.Body.Close()
		want := http.StatusMethodNotAllowed
		if c.allow == "" {
			want = http.StatusNotFound
		}
		if allow := response.Header.Get("Allow"); response.StatusCode != want || allow != c.allow {
			t.Errorf("%s %s: found %d, allowed %q; want %d, %q", c.method, c.path,
				response.StatusCode, allow, want, c.allow)
		}
	}
}

// The rate of each tenant is limited by itself, and tenants of the scenario keep their numbers.
func TestTenantsHaveRatesOfTheirOwn(t *testing.T) {
	scenario := strings.Replace(small, "workload:",
		"fleet: {admission: {policy: rate-limit, rate: 0.001, burst: 2}}\nworkload:", 1)
	i := open(t, scenario, nil)
	for _, user := range []string{"ann", "bob", ""} {
		for n := range 3 {
			status, text := i.post(t, "/v1/completions",
				fmt.Sprintf(`{"prompt":"x","max_tokens":1,"user":%q}`, user))
			want := http.StatusOK
			if n == 2 {
				want = http.StatusTooManyRequests
			}
			if status != want {
				t.Errorf("request %d of %q: found %d, want %d: %s", n, user, status, want, text)
			}
		}
	}
	if n := newTenants([]string{"gold", "free"}); n.number("free") != 1 || n.number("x") != 2 ||
		n.number("") != 0 {
		t.Errorf("the tenants of a scenario have other numbers: %v", n)
	}
}

func TestKey(t *testing.T) {
	i := open(t, small, func(o *Options) { o.APIKey = "secret" })
	for _, c := range []struct {
		path, key string
		status    int
	}{{"/v1/models", "", 401}, {"/v1/models", "Bearer wrong", 401},
		{"/v1/models", "Bearer secret", 200}, {"/v1/models", "bearer secret", 200},
		{"/v1/models", "BEARER  secret", 200}, {"/v1/models", "secret", 401},
		{"/v1/models", "Basic secret", 401}, {"/health", "", 200}} {
		r, err := http.NewRequest(http.MethodGet, i.URL+c.path, nil)
		testkit.OK(t, err)
		r.Header.Set("Authorization", c.key)
		response, err := http.DefaultClient.Do(r)
		testkit.OK(t, err)
		response.Body.Close()
		if response.StatusCode != c.status {
			t.Errorf("%s with %q: found %d, want %d", c.path, c.key, response.StatusCode, c.status)
		}
	}
}

func TestTokenize(t *testing.T) {
	i := open(t, small, nil)
	_, text := i.post(t, "/tokenize", `{"prompt":"Hello, world"}`)
	var counted struct {
		Count   int
		Tokens  []int
		Context int `json:"max_model_len"`
	}
	if err := json.Unmarshal([]byte(text), &counted); err != nil ||
		counted.Count != len(counted.Tokens) || counted.Context != 4096 {
		t.Fatalf("%s: %v", text, err)
	}
	tokens, err := json.Marshal(counted.Tokens)
	testkit.OK(t, err)
	if _, back := i.post(t, "/detokenize", `{"tokens":`+string(tokens)+`}`); !strings.Contains(back,
		"Hello, world") {
		t.Errorf("found %s", back)
	}
}

// TestGoneClientsLeaveNothing starts long answers and closes the connections: the work is
// cancelled, the KV memory is free again, and no goroutine stays.
func TestGoneClientsLeaveNothing(t *testing.T) {
	i := open(t, small, func(o *Options) { o.Speed = 1 })
	before := runtime.NumGoroutine()
	for _, stream := range []string{"true", "false"} {
		for range 20 {
			ctx, cancel := context.WithCancel(t.Context())
			body := `{"prompt":"x","max_tokens":4000,"ignore_eos":true,"stream":` + stream + `}`
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, i.URL+"/v1/completions",
				strings.NewReader(body))
			testkit.OK(t, err)
			time.AfterFunc(50*time.Millisecond, cancel)
			if response, err := http.DefaultClient.Do(r); err == nil {
				io.Copy(io.Discard, response.Body)
				response.Body.Close()
			}
			cancel()
		}
	}
	i.awaitState(t, func() bool { return i.underWay.Load() == 0 && i.idle() })
	http.DefaultClient.CloseIdleConnections()
	i.awaitState(t, func() bool { return runtime.NumGoroutine() <= before+3 })
	if text := i.scrape(t); !strings.Contains(text,
		`vllm:num_requests_running{engine="0",model_name="llama-3.1-8b"} 0`) ||
		!strings.Contains(text, `finished_reason="abort",model_name="llama-3.1-8b"} 40`) ||
		!strings.Contains(text,
			`vllm:kv_cache_usage_perc{engine="0",model_name="llama-3.1-8b"} 0`) {
		t.Errorf("the metrics say otherwise:\n%s", text)
	}
}

// idle reports whether the fleet has no request and a sample has shown it.
func (i *instance) idle() bool {
	done := make(chan bool, 1)
	i.fleet.order(func(sim.Time) {
		done <- len(i.fleet.jobs) == 0 && len(i.fleet.ids) == 0 && len(i.fleet.pins.replica) == 0
	})
	return <-done
}

// awaitState waits until something is true.
func (i *instance) awaitState(t testing.TB, settled func() bool) {
	t.Helper()
	for range 500 {
		if settled() {
			time.Sleep(2 * housekeeping) // so that gauges are sampled
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("it did not settle in five seconds")
}

func (i *instance) scrape(t testing.TB) string {
	t.Helper()
	response, err := http.Get(i.URL + "/metrics")
	testkit.OK(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	testkit.OK(t, err)
	return string(text)
}

// TestDrain stops a service while an answer is under way: the answer is completed, new requests are
// refused, and the service ends.
func TestDrain(t *testing.T) {
	file, err := scenarios.Parse("test.yaml", []byte(small))
	testkit.OK(t, err)
	simulation, err := file.Build(policies.Default())
	testkit.OK(t, err)
	s, err := Open(Options{Simulation: simulation.Config(), Models: simulation.Models(),
		Lengths: []int{5}, Speed: 1, Dialect: telemetry.Dialects()[0]})
	testkit.OK(t, err)
	listeners, err := Listen("127.0.0.1:0", 1)
	testkit.OK(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, listeners) }()
	url := "http://" + listeners[1].Addr().String()
	response, err := http.Post(url+"/v1/completions", "application/json",
		strings.NewReader(`{"prompt":"x","max_tokens":100,"ignore_eos":true,"stream":true}`))
	testkit.OK(t, err)
	defer response.Body.Close()
	first := make([]byte, 10)
	if _, err := io.ReadFull(response.Body, first); err != nil {
		t.Fatal(err)
	}
	stop()
	for !s.refusing.Load() {
		time.Sleep(time.Millisecond)
	}
	refused, err := http.Post(url+"/v1/completions", "application/json",
		strings.NewReader(`{"prompt":"x"}`))
	if err != nil || refused.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new request gets %v, %v; want 503", refused, err)
	} else {
		refused.Body.Close()
	}
	rest, err := io.ReadAll(response.Body)
	if err != nil || !bytes.HasSuffix(rest, []byte("data: [DONE]\n\n")) ||
		bytes.Count(rest, []byte("data: ")) < 100 {
		t.Errorf("the answer was cut short: %v, %d events", err,
			bytes.Count(rest, []byte("data: ")))
	}
	if err := <-ended; err != nil {
		t.Errorf("the service ended with %v", err)
	}
	if _, err := http.Get(url + "/health"); err == nil {
		t.Error("the service still answers")
	}
}

// TestWhatIsRecordedReplays sends requests while the fleet is driven by the clock of the wall, and
// runs what was recorded through the scenario: every request has the same TTFT and E2E latency
// there, to the tick of the clock. So all that separates the wire from the simulation is what the
// wire takes.
func TestWhatIsRecordedReplays(t *testing.T) {
	scenario := strings.Replace(small, "workload:", "memory: prefix-cache\nworkload:", 1)
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	recorder, err := NewRecorder(path)
	testkit.OK(t, err)
	live := &lives{}
	i := open(t, scenario, func(o *Options) {
		o.Recorder, o.Speed, o.observer = recorder, 5, live
	})
	words := []string{"red ", "green ", "blue "}
	var group errgroup.Group
	group.SetLimit(12)
	for n := range 60 {
		group.Go(func() error {
			prompt := strings.Repeat(words[n%3], 50+n) // prompts of the same word share prefixes
			body := `{"prompt":%q,"max_tokens":%d,"ignore_eos":true}`
			first := i.ask(t, "/v1/completions", fmt.Sprintf(body, prompt, 5+n))
			if n%4 == 0 { // another turn, which repeats the answer
				prompt += first.Choices[0].Text + " and then"
				again := i.ask(t, "/v1/completions", fmt.Sprintf(body, prompt, 5))
				if n > 20 && again.Usage.Details.Cached < first.Usage.Prompt {
					t.Errorf("%d tokens are cached, want the prompt before, %d, and its answer",
						again.Usage.Details.Cached, first.Usage.Prompt)
				}
			}
			return nil
		})
	}
	testkit.OK(t, group.Wait())
	i.stop()
	testkit.OK(t, recorder.Close())
	first := live.all[0].arrival
	for _, l := range live.all {
		first = min(first, l.arrival)
	}
	replayed := &lives{}
	again, err := scenarios.Parse("test.yaml", []byte(scenario), "workload={trace: {file: "+path+
		"}}")
	testkit.OK(t, err)
	simulation, err := again.Build(policies.Default())
	testkit.OK(t, err)
	if _, err := simulation.Run(t.Context(), replayed); err != nil {
		t.Fatal(err)
	}
	for i := range live.all { // a record starts at its first request
		live.all[i].arrival -= first
	}
	if len(live.all) != 75 || !slices.Equal(live.all, replayed.all) {
		t.Errorf("live and replayed differ:\n%v\n%v", live.all, replayed.all)
	}
}

// lives is a sim.Observer that notes the times of requests, in the order in which they end.
type lives struct {
	sim.NopObserver
	all []life
}

type life struct{ arrival, ttft, e2e sim.Time }

// Finished implements sim.Observer.
func (s *lives) Finished(q *sim.Sequence) {
	s.all = append(s.all, life{q.Arrival, q.TTFT(), q.E2E()})
}
