// Package ask answers a pasted thread: it finds the server's command, the accelerators, the load
// and the measured figures in a text, simulates them, and says which figures fit the physics.
package ask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/llmsim/llmsim/hardware"
	"github.com/llmsim/llmsim/internal/ask/clients"
	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
)

// Bounds of a thread. A long one has some hundred lines; a trace has a line for each request.
const (
	MostBytes = 4 << 20
	mostLines = 50_000
	mostLine  = 1 << 16
	mostRuns  = 3

	mostAssigned = 200 // variables, and the lines of a command
)

// Options give what a thread does not say.
type Options struct {
	// Server is a command that starts an engine, GPU an accelerator, Load a load generator's
	// command or terms of it.
	Server, GPU, Load string
	// Vars are values of the commands' variables, "TP=8", and Set overrides of the scenario.
	Vars, Set []string
}

// Paste is what was found in a thread.
type Paste struct {
	Server  string
	Reading *launch.Reading
	GPU     string
	Loads   []*clients.Load
	Runs    []observed.Run
	// CacheTokens and CacheBytes are the size of the KV cache that the engine logged.
	CacheTokens float64
	CacheBytes  float64
	// Understood and Assumed are sentences.
	Understood, Assumed []string

	// assigned are the lines of the thread that set variables, and given the variables of --var.
	assigned string
	given    map[string]string
	text     string
	forms
}

// forms are what the parts of a thread look like.
type forms struct {
	// engine and generator begin commands, set assigns a variable, lead begins a line that is a
	// command as a whole, python comes before a module.
	engine, generator, set, lead, python *regexp.Regexp
	// count is a number of accelerators, word a word of a name.
	count, word *regexp.Regexp
}

func newForms() forms {
	var list []string
	for _, start := range clients.Names() {
		list = append(list, strings.ReplaceAll(regexp.QuoteMeta(start), " ", " +"))
	}
	return forms{
		engine: regexp.MustCompile(`\bvllm serve\b|\bvllm\.entrypoints\.\S*api_server\b|` +
			`\bsglang\.launch_server\b|\bsglang serve\b|\btrtllm-serve\b|` +
			`\bvllm/vllm-openai\S*|\blmsysorg/sglang\S*`),
		generator: regexp.MustCompile(`(?:^|[\s/])(?:` + strings.Join(list, "|") + `)(?:\s|$)`),
		set:       regexp.MustCompile(`^(?:export +)?[A-Za-z_]\w*=\S*$`),
		lead: regexp.MustCompile(`^(?:[A-Za-z_]\w*=\S*|sudo|docker|podman|nohup|exec|srun|` +
			`numactl|python3?|uv|time|env|bash|/\S*)(?: |$)`),
		python: regexp.MustCompile(`\bpython3? (?:-m )?\S*$`),
		count:  regexp.MustCompile(`\b\d{1,4} ?[x×*] ?`),
		word:   regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9-]*`),
	}
}

func (f *forms) isCommand(line string) bool {
	return f.engine.MatchString(line) || f.generator.MatchString(line)
}

// Read finds what a thread says.
func Read(text string, o Options) (*Paste, error) {
	if err := check(text); err != nil {
		return nil, err
	}
	p := &Paste{forms: newForms()}
	var err error
	if p.given, err = launch.Variables(o.Vars); err != nil {
		return nil, fmt.Errorf("--var: %w", err)
	}
	lines := p.clean(text)
	p.text = strings.Join(lines, "\n")
	servers, loads, prose := p.commands(lines)
	if err := p.results(text); err != nil {
		return nil, err
	}
	if err := p.server(servers, o.Server); err != nil {
		return nil, err
	}
	if err := p.load(loads, o.Load); err != nil {
		return nil, err
	}
	if err := p.accelerator(prose, o.GPU); err != nil {
		return nil, err
	}
	p.logged()
	return p, nil
}

// check refuses what is no thread.
func check(text string) error {
	switch {
	case len(text) > MostBytes:
		return fmt.Errorf("the text has more than %d MiB: paste the commands, the table and the "+
			"log lines alone, and read traces with llmsim twin observe", MostBytes>>20)
	case strings.IndexByte(text, 0) >= 0:
		return fmt.Errorf("the text has a NUL byte at %d: it is binary; want text",
			strings.IndexByte(text, 0))
	case !utf8.ValidString(text):
		return errors.New("the text is not UTF-8: it is binary or in another encoding")
	case strings.Count(text, "\n") > mostLines:
		return fmt.Errorf("the text has more than %d lines", mostLines)
	case strings.TrimSpace(text) == "":
		return errors.New("the text is empty: paste a command that starts a server, its GPU, its " +
			"load and what was measured, as far as you have them")
	}
	for line := range strings.Lines(text) {
		if len(line) > mostLine && !strings.HasPrefix(strings.TrimSpace(line), "{") &&
			!strings.HasPrefix(strings.TrimSpace(line), "[") {
			return fmt.Errorf("a line has %d bytes, more than %d", len(line), mostLine)
		}
	}
	return nil
}

// clean returns the lines without quoting, prompts of shells, fences and colours.
func (f *forms) clean(text string) []string {
	colours := regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	quote := regexp.MustCompile(`^(?:> ?)+`)
	prompt := regexp.MustCompile(`^(?:\([\w.-]+\) *)?(?:[\w.@~:/-]*[$#%]|PS [^>]*>) +`)
	fence := regexp.MustCompile("^ *(?:```|~~~)[a-zA-Z]* *$")
	spans := regexp.MustCompile("`[^`]+`")
	var list []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(colours.ReplaceAllString(line, ""), " \t\r\n")
		line = quote.ReplaceAllString(line, "")
		if fence.MatchString(line) {
			line = ""
		}
		for _, span := range spans.FindAllString(line, 20) {
			if command := strings.Trim(span, "`"); f.isCommand(command) {
				list = append(list, command)
				line = strings.Replace(line, span, "", 1)
			}
		}
		trimmed := strings.TrimLeft(line, " ")
		if bare := prompt.ReplaceAllString(trimmed, ""); bare != trimmed && f.isCommand(bare) {
			line = bare
		}
		list = append(list, line)
	}
	return list
}

// commands returns the commands that start engines and load generators, each in one line, and the
// lines of neither.
func (p *Paste) commands(lines []string) (servers, loads, prose []string) {
	starts, sends := p.engine, p.generator
	var assigned []string
	for i := 0; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		parts := []string{strings.TrimSuffix(line, `\`)}
		for i+1 < len(lines) {
			next := strings.TrimSpace(lines[i+1])
			goesOn := strings.HasSuffix(line, `\`) ||
				strings.HasPrefix(next, "--") && p.isCommand(strings.Join(parts, " "))
			if !goesOn || next == "" || len(parts) > mostAssigned {
				break
			}
			i++
			line = next
			parts = append(parts, strings.TrimSuffix(next, `\`))
		}
		line = strings.Join(parts, " ")
		isLoad := sends.MatchString(line)
		if !isLoad && !starts.MatchString(line) || isLoad && !strings.Contains(line, " -") {
			if p.set.MatchString(line) && len(assigned) < mostAssigned {
				assigned = append(assigned, line+"\n")
			}
			prose = append(prose, line)
			continue
		}
		form := starts
		if isLoad {
			form = sends
		}
		words, tail := p.bare(line, form)
		prose = append(prose, tail)
		switch {
		case isLoad && strings.Contains(words, "--"):
			loads = append(loads, words)
		case !isLoad && (len(strings.Fields(words)) > 2 || strings.Contains(words, "/")):
			servers = append(servers, words)
		}
	}
	p.assigned = strings.Join(assigned, "")
	return servers, loads, prose
}

// bare takes a command out of the sentence around it, and returns the rest.
func (f *forms) bare(line string, form *regexp.Regexp) (command, rest string) {
	at := form.FindStringIndex(line)
	begin := at[0]
	for begin < at[1] && strings.ContainsAny(line[begin:begin+1], " /\t") {
		begin++
	}
	whole := begin == 0 || f.lead.MatchString(line)
	if whole {
		begin = 0
	} else if python := f.python.FindStringIndex(line[:begin]); python != nil {
		begin = python[0]
	}
	command = line[begin:]
	for _, at := range wordsOf(command)[1:] {
		word := command[at[0]:at[1]]
		before := strings.Fields(command[:at[0]])
		value := strings.HasPrefix(before[len(before)-1], "-") // of the flag before it: -fa on
		stop := !value && slices.Contains([]string{"on", "and", "with", "but", "for", "then", "in",
			"at", "which", "gives", "from", "--", "-", "–", "—", "=>", "->"}, word)
		if stop || strings.HasPrefix(word, "#") || strings.HasPrefix(word, "(") {
			return strings.TrimSpace(command[:at[0]]), line[:begin] + " " + command[at[0]:]
		}
		ends := ",.;:)"
		if whole {
			ends = ","
		}
		if trimmed := strings.TrimRight(word, ends); trimmed != word {
			return command[:at[0]+len(trimmed)], line[:begin] + " " + command[at[1]:]
		}
	}
	if whole {
		return command, ""
	}
	return command, line[:begin]
}

// wordsOf returns where the words of a command begin and end; a blank within quotes ends no word.
func wordsOf(command string) (list [][2]int) {
	quote, begin := byte(0), -1
	for i := 0; i < len(command); i++ {
		switch c := command[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == ' ' || c == '\t':
			if begin >= 0 {
				list = append(list, [2]int{begin, i})
			}
			begin = -1
			continue
		case c == '\'' || c == '"':
			quote = c
		}
		if begin < 0 {
			begin = i
		}
	}
	if begin >= 0 {
		list = append(list, [2]int{begin, len(command)})
	}
	return list
}

// server reads the command that starts the engine, the one that is given before those of the text.
func (p *Paste) server(found []string, given string) error {
	manifest := regexp.MustCompile(`(?m)^(?:apiVersion|services):`)
	switch {
	case given != "":
		p.Server = given
	case manifest.MatchString(p.text):
		p.Server = p.text[manifest.FindStringIndex(p.text)[0]:]
	case len(found) > 0:
		p.Server = found[0]
		found = slices.Compact(slices.Clone(found))
		if len(found) > 1 {
			p.Assumed = append(p.Assumed, fmt.Sprintf("the first of %d server commands is "+
				"answered; --server gives another", len(found)))
		}
	case p.Server == "":
		return errors.New("found no command that starts a server, and no result that names a " +
			"model: give one with --server, such as --server 'vllm serve MODEL " +
			"--tensor-parallel-size 2'")
	}
	reading, err := launch.ReadFileOrText(p.assigned+p.Server, p.given)
	if err != nil {
		return fmt.Errorf("the server's command: %w", err)
	}
	p.Reading = reading
	return nil
}

// load reads the commands of load generators, or the load that is given.
func (p *Paste) load(found []string, given string) error {
	if given != "" {
		l, err := clients.Parse(given)
		if err != nil {
			return fmt.Errorf("--load: %w", err)
		}
		p.Loads = []*clients.Load{l}
		return nil
	}
	for _, command := range found {
		list, err := clients.Find(p.assigned+command, p.given)
		if err != nil {
			return fmt.Errorf("the load generator's command: %w", err)
		}
		p.Loads = append(p.Loads, list...)
	}
	list, err := clients.FindPerf(p.text)
	p.Loads = append(p.Loads, list...)
	return err
}

// results reads tables, logs, JSON and traces.
func (p *Paste) results(original string) error {
	take := func(format, text string) error {
		o, err := formats.Parse("the text", []byte(text), formats.Options{Format: format})
		if err != nil {
			return err
		}
		p.Runs = append(p.Runs, o.Runs...)
		if s := o.Server; p.Server == "" && s.Model != "" {
			command := map[string]string{"sglang": "sglang serve --model-path",
				"trtllm": "trtllm-serve serve"}[s.Engine]
			flag := map[string]string{"sglang": "--tp-size", "trtllm": "--tp_size"}[s.Engine]
			if command == "" {
				command, flag = "vllm serve", "--tensor-parallel-size"
			}
			p.Server = fmt.Sprintf("%s %s %s %d", command, s.Model, flag, max(1, s.Tensor))
		}
		p.Understood = append(p.Understood, o.Sources[0].Format+": "+o.Sources[0].Found)
		return nil
	}
	for _, f := range []struct{ format, word, also string }{
		{"printed-table", "Serving Benchmark Result", ""},
		{"llama-bench", "t/s", "| "}, {"sglang-decode-log", "Decode batch", "gen throughput"},
	} {
		if !strings.Contains(p.text, f.word) || !strings.Contains(p.text, f.also) {
			continue
		}
		if err := take(f.format, p.text); err != nil {
			return err
		}
	}
	for _, blob := range blobs(p.text) {
		if err := take("", blob); err != nil && !strings.Contains(err.Error(), "no known format") {
			return err
		}
	}
	if len(p.Runs) == 0 && strings.Contains(original, "completionTokens") {
		return take("langfuse", original[strings.Index(original, "id,"):])
	}
	return nil
}

// blobs returns the JSON values that begin a line; values on successive lines are one blob.
func blobs(text string) (list []string) {
	data := []byte(text)
	tries := 0
	for at := 0; at < len(data) && tries < 200; {
		end := len(data)
		if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		if c := data[at]; c != '{' && c != '[' {
			at = end
			continue
		}
		tries++
		decoder := json.NewDecoder(bytes.NewReader(data[at:]))
		done := int64(0)
		for {
			var value json.RawMessage
			if decoder.Decode(&value) != nil || value[0] != '{' && value[0] != '[' {
				break
			}
			done = decoder.InputOffset()
		}
		if done == 0 {
			at = end
			continue
		}
		list = append(list, string(data[at:at+int(done)]))
		at += int(done)
	}
	return list
}

// accelerator finds the accelerators that the text names.
func (p *Paste) accelerator(prose []string, given string) error {
	if slices.ContainsFunc(p.Reading.Settings, func(s string) bool {
		return strings.HasPrefix(s, "hardware=") || strings.HasPrefix(s, "hardware.accelerator=")
	}) && given == "" {
		return nil
	}
	catalog, err := hardware.Load()
	if err != nil {
		return err
	}
	if given != "" {
		a, err := catalog.Accelerator(given)
		p.GPU = a.Name
		return err
	}
	byName, names := map[string]string{}, map[string]int{}
	for i := range catalog.Accelerators {
		a := &catalog.Accelerators[i]
		for _, name := range append(a.Aliases[:len(a.Aliases):len(a.Aliases)], a.Name) {
			if a.Kind != "cpu" {
				byName[name] = a.Name
			}
		}
	}
	for _, line := range prose {
		for name := range p.named(byName, line) {
			names[name]++
		}
	}
	if len(names) == 0 {
		return errors.New("found no accelerator: name it with --gpu, such as --gpu h100-sxm " +
			"(llmsim list hardware)")
	}
	list := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		if names[a] != names[b] {
			return names[b] - names[a]
		}
		return strings.Compare(a, b)
	})
	p.GPU = list[0]
	if len(list) > 1 {
		p.Assumed = append(p.Assumed, fmt.Sprintf("of the accelerators %s, the server runs on %s; "+
			"--gpu names another", strings.Join(list, ", "), list[0]))
	}
	return nil
}

// named returns the accelerators of a line, given their names by all names.
func (f *forms) named(names map[string]string, line string) map[string]bool {
	found := map[string]bool{}
	words := f.word.FindAllString(f.count.ReplaceAllString(line, " "), 400)
	for i := 0; i < len(words); i++ {
		for n := min(4, len(words)-i); n > 0; n-- {
			name := strings.ToLower(strings.Join(words[i:i+n], "-"))
			short := len(name) <= 4 && (words[i] != strings.ToUpper(words[i]) ||
				strings.Trim(name, "0123456789") == "")
			if called := names[name]; called != "" && !short {
				found[called] = true
				i += n - 1
				break
			}
		}
	}
	return found
}

// logged finds the size of the KV cache in lines of logs.
func (p *Paste) logged() {
	for _, f := range []struct {
		form  string
		to    *float64
		scale float64
	}{
		{`GPU KV cache size: ([\d,]{1,20}) tokens`, &p.CacheTokens, 1},
		{`max_total_num_tokens=(\d{1,16})`, &p.CacheTokens, 1},
		{`Available KV cache memory: ([\d.]{1,12}) GiB`, &p.CacheBytes, 1 << 30},
	} {
		if m := regexp.MustCompile(f.form).FindStringSubmatch(p.text); m != nil && *f.to == 0 {
			v, _ := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64)
			*f.to = v * f.scale
		}
	}
}
