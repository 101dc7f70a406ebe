// Package clients reads the commands of load generators as the workload of a scenario: rates,
// concurrency, lengths, numbers of requests.
package clients

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/files"
	"github.com/llmsim/llmsim/internal/launch/commands"
	"github.com/llmsim/llmsim/internal/nearest"
)

//go:embed tools.yaml
var table []byte

// tool is a load generator.
type tool struct {
	Name string `yaml:"name"`
	// Starts are the words with which its commands begin.
	Starts []string `yaml:"starts"`
	// Defaults are the values of terms that a command does not give.
	Defaults map[string]string `yaml:"defaults"`
	// Ratio says what the term ratio does to a length n: around, from (1-ratio)·n to (1+ratio)·n;
	// or below, from ratio·n to n.
	Ratio string `yaml:"ratio"`
	// Options are the terms that flags set.
	Options map[string]string `yaml:"options"`
	// Abbreviates says that the tool takes the beginnings of its flags.
	Abbreviates bool `yaml:"abbreviates"`
	// Unread are the flags that shape the load in ways that are not simulated, with what to do.
	Unread map[string]string `yaml:"unread"`
}

// tools returns the table. It panics on a mistake in it, which is part of the program.
var tools = sync.OnceValue(func() (list []tool) {
	if err := files.DecodeYAML(table, &list); err != nil {
		panic(err)
	}
	return list
})

// Load is what load generators were told to send. Terms hold numbers and words as they are written:
// rate (requests a second, or inf), concurrency, burstiness (the shape of gamma gaps), pattern,
// level (of pattern), requests, duration (s), input, output, input-std, output-std, ratio, prefix
// and groups (a shared prefix), dataset, data (GuideLLM's), seed.
type Load struct {
	Tool  string
	Terms map[string]string
	// Notes are what the reading assumes, and which options it leaves out.
	Notes []string

	ratio string // of the tool
}

// match returns the tool that words start, and the words after its name; nil for another program.
func match(words []string) (*tool, []string) {
	list := tools()
	for at := range words {
		if at > 40 || strings.Contains(words[at], "\n") {
			break
		}
		for i := range list {
			for _, start := range list[i].Starts {
				want := strings.Fields(start)
				if len(words)-at < len(want) || path.Base(words[at]) != want[0] &&
					!strings.HasSuffix("/"+words[at], "/"+want[0]) || !slices.Equal(
					words[at+1:at+len(want)], want[1:]) {
					continue
				}
				rest := words[at+len(want):]
				if own := slices.Index(rest, "prepare-dataset"); own >= 0 &&
					list[i].Name == "trtllm-bench" { // whose options may stand before it
					return match(append([]string{want[0]}, rest[own:]...))
				}
				return &list[i], rest
			}
		}
	}
	return nil, nil
}

// Beside reads the load generator's command in a text that starts an engine, or in the file of that
// name, as overrides of a scenario; nothing where there is none. Of several loads it is the first.
func Beside(text string, given map[string]string) (settings, notes []string, err error) {
	if !strings.ContainsAny(text, " \n") {
		data, err := files.Read(files.Disk{}, text, commands.MostText)
		if err != nil {
			return nil, nil, nil // a folder, or what the reader of engines refuses
		}
		text = string(data)
	}
	found, err := commands.Read(text, given, Starts)
	if err != nil {
		return nil, nil, nil // a program, say, that the reader of engines takes
	}
	list, err := loads(found)
	if err != nil || len(list) == 0 {
		return nil, nil, err
	}
	settings, err = list[0].Settings()
	notes = append(notes, list[0].Notes...)
	if len(list) > 1 {
		notes = append(notes, fmt.Sprintf("the first of %d loads is taken", len(list)))
	}
	return settings, notes, err
}

// Names returns the words with which commands of load generators begin.
func Names() (list []string) {
	for _, t := range tools() {
		list = append(list, t.Starts...)
	}
	return list
}

// Starts reports whether words start a load generator.
func Starts(words []string) bool {
	t, _ := match(words)
	return t != nil
}

// Find reads all commands of load generators in a text for a shell, in their order. Commands that
// sweep are several loads, and a command that prepares a dataset belongs to the one after it.
// Variables have the given values, whatever the text sets them to.
func Find(text string, given map[string]string) ([]*Load, error) {
	found, err := commands.Read(text, given, Starts)
	if err != nil {
		return nil, err
	}
	return loads(found)
}

// loads reads the commands of load generators among others.
func loads(found *commands.Programs) ([]*Load, error) {
	var list []*Load
	var prepared *Load
	for _, c := range found.Commands {
		if !Starts(c.Words) {
			continue
		}
		l, err := read(c.Words)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(l.Tool, "prepare-dataset") {
			prepared = l
			continue
		}
		if prepared != nil {
			l.fill(prepared.Terms)
			prepared = nil
		}
		list = append(list, l.sweep()...)
	}
	if prepared != nil {
		prepared.fill(map[string]string{"rate": "inf"})
		list = append(list, prepared)
	}
	return list, nil
}

// Parse reads a command, or terms such as concurrency=64,input=1000,output=200.
func Parse(words string) (*Load, error) {
	if Starts(strings.Fields(words)) {
		list, err := Find(words, nil)
		if err == nil && len(list) == 0 {
			err = errors.New("found no load in the command")
		}
		if err != nil {
			return nil, err
		}
		return list[0], nil
	}
	l := &Load{Tool: "--load", Terms: map[string]string{"rate": "inf"}}
	known := []string{"rate", "concurrency", "input", "output", "requests", "input-std",
		"output-std", "prefix", "groups", "burstiness", "duration", "seed"}
	for _, pair := range strings.Split(words, ",") {
		key, value, found := strings.Cut(strings.TrimSpace(pair), "=")
		if !slices.Contains(known, key) || !found {
			return nil, errors.New(nearest.Unknown("term", key, known) +
				"; want a command of a load generator, or such as concurrency=64,input=1000," +
				"output=200")
		}
		l.Terms[key] = value
	}
	return l, nil
}

// fill sets the terms that the load does not have.
func (l *Load) fill(terms map[string]string) {
	for key, value := range terms {
		if _, given := l.Terms[key]; !given {
			l.Terms[key] = value
		}
	}
}

// read reads a command.
func read(words []string) (*Load, error) {
	t, rest := match(words)
	l := &Load{Tool: t.Name, Terms: map[string]string{}, ratio: t.Ratio}
	for i := 0; i < len(rest); i++ {
		flag, value, joined := strings.Cut(rest[i], "=")
		flag = strings.ReplaceAll(flag, "_", "-")
		flag = t.whole(flag)
		term, known := t.Options[flag]
		if why, unread := t.Unread[flag]; unread {
			return nil, fmt.Errorf("%s: %s is not read: %s", t.Name, flag, why)
		}
		if !known && !strings.HasPrefix(flag, "--") {
			continue
		}
		if !joined && i+1 < len(rest) && (known || !strings.HasPrefix(rest[i+1], "-")) {
			i++
			value = rest[i]
		}
		if !known {
			continue
		}
		if value == "" || commands.Closed(value) != nil {
			return nil, fmt.Errorf("%s: %s has no value that is known: replace its variable, "+
				"such as with --var NAME=8", t.Name, flag)
		}
		for ; !joined && i+1 < len(rest) && isCount(rest[i+1]); i++ {
			value += "," + rest[i+1]
		}
		l.Terms[term] = value
	}
	l.dataset(t)
	l.fill(t.Defaults)
	if name := l.Terms["dataset"]; !strings.HasPrefix(name, "random") {
		delete(l.Terms, "ratio")
	}
	if t.Name == "benchmark_serving.py" && l.Terms["ratio"] != "" {
		l.Notes = append(l.Notes, "random lengths are those of vLLM from 0.8.5 on, from "+
			"(1-ratio)·n to (1+ratio)·n: before, they are from ratio·n to n")
	}
	return l, nil
}

// whole returns the flag that another one abbreviates, as the argparse of vLLM's and SGLang's tools
// takes it: --random-input for --random-input-len. Any other flag is returned as it is.
func (t *tool) whole(flag string) string {
	const shortest = "--xxxx"
	if _, known := t.Options[flag]; known || len(flag) < len(shortest) || !t.Abbreviates {
		return flag
	}
	full := flag
	for name := range t.Options {
		if !strings.HasPrefix(name, flag) {
			continue
		}
		if full != flag {
			return flag // which argparse refuses
		}
		full = name
	}
	return full
}

// isCount reports whether a word is a whole number.
func isCount(word string) bool {
	_, err := strconv.Atoi(word)
	return err == nil
}

// dataset sets the lengths of datasets that say them.
func (l *Load) dataset(t *tool) {
	name := l.Terms["dataset"]
	if name == "" {
		name = t.Defaults["dataset"]
	}
	from := strings.ToLower(name + " " + l.Terms["dataset-path"])
	if strings.Contains(from, "sharegpt") && !strings.HasPrefix(name, "random") {
		name = "sharegpt" // or a file or a repository of it
	}
	switch name {
	case "sharegpt":
		l.Notes = append(l.Notes, "ShareGPT is taken as lognormal prompts of 217 tokens and "+
			"answers of 200 on average, as 1,000 of its conversations have in vLLM's benchmark")
		l.fill(map[string]string{"input": "217", "output": "200", "input-cv": "1.2",
			"output-cv": "1"})
	case "sonnet":
		l.fill(map[string]string{"input": "550", "output": "150", "prefix": "200"})
		input, _ := strconv.Atoi(l.Terms["input"])
		prefix, _ := strconv.Atoi(l.Terms["prefix"])
		l.Terms["input"] = strconv.Itoa(max(1, input-prefix)) // the prefix is part of it
	case "prefix_repetition":
		l.fill(map[string]string{"input": "256", "output": "128", "prefix": "256", "groups": "10"})
	case "generated-shared-prefix":
		l.fill(map[string]string{"input": "128", "output": "256", "prefix": "2048",
			"groups": "64", "per-group": "16"})
		groups, _ := strconv.Atoi(l.Terms["groups"])
		each, _ := strconv.Atoi(l.Terms["per-group"])
		l.Terms["requests"] = strconv.Itoa(groups * each)
	case "", "random", "random-ids":
	default:
		l.Notes = append(l.Notes, fmt.Sprintf("the lengths of dataset %s are not known: give "+
			"input and output with --load", name))
	}
}

// sweep returns the loads of a command that names several rates or numbers of streams.
func (l *Load) sweep() []*Load {
	for _, term := range []string{"level", "rate", "concurrency", "requests", "input", "output"} {
		values := strings.Split(strings.Trim(l.Terms[term], "[]"), ",")
		if len(values) < 2 {
			continue
		}
		var list []*Load
		for _, value := range values[:min(len(values), 20)] {
			one := &Load{Tool: l.Tool, Terms: map[string]string{}, Notes: l.Notes, ratio: l.ratio}
			one.fill(l.Terms)
			one.Terms[term] = strings.TrimSpace(value)
			for _, other := range []string{"input", "output"} { // of several sizes the first
				if other != term {
					one.first(other)
				}
			}
			list = append(list, one)
		}
		return list
	}
	return []*Load{l}
}

// first keeps the first of several values of a term, and says so.
func (l *Load) first(term string) {
	if first, _, several := strings.Cut(l.Terms[term], ","); several {
		l.Notes = append(slices.Clone(l.Notes), fmt.Sprintf("of the sizes %s of %s the first is "+
			"simulated", l.Terms[term], term))
		l.Terms[term] = first
	}
}

// perfConfig is the part of inference-perf's configuration that decides the load
// (kubernetes-sigs/inference-perf, config.yml and examples/vllm).
type perfConfig struct {
	Load struct {
		Type   string      `yaml:"type"`
		Stages []perfStage `yaml:"stages"`
		// Rest takes the keys that change no arrival.
		Rest map[string]any `yaml:",inline"`
	} `yaml:"load"`
	Data struct {
		Type   string         `yaml:"type"`
		Input  map[string]any `yaml:"input_distribution"`
		Output map[string]any `yaml:"output_distribution"`
		Shared map[string]any `yaml:"shared_prefix"`
		Rest   map[string]any `yaml:",inline"`
	} `yaml:"data"`
}

// perfStage is a stretch of the load: a rate for a time, or a number of requests in flight.
type perfStage struct {
	Rate        any            `yaml:"rate"`
	Duration    any            `yaml:"duration"`
	Requests    any            `yaml:"num_requests"`
	Concurrency any            `yaml:"concurrency_level"`
	Rest        map[string]any `yaml:",inline"`
}

// FindPerf reads the configuration of inference-perf in a text, a load for each stage; nothing
// without one.
func FindPerf(text string) ([]*Load, error) {
	var part strings.Builder
	inside := false
	for line := range strings.Lines(text) {
		words := strings.TrimSpace(line)
		if words != "" && strings.TrimLeft(line, " -\t") == line { // a key of the top
			inside = words == "load:" || words == "data:"
		}
		if inside {
			part.WriteString(line)
		}
	}
	if !strings.Contains(part.String(), "stages:") {
		return nil, nil
	}
	var c perfConfig
	if err := files.DecodeYAML([]byte(part.String()), &c); err != nil {
		return nil, fmt.Errorf("inference-perf's load and data: %w", err)
	}
	var list []*Load
	for _, s := range c.Load.Stages[:min(len(c.Load.Stages), 20)] {
		l := &Load{Tool: "inference-perf", Terms: map[string]string{"pattern": c.Load.Type}}
		for term, value := range map[string]any{"rate": s.Rate, "duration": s.Duration,
			"requests": s.Requests, "concurrency": s.Concurrency,
			"input": c.Data.Input["mean"], "output": c.Data.Output["mean"]} {
			l.take(term, value)
		}
		for term, of := range map[string]map[string]any{"input-std": c.Data.Input,
			"output-std": c.Data.Output} {
			l.take(term, of["std"])
			l.take(term, of["std_dev"])
		}
		for term, key := range map[string]string{"groups": "num_groups",
			"prefix": "system_prompt_len", "input": "question_len", "output": "output_len"} {
			l.take(term, c.Data.Shared[key])
		}
		if strings.EqualFold(c.Data.Type, "shareGPT") {
			l.Terms["dataset"] = "sharegpt"
			l.dataset(&tool{})
		}
		list = append(list, l)
	}
	return list, nil
}

// take sets a term to a number; a distribution in its place is left out.
func (l *Load) take(term string, value any) {
	switch value.(type) {
	case int, float64:
		l.Terms[term] = fmt.Sprint(value)
	}
}
