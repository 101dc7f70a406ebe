package serve

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/llmsim/llmsim/internal/testkit"
	"github.com/llmsim/llmsim/sim"
)

// mutated returns a request that somebody may send by accident or not: one of the right ones, with
// bytes changed, cut, repeated or put in.
func mutated(rng *rand.Rand) string {
	right := []string{
		`{"prompt":"Hello","max_tokens":3,"stream":true,"stop":["a"],"n":2}`,
		`{"messages":[{"role":"user","content":"Hi"}],"max_tokens":3,"stream":true,"stream_options":{"include_usage":true}}`,
		`{"input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]}],"max_output_tokens":3,"stream":false}`,
		`{"messages":[{"role":"user","content":"Hi"}],"max_tokens":9,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{"a":{"anyOf":[{"type":"integer"},{"$ref":"#"}]}}}}}]}`,
		`{"tokens":[1,2,3]}`,
	}
	body := []byte(right[rng.IntN(len(right))])
	for range rng.IntN(4) {
		at := rng.IntN(len(body))
		switch rng.IntN(5) {
		case 0:
			body[at] = byte(rng.Uint32())
		case 1:
			body = body[:at+1]
		case 2:
			body = append(body[:at:at], strings.Repeat(string(body[at]), 1+rng.IntN(2000))...)
		case 3:
			body = append(body[:at:at], append([]byte(`"n":1e99,`), body[at:]...)...)
		case 4:
			body = append(body[:at:at], append([]byte("[[[{"), body[at:]...)...)
		}
	}
	return string(body)
}

// TestHostileClients sends requests that are wrong in every way, some of which go away before the
// end. None crashes the server, and afterwards it has no request, no memory in use and no goroutine
// more than before, and answers.
func TestHostileClients(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	i := open(t, small, func(o *Options) { o.Speed = 200 })
	i.ask(t, "/v1/completions", `{"prompt":"x","max_tokens":1}`)
	before := runtime.NumGoroutine()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		MaxIdleConnsPerHost: 16}}
	paths := []string{"/v1/completions", "/v1/chat/completions", "/v1/responses", "/tokenize",
		"/detokenize", "/llmsim/faults", "/v1/../../etc"}
	var group errgroup.Group
	for worker := range 8 {
		group.Go(func() error {
			rng := rand.New(rand.NewPCG(uint64(worker), 1))
			for range n / 8 {
				response, err := client.Post(i.URL+paths[rng.IntN(len(paths))], "application/json",
					strings.NewReader(mutated(rng)))
				if err != nil {
					return err
				}
				if rng.IntN(10) > 0 {
					io.Copy(io.Discard, response.Body)
				}
				response.Body.Close()
				if response.StatusCode >= 500 {
					return fmt.Errorf("the server answered %s", response.Status)
				}
			}
			return nil
		})
	}
	testkit.OK(t, group.Wait())
	client.CloseIdleConnections()
	i.awaitState(t, func() bool { return i.underWay.Load() == 0 && i.idle() })
	i.awaitState(t, func() bool { return runtime.NumGoroutine() <= before+3 })
	if text := i.scrape(t); !strings.Contains(text,
		`vllm:kv_cache_usage_perc{engine="0",model_name="llama-3.1-8b"} 0`+"\n") {
		t.Error("KV memory is in use although nothing runs")
	}
	i.ask(t, "/v1/completions", `{"prompt":"x","max_tokens":1}`)
}

// raw sends bytes on a connection of its own and returns what comes back until it is closed, or an
// error if it stays open for longer than patience.
func (i *instance) raw(text string, patience time.Duration) (string, error) {
	c, err := net.Dial("tcp", i.Server.Listener.Addr().String())
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c, text); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(bufio.NewReader(c))
	return string(answer), err
}

// TestSlowClients opens requests that never end: a head, and a body, of which nothing more comes.
// The server closes the connections when their time is over.
func TestSlowClients(t *testing.T) {
	i := open(t, small, nil)
	const head = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	var group errgroup.Group
	for _, text := range []string{"POST /v1/compl", head,
		head + "Content-Length: 100\r\n\r\n{\"prompt\":"} {
		group.Go(func() error {
			_, err := i.raw(text, 10*time.Second)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Errorf("a connection stayed open: %v", err)
	}
	i.ask(t, "/v1/completions", `{"prompt":"x","max_tokens":1}`)
}

// endless is a body without end.
type endless struct{ sent atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	e.sent.Add(int64(len(p)))
	return len(p), nil
}

// TestHugeBodies sends 100 MB: the server reads no more than its limit and says so.
func TestHugeBodies(t *testing.T) {
	i := open(t, small, nil)
	body := &endless{}
	response, err := http.Post(i.URL+"/v1/completions", "application/json",
		io.LimitReader(body, 100<<20))
	if err == nil {
		response.Body.Close()
		if response.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("found %s", response.Status)
		}
	}
	// What the kernel holds on its way comes on top.
	if sent := body.sent.Load(); sent > 32<<20 {
		t.Errorf("the server took %d bytes", sent)
	}
}

// TestFaults kills a replica and slows another: requests go on, and those under way at the first
// are lost with an error in the stream.
func TestFaults(t *testing.T) {
	i := open(t, strings.Replace(small, "workload:", "replicas: 2\nworkload:", 1),
		func(o *Options) { o.Speed = 1 })
	response, err := http.Post(i.URL+"/v1/completions", "application/json",
		strings.NewReader(`{"prompt":"x","max_tokens":3000,"ignore_eos":true,"stream":true}`))
	testkit.OK(t, err)
	defer response.Body.Close()
	if _, err := io.ReadFull(response.Body, make([]byte, 200)); err != nil {
		t.Fatal(err)
	}
	for _, fault := range []string{`{"kind":"kill","replica":0,"for":"1h"}`,
		`{"kind":"slow","replica":1,"factor":3}`} {
		if status, text := i.post(t, "/llmsim/faults", fault); status != http.StatusOK {
			t.Fatalf("%s: %s", fault, text)
		}
	}
	rest, err := io.ReadAll(response.Body)
	if err != nil || !strings.Contains(string(rest), "lost in a failure") {
		t.Errorf("the stream ended with %.300s, %v", rest[max(0, len(rest)-300):], err)
	}
	i.ask(t, "/v1/completions", `{"prompt":"x","max_tokens":3}`)
	i.post(t, "/llmsim/faults", `{"kind":"kill","replica":1}`)
	i.post(t, "/llmsim/faults", `{"kind":"kill","replica":0}`)
}

// Faults are listed while they last, and undone: a replica that was killed serves again.
func TestFaultsAreListedAndUndone(t *testing.T) {
	i := open(t, small, nil)
	faults := func(method string) string {
		r, err := http.NewRequest(method, i.URL+"/llmsim/faults", nil)
		testkit.OK(t, err)
		response, err := http.DefaultClient.Do(r)
		testkit.OK(t, err)
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		testkit.OK(t, err)
		return strings.TrimSpace(string(text))
	}
	for _, kind := range []string{"kill", "slow"} {
		if status, text := i.post(t, "/llmsim/faults",
			`{"kind":"`+kind+`","factor":2}`); status != 400 || !strings.Contains(text, "replica") {
			t.Errorf("%s without a replica: found %d %s", kind, status, text)
		}
	}
	const none = `{"faults":[]}`
	if found := faults("GET"); found != none {
		t.Fatalf("before any: %s", found)
	}
	for range 2 {
		i.post(t, "/llmsim/faults", `{"kind":"kill","replica":0,"for":"2h"}`)
		i.post(t, "/llmsim/faults", `{"kind":"slow","replica":0,"factor":3}`)
		want := `{"faults":[{"kind":"kill","replica":0,"for":"2h"},` +
			`{"kind":"slow","replica":0,"factor":3}]}`
		if found := faults("GET"); found != want {
			t.Errorf("found %s, want %s", found, want)
		}
		if i.fleet.Ready() {
			t.Error("the replica that was killed serves")
		}
		if found := faults("DELETE"); found != want {
			t.Errorf("undone: %s, want %s", found, want)
		}
		if found := faults("GET"); found != none {
			t.Errorf("after all are undone: %s", found)
		}
		i.ask(t, "/v1/completions", `{"prompt":"x","max_tokens":3}`)
	}
	i.post(t, "/llmsim/faults", `{"kind":"slow","replica":0,"factor":3,"for":"100ms"}`)
	eventually(t, "a fault that has ended is listed", func() bool { return faults("GET") == none })
}

// A second slow lasts as long as it says, also if the first one ends meanwhile.
func TestSlowIsReplaced(t *testing.T) {
	i := open(t, small, func(o *Options) { o.Speed = 1 })
	factor := func() float64 {
		found := make(chan float64, 1)
		i.fleet.order(func(sim.Time) { found <- i.fleet.slow[0].factor })
		return <-found
	}
	i.post(t, "/llmsim/faults", `{"kind":"slow","replica":0,"factor":3,"for":"30ms"}`)
	i.post(t, "/llmsim/faults", `{"kind":"slow","replica":0,"factor":5,"for":"1h"}`)
	time.Sleep(300 * time.Millisecond)
	if f := factor(); f != 5 {
		t.Errorf("after the end of the first, the factor is %v, want 5", f)
	}
	i.post(t, "/llmsim/faults", `{"kind":"slow","replica":0,"factor":4,"for":"100ms"}`)
	eventually(t, "the last one does not end", func() bool { return factor() == 1 })
}
