package ask

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/ask/clients"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/policies"
	"github.com/llmsim/llmsim/scenarios"
)

// mostRequests bounds a simulation: longer runs say the same, but where a queue grows.
const mostRequests = 2000

// loadOf returns the load of a run as settings: that of its command, with the lengths that were
// measured, or what the result says of it.
func (p *Paste) loadOf(i int, run *observed.Run) ([]string, error) {
	p.describe(run)
	m := &run.Load
	var l *clients.Load
	switch {
	case len(p.Loads) > 0:
		k := 0
		if len(p.Loads) == len(p.Runs) {
			k = i + max(0, len(p.Runs)-mostRuns)
		} else if len(p.Loads) > 1 {
			p.assume("%d loads and %d results: the first load is taken", len(p.Loads), len(p.Runs))
		}
		one := *p.Loads[k]
		one.Terms = maps.Clone(one.Terms)
		l = &one
		results := slices.DeleteFunc(slices.Clone(p.Runs), func(r observed.Run) bool {
			return len(r.Steps)+len(r.Intervals) > 0
		})
		if len(results) > len(p.Loads) && (m.Rate > 0 || m.Concurrency > 0) {
			l.Arrive(m.Rate, m.Concurrency) // a sweep's rows say what was sent
		}
	case m.Prompt > 0:
		l = &clients.Load{Tool: "the result", Terms: map[string]string{}}
		if l.Arrive(m.Rate, m.Concurrency); m.Rate+float64(m.Concurrency) == 0 {
			p.assume("all requests arrive at once, as load generators send them without a rate " +
				"or a concurrency; --load gives one, such as --load concurrency=64")
		}
		for side, spread := range map[string]float64{"input": m.Prompt * m.PromptSpread,
			"output": m.Output * m.OutputSpread} {
			if spread >= 1 {
				l.Terms[side+"-std"] = fmt.Sprintf("%.0f", spread)
			}
		}
		if m.Requests > 0 {
			l.Terms["requests"] = strconv.Itoa(m.Requests)
		}
	default:
		p.assume("one user, prompts of 1,000 tokens, answers of 200, as no load is given; --load " +
			"gives one, such as --load concurrency=64,input=1000,output=200")
		l = &clients.Load{Tool: "--load", Terms: map[string]string{"concurrency": "1",
			"input": "1000", "output": "200", "requests": "20"}}
	}
	for _, side := range []struct {
		term     string
		measured float64
	}{{"input", m.Prompt}, {"output", m.Output}} {
		asked := l.Mean(side.term)
		prefix, _ := strconv.ParseFloat(l.Terms["prefix"], 64)
		if side.term == "output" {
			prefix = 0
		}
		length := math.Round(side.measured - prefix)
		if length >= 1 && (asked == 0 || math.Abs(length/asked-1) > 0.1) {
			l.Terms[side.term] = fmt.Sprintf("%.0f", length)
			if asked > 0 && l.Terms[side.term+"-cv"] == "" {
				delete(l.Terms, "ratio")
				p.assume("the mean %s is %.0f tokens, as was measured, and not %.0f as asked for",
					side.term, length, asked)
			}
		}
	}
	settings, err := l.Settings()
	if err != nil {
		return nil, err
	}
	for _, note := range l.Notes {
		p.assume("%s", note)
	}
	if l.Terms["input"] == "" || l.Terms["output"] == "" {
		p.assume("lengths that the load does not say are those of a default scenario; --load " +
			"gives them, such as --load concurrency=64,input=1000,output=200")
	}
	if n, err := strconv.ParseFloat(l.Terms["requests"], 64); err == nil && n > mostRequests {
		settings = append(settings, fmt.Sprintf("workload.requests=%d", mostRequests))
		p.assume("%d of the %.0f requests are simulated", mostRequests, n)
	}
	return settings, nil
}

func (p *Paste) assume(format string, args ...any) {
	if words := fmt.Sprintf(format, args...); !slices.Contains(p.Assumed, words) {
		p.Assumed = append(p.Assumed, words)
	}
}

// answerTokens is the length of answers that is assumed where a log does not say it.
const answerTokens = 200

// describe gives a run that lists requests, steps or intervals their means.
func (p *Paste) describe(run *observed.Run) {
	guess := func(prompt, running float64) {
		run.Load = observed.Load{}
		if n := int(running + 0.5); len(p.Loads) == 0 && n > 0 {
			run.Load = observed.Load{Concurrency: n, Output: answerTokens, Prompt: max(1, prompt),
				Requests: max(20, 3*n)}
			p.assume("the log says no lengths: answers of %d tokens and prompts of %.0f are "+
				"assumed, %d at a time; --load gives them", answerTokens, run.Load.Prompt, n)
		}
	}
	if n := float64(len(run.Steps)); n > 0 {
		var decodes, context, seconds float64
		for i := range run.Steps {
			q := &run.Steps[i]
			decodes, context = decodes+float64(q.Decodes), context+float64(q.DecodeKV)
			seconds += q.Seconds
		}
		run.Summary.TPOT = seconds / n
		prompt := 1000.0 // where the log does not say how long contexts are
		if context > 0 {
			prompt = context/max(1, decodes) - answerTokens/2
		}
		guess(prompt, decodes/n)
	}
	if len(run.Intervals) > 0 {
		var prompts, outputs, seconds, flying, n float64
		for i := range run.Intervals {
			v := &run.Intervals[i]
			if v.OutputTokens == 0 {
				continue // idle, or prompts alone
			}
			prompts, outputs = prompts+v.PromptTokens, outputs+v.OutputTokens
			seconds, flying, n = seconds+v.Seconds, flying+v.Running+v.Waiting, n+1
			if v.TPOT > 0 {
				run.Summary.TTFT, run.Summary.TPOT, run.Summary.E2E = v.TTFT, v.TPOT, v.E2E
			}
		}
		run.Summary.OutputRate = outputs / max(1e-9, seconds)
		guess(answerTokens*prompts/max(1, outputs), flying/max(1, n))
	}
	if len(run.Requests) == 0 {
		return
	}
	run.Load = (&observed.Observed{Runs: []observed.Run{*run}}).Traffic()
	run.Load.Requests = len(run.Requests)
	var ttft, e2e, ttfts, e2es, tpot, tpots float64
	for i := range run.Requests {
		if q := &run.Requests[i]; q.TTFT > 0 {
			ttft, ttfts = ttft+q.TTFT, ttfts+1
		}
		if q := &run.Requests[i]; q.E2E > 0 {
			e2e, e2es = e2e+q.E2E, e2es+1
		}
		if each := run.Requests[i].TPOT(); each > 0 {
			tpot, tpots = tpot+each, tpots+1
		}
	}
	run.Summary.TTFT, run.Summary.E2E = ttft/max(1, ttfts), e2e/max(1, e2es)
	run.Summary.TPOT = tpot / max(1, tpots)
}

// poolsOf names the pools of a scenario, and notes the link between them.
func poolsOf(scenario *scenarios.Scenario, p *Paste) string {
	var words []string
	for _, pool := range scenario.Fleet.Pools {
		if pool.Role == "prefill" || pool.Role == "decode" {
			words = append(words, fmt.Sprintf("%s × %d", pool.Role, pool.Replicas))
		}
	}
	if len(words) == 0 {
		return ""
	}
	p.assume("the KV cache goes from prefill to decode over %s; --set fleet.transfer.link gives "+
		"another link", scenario.Fleet.Transfer.Link)
	return "; pools: " + strings.Join(words, ", ")
}

// refused answers for a server that does not start, as its memory does not hold what it was told to
// hold, and reports whether err says so.
func (a *Answer) refused(p *Paste, s *simulated, err error) bool {
	file, bad := s.load()
	if bad != nil {
		return false
	}
	server, bad := file.Server(policies.Default())
	if bad != nil || server.Plan.Err() == nil &&
		server.Plan.ContextTokens <= server.Plan.Longest() {
		return false
	}
	words := err.Error()
	if _, rest, found := strings.Cut(words, ": "); found && strings.HasPrefix(words, "--set ") {
		words = rest
	}
	a.Setup = fmt.Sprintf("%s, on %s", p.Server, cmp.Or(server.Accelerator.Title, p.GPU))
	a.Binds = []string{"The server does not start: " + words}
	a.Assumed = p.Reading.Notes
	for _, one := range []struct {
		name, title         string
		reported, predicted float64
	}{{"weights_gib", "weights a GPU, GiB", p.WeightBytes, server.Plan.Weights},
		{"kv_cache_gib", "KV cache a GPU, GiB", p.CacheBytes, max(0, server.Plan.KV)}} {
		if one.reported+one.predicted > 0 {
			a.Figures = append(a.Figures, Figure{Name: one.name, Title: one.title,
				Reported: one.reported / (1 << 30), Predicted: one.predicted / (1 << 30)})
		}
	}
	return true
}
