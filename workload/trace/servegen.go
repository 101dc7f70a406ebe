package trace

import (
	"io"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/sim"
	"github.com/llmsim/llmsim/workload/arrivals"
)

// servegen draws requests from a table of clients: what production traffic is like by ServeGen
// (Xiang et al., arXiv:2505.09999), with one row a client. The same table always gives the same
// requests.
type servegen struct {
	clients []client
	random  *rand.Rand
}

// client is a source of requests. It sends in some of its windows and is silent in the others.
type client struct {
	// times are the times of requests without the silent windows.
	times *arrivals.Times
	next  sim.Time
	// windows is the number of windows, and active the number of those that are not silent.
	windows, active int
	key             uint64
	prompt, output  spread
}

// spread is a lognormal distribution of tokens, by its median and σ; the zero value is no window.
type spread struct{ median, sigma float64 }

func (s spread) draw(random *rand.Rand) int {
	tokens := math.Round(s.median * math.Exp(s.sigma*random.NormFloat64()))
	return int(max(1, min(tokens, longestDrawn)))
}

// Bounds of a table of clients, and the length of its windows.
const (
	maxClients     = 100_000
	longestDrawn   = 1 << 22 // tokens
	servegenWindow = 600 * sim.Second
)

func fitsServegen(head []byte) bool {
	return hasColumns(head, "rate_weighted_cv", "mean_rate_rps")
}

func newServegen(f *file, _ Options, _ *Counts) (decoder, error) {
	columns, _, err := readHeader(f, "servegen", nil)
	if err != nil {
		return nil, err
	}
	g := &servegen{random: rand.New(rand.NewPCG(0, 0))}
	for {
		line, err := f.next()
		switch {
		case err == io.EOF && len(g.clients) == 0:
			return nil, f.errorf("servegen: found no client with a rate and lengths of prompts " +
				"(input_tokens or text_tokens) and outputs")
		case err == io.EOF:
			return g, nil
		case err != nil:
			return nil, err
		case len(g.clients) == maxClients:
			return nil, f.errorf("servegen: found more than %d clients", maxClients)
		}
		fields, err := fieldsOf(f, line, nil, len(columns))
		if err == nil {
			err = g.add(f, columns, fields)
		}
		if err != nil {
			return nil, err
		}
	}
}

// add takes in a row. Clients without a rate or without lengths send nothing.
func (g *servegen) add(f *file, columns, fields [][]byte) error {
	var bad error
	number := func(name string, most float64) float64 {
		at := find(columns, name)
		if at < 0 || len(fields[at]) == 0 {
			return 0
		}
		x, err := strconv.ParseFloat(string(fields[at]), 64)
		if err != nil || !(x >= 0 && x <= most) {
			bad = f.errorf("%s: found %.80q, allowed: numbers from 0 to %g", name, fields[at], most)
		}
		return x
	}
	tokens := func(names ...string) spread {
		mean, median := 0.0, 0.0
		for _, name := range names {
			mean += number(name+"_tokens_mean", longestDrawn)
			median += number(name+"_tokens_p50", longestDrawn)
		}
		if mean == 0 {
			return spread{}
		}
		// The mean of a lognormal is its median times exp(σ²/2).
		median = max(min(median, mean), mean/1e3)
		return spread{median, math.Sqrt(2 * math.Log(mean/median))}
	}
	rate, cv := number("mean_rate_rps", 1e9), number("rate_weighted_cv", 100)
	windows := max(1, int(number("windows", 1e6)))
	active := int(number("active_windows", 1e6))
	if active == 0 {
		active = windows
	}
	if active > windows {
		bad = f.errorf("active_windows: found %d, allowed: at most the %d windows", active, windows)
	}
	prompt, output := tokens("input"), tokens("output")
	if prompt == (spread{}) { // multimodal: images count as tokens of the prompt
		prompt = tokens("text", "image", "video", "audio")
	}
	if bad != nil || rate == 0 || prompt == (spread{}) || output == (spread{}) {
		return bad
	}
	var gaps arrivals.Shape
	switch at := find(columns, "main_arrival"); {
	case cv == 0:
		gaps = arrivals.Exponential{}
	case at >= 0 && string(fields[at]) == "Weibull":
		gaps = arrivals.Weibull{CV: cv}
	default:
		gaps = arrivals.Gamma{CV: cv}
	}
	rate *= float64(windows) / float64(active) // which is the mean over all windows
	process := arrivals.Process{Rate: arrivals.Steady(rate), Gaps: gaps}
	n := uint64(len(g.clients))
	times, err := process.Times(rand.NewPCG(1, n), rand.NewPCG(2, n))
	if err != nil {
		return f.errorf("%v", err)
	}
	c := client{times: times, windows: windows, active: active, key: n, prompt: prompt,
		output: output}
	c.advance()
	g.clients = append(g.clients, c)
	return nil
}

// advance finds the client's next request. The table does not say which windows are silent; the
// windows are cut into equal parts, one for each active window, and each part has one active
// window, drawn at random.
func (c *client) advance() {
	t := c.times.Next()
	part := t / servegenWindow
	if part >= sim.Time(c.active) {
		c.next = sim.Never
		return
	}
	from := int(part) * c.windows / c.active
	choices := (int(part)+1)*c.windows/c.active - from
	drawn := content.Hash(content.Hash(c.key)+uint64(part)) % uint64(choices)
	c.next = sim.Time(from+int(drawn))*servegenWindow + t%servegenWindow
}

func (g *servegen) timed() bool { return true }

// decode draws the request that comes next of all clients.
func (g *servegen) decode(r *sim.Request) error {
	first := &g.clients[0]
	for i := range g.clients {
		if c := &g.clients[i]; c.next < first.next {
			first = c
		}
	}
	if first.next == sim.Never {
		return io.EOF
	}
	r.Arrival, r.Prompt, r.Output = first.next, first.prompt.draw(g.random),
		first.output.draw(g.random)
	first.advance()
	return nil
}
