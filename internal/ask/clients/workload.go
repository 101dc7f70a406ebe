package clients

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Arrive sets how requests arrive: at a rate, or else as many in flight, or else all at once.
func (l *Load) Arrive(rate float64, concurrency int) {
	for _, term := range []string{"rate", "concurrency", "pattern", "level", "burstiness"} {
		delete(l.Terms, term)
	}
	switch {
	case rate > 0:
		l.Terms["rate"] = strconv.FormatFloat(rate, 'f', -1, 64)
		l.Terms["pattern"] = "poisson"
	case concurrency > 0:
		l.Terms["concurrency"] = strconv.Itoa(concurrency)
	default:
		l.Terms["rate"] = "inf"
	}
}

// number returns a term as a number from a least one; 0 where it is not given.
func (l *Load) number(term string, least float64) (float64, error) {
	words, given := l.Terms[term]
	if !given {
		return 0, nil
	}
	v, err := strconv.ParseFloat(words, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < least || v > 1e9 {
		return 0, fmt.Errorf("%s: %s: found %q, want a number from %g to 1e9", l.Tool, term, words,
			least)
	}
	return v, nil
}

// Settings returns the load as overrides of a scenario, "workload.rate=4/s".
func (l *Load) Settings() ([]string, error) {
	if err := l.guide(); err != nil {
		return nil, err
	}
	list, err := l.arrivals()
	if err != nil {
		return nil, err
	}
	for _, side := range [][2]string{{"input", "prompt"}, {"output", "output"}} {
		words, err := l.length(side[0])
		if err != nil {
			return nil, err
		}
		if words != "" {
			list = append(list, "workload."+side[1]+"="+words)
		} else if side[0] == "input" && l.Tool != "--load" && l.Terms["dataset"] == "" {
			l.Notes = append(l.Notes, "the lengths of the prompts are not known: give input and "+
				"output with --load, or set workload.prompt and workload.output")
		}
	}
	for _, one := range []struct{ term, format string }{
		{"requests", "workload.requests=%.0f"}, {"duration", "workload.duration=%gs"},
		{"seed", "seed=%.0f"},
	} {
		if _, given := l.Terms[one.term]; given {
			n, err := l.number(one.term, 0)
			if err != nil {
				return nil, err
			}
			if n > 0 || one.term == "seed" {
				list = append(list, fmt.Sprintf(one.format, n))
			}
		}
	}
	prefix, err := l.number("prefix", 0)
	if err != nil {
		return nil, err
	}
	groups, err := l.number("groups", 0)
	if err != nil {
		return nil, err
	}
	if prefix >= 1 {
		list = append(list, fmt.Sprintf("workload.prefix={groups: %.0f, tokens: %.0f}",
			max(1, groups), prefix))
	}
	if strings.HasPrefix(l.Terms["dataset"], "random") {
		list = append(list, "workload.tokens=random")
	}
	return list, nil
}

// guide turns GuideLLM's data and profile into the other terms.
func (l *Load) guide() error {
	if data := l.Terms["data"]; data != "" {
		of := map[string]string{}
		var object map[string]any
		if json.Unmarshal([]byte(data), &object) == nil {
			for key, value := range object {
				of[key] = fmt.Sprint(value)
			}
		} else {
			for _, pair := range strings.Split(data, ",") {
				key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
				of[key] = value
			}
		}
		for key, term := range map[string]string{"prompt_tokens": "input",
			"output_tokens": "output", "prompt_tokens_stdev": "input-std",
			"output_tokens_stdev": "output-std", "generated_tokens": "output"} {
			if of[key] != "" {
				l.Terms[term] = of[key]
			}
		}
	}
	level, given := l.Terms["level"]
	switch pattern := l.Terms["pattern"]; {
	case l.Tool != "guidellm" || l.Terms["rate"] != "" || l.Terms["concurrency"] != "":
	case pattern == "synchronous":
		l.Terms["concurrency"] = "1"
	case pattern == "throughput":
		l.Terms["rate"] = "inf"
		l.fill(map[string]string{"concurrency": level})
	case pattern == "concurrent" && given:
		l.Terms["concurrency"] = level
	case (pattern == "constant" || pattern == "poisson" || pattern == "async") && given:
		l.Terms["rate"] = level
	default:
		l.Terms["concurrency"] = "1"
		l.Notes = append(l.Notes, "GuideLLM's sweep chooses its rates by what it measures: one "+
			"stream is simulated; give a rate with --load")
	}
	return nil
}

// arrivals returns how requests arrive.
func (l *Load) arrivals() ([]string, error) {
	concurrency, err := l.number("concurrency", 0)
	if err != nil {
		return nil, err
	}
	words := l.Terms["rate"]
	infinite := words == "" || strings.EqualFold(words, "inf") ||
		strings.EqualFold(words, "infinity") || words == "-1" && l.Tool != "--load"
	if infinite && concurrency >= 1 {
		return []string{fmt.Sprintf("workload.arrivals={process: closed-loop, users: %.0f, "+
			"start: together}", concurrency)}, nil
	}
	if infinite {
		return []string{"workload.arrivals=at-once"}, nil
	}
	rate, err := l.number("rate", 1e-6)
	if err != nil {
		return nil, err
	}
	list := []string{"workload.rate=" + strconv.FormatFloat(rate, 'f', -1, 64) + "/s"}
	shape, err := l.number("burstiness", 1e-4)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasPrefix(l.Terms["pattern"], "constant"):
		list = append(list, "workload.arrivals=constant")
	case shape > 0 && shape != 1:
		list = append(list, fmt.Sprintf("workload.arrivals={process: gamma, cv: %.4g}",
			1/math.Sqrt(shape)))
	}
	if concurrency >= 1 {
		l.Notes = append(l.Notes, fmt.Sprintf("at most %.0f requests in flight beside a rate: the "+
			"rate is simulated without that limit", concurrency))
	}
	return list, nil
}

// Mean returns the mean length of input or output that the load asks for; 0 where it does not.
func (l *Load) Mean(side string) float64 {
	mean, _ := l.number(side, 0)
	ratio, _ := l.number("ratio", 0)
	if _, given := l.Terms["ratio"]; given && l.ratio == "below" && ratio <= 1 {
		mean *= (1 + ratio) / 2
	}
	return mean
}

// length returns the distribution of input or output; empty where it is not given.
func (l *Load) length(side string) (string, error) {
	mean, err := l.number(side, 0)
	if err != nil || mean < 1 {
		return "", err
	}
	std, err := l.number(side+"-std", 0)
	if err != nil {
		return "", err
	}
	ratio, err := l.number("ratio", 0)
	if err != nil {
		return "", err
	}
	_, given := l.Terms["ratio"]
	low, high := mean, mean
	switch {
	case l.ratio == "below" && given:
		low = math.Floor(mean * ratio)
	case l.ratio == "around" && ratio > 0 && ratio < 1:
		low, high = math.Floor(mean*(1-ratio)), math.Ceil(mean*(1+ratio))
	}
	switch cv := l.Terms[side+"-cv"]; {
	case cv != "":
		return fmt.Sprintf("{distribution: lognormal, mean: %.4g, cv: %s}", mean, cv), nil
	case std > 0:
		return fmt.Sprintf("{distribution: normal, mean: %.6g, std: %.6g}", mean, std), nil
	case low < high:
		return fmt.Sprintf("{distribution: uniform, min: %.0f, max: %.0f}", max(1, low), high), nil
	}
	return fmt.Sprintf("%.0f", mean), nil
}
