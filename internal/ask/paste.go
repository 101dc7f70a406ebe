// Package ask answers a pasted thread: it finds the server's command, the accelerators, the load
// and the measured figures in a text, simulates them, and says which figures fit the physics.
package ask

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/llmsim/llmsim/internal/ask/clients"
	"github.com/llmsim/llmsim/internal/launch"
	"github.com/llmsim/llmsim/internal/twin/formats"
	"github.com/llmsim/llmsim/internal/twin/observed"
	"github.com/llmsim/llmsim/models"
)

// Bounds of a thread. A long one has some hundred lines; a trace has a line for each request.
const (
	MostBytes = 4 << 20
	mostLines = 50_000
	mostLine  = 1 << 16
	mostRuns  = 3

	mostCommands = 100 // of servers, and of loads
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
	// WeightBytes are the bytes of weights that a GPU loaded.
	WeightBytes float64
	// OutOfMemory is above 0 where a line says that the engine ran out of memory.
	OutOfMemory float64
	// Prose are the lines that are neither commands nor results, and the commands.
	Prose string
	// Understood and Assumed are sentences.
	Understood, Assumed []string

	// Unread says which lines look like results and were not read.
	Unread []string

	// assigned are the lines of the thread that set variables, and given the variables of --var.
	assigned string
	given    map[string]string
	lines    []pasted
	measured observed.Server // what results say of it
	// lacks is what a prediction needs and neither the text nor an option gives.
	lacks []string
	forms
}

// pasted is a line of the text: as it was cleaned, and its number there, from 1.
type pasted struct {
	text   string
	number int
	// fence says that the line begins or ends a block of code, and read that something was taken of
	// the line.
	fence, read bool
}

// long reports whether a line can only be JSON.
func (l *pasted) long() bool { return len(l.text) > mostLine }

// text returns the lines.
func (p *Paste) text() string {
	var b strings.Builder
	for i := range p.lines {
		b.WriteString(p.lines[i].text + "\n")
	}
	return b.String()
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
	p.clean(text)
	blobs := p.blobs()
	manifest := p.manifest(regexp.MustCompile(`^(?:apiVersion|services):`),
		func(string) bool { return true })
	servers, loads, prose := p.commands()
	if n := max(len(servers), len(loads)); n > mostCommands {
		return nil, fmt.Errorf("the text has more than %d commands of servers or of load "+
			"generators: paste those of one thread", mostCommands)
	}
	if len(servers) == 0 && manifest == "" && o.Server == "" {
		manifest = p.manifest(regexp.MustCompile(`^[a-z][\w-]*:`), func(text string) bool {
			_, err := launch.Read(text)
			return err == nil
		})
	}
	p.results(blobs)
	if p.Server = o.Server; p.Server == "" && manifest == "" && len(servers) == 0 {
		p.named(&p.measured)
	}
	if err := p.server(servers, manifest, &o); err != nil {
		return nil, err
	}
	if err := p.load(loads, o.Load); err != nil {
		return nil, err
	}
	if err := p.accelerator(prose, o.GPU); err != nil {
		return nil, err
	}
	p.version(prose, o.Set)
	p.logged()
	p.unread()
	words := slices.Concat(servers, loads)
	for i := range p.lines {
		if !p.lines[i].read {
			words = append(words, p.lines[i].text)
		}
	}
	p.Prose = strings.Join(words, "\n")
	return p, p.missing()
}

// missing returns an error that asks for all that is missing at once, and says what was found.
func (p *Paste) missing() error {
	if len(p.lacks) == 0 {
		return nil
	}
	words := "the text lacks " + strings.Join(p.lacks, " and ")
	if len(p.Understood) > 0 {
		words += ". Read: " + strings.Join(p.Understood, "; ")
	}
	if len(p.Unread) > 0 {
		words += ". Not read: " + strings.Join(p.Unread[:min(len(p.Unread), mostItems)], "; ")
	}
	return errors.New(words)
}

// check refuses what is no thread.
func check(text string) error {
	switch {
	case len(text) > MostBytes:
		return fmt.Errorf("the text has more than %d MiB: paste the commands, the table and the "+
			"log lines alone, and read traces with llmsim twin observe", MostBytes>>20)
	case strings.HasPrefix(text, "\x1f\x8b"):
		return errors.New("the text is packed with gzip: unpack it, or read the file with llmsim " +
			"twin observe")
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

// results reads tables, logs, JSON and traces.
func (p *Paste) results(blobs [][]int) {
	var lines []string
	for i := range p.lines {
		line := p.lines[i].text
		if p.lines[i].read || p.lines[i].long() {
			line = ""
		}
		lines = append(lines, line)
	}
	for _, part := range formats.Parts(lines) {
		p.take(part.Format, part.Lines)
	}
	for _, blob := range blobs {
		p.take("", blob)
	}
	// The last run is the one that is doubted and helped: lines of logs say less than results.
	slices.SortStableFunc(p.Runs, func(a, b observed.Run) int {
		return cmp.Compare(min(1, len(b.Steps)+len(b.Intervals)),
			min(1, len(a.Steps)+len(a.Intervals)))
	})
}

// take reads lines of a format, or the lines of JSON.
func (p *Paste) take(format string, lines []int) {
	var text strings.Builder
	for _, i := range lines {
		text.WriteString(p.lines[i].text + "\n")
		p.lines[i].read = true
	}
	where := p.numbers(lines)
	o, err := formats.Parse("text", []byte(text.String()), formats.Options{Format: format})
	if err != nil {
		p.Unread = append(p.Unread, where+": "+strings.TrimPrefix(err.Error(), "text: "))
		return
	}
	for i := range o.Runs {
		if r := &o.Runs[i]; r.Name == "text" {
			r.Name = "result"
			if len(r.Steps)+len(r.Intervals) > 0 {
				r.Name = "log"
			}
		}
	}
	found := fmt.Sprintf("%s (%s)", o.Sources[0].Found, o.Sources[0].Format)
	p.Runs = append(p.Runs, o.Runs...)
	switch {
	case len(o.Runs) > 0:
		p.Understood = append(p.Understood, found)
	case o.Sources[0].Format == "metrics":
		p.Unread = append(p.Unread, where+": "+found+": counters say how fast a server is by "+
			"what they grow: read two pages, one later, with llmsim twin observe")
	default:
		p.Unread = append(p.Unread, strings.Join(append([]string{where + ": " + found +
			", from which no figure follows"}, o.Sources[0].Notes...), "; "))
	}
	for _, note := range o.Sources[0].Notes {
		if len(o.Runs) > 0 && len(o.Runs[0].Steps)+len(o.Runs[0].Intervals) == 0 {
			p.assume("%s", note) // those of logs are for a fit
		}
	}
	if p.CacheTokens == 0 {
		p.CacheTokens = float64(o.Server.CacheTokens)
	}
	if p.measured.Model == "" {
		p.measured = o.Server
	}
}

// named takes the server from a result that names its model.
func (p *Paste) named(s *observed.Server) {
	if s.Model == "" {
		return
	}
	if s.Engine == "llama.cpp" {
		p.gguf(s)
		return
	}
	command := map[string]string{"sglang": "sglang serve --model-path %s --tp-size %d",
		"trtllm": "trtllm-serve serve %s --tp_size %d"}[s.Engine]
	p.Server = fmt.Sprintf(cmp.Or(command, "vllm serve %s --tensor-parallel-size %d"), s.Model,
		max(1, s.Tensor))
	p.assume("no command starts the server: it is taken as %s, since a result names the model; "+
		"--server gives another", p.Server)
}

// gguf takes the server from llama-bench's table, which names the kind of a model, its size and
// format, and the number of its parameters.
func (p *Paste) gguf(s *observed.Server) {
	flags := map[string]string{}
	for _, pair := range strings.Split(s.Flags, ",") {
		key, value, _ := strings.Cut(pair, "=")
		flags[key] = value
	}
	number, unit, _ := strings.Cut(flags["params"], " ")
	params, _ := strconv.ParseFloat(number, 64)
	params *= map[string]float64{"B": 1e9, "M": 1e6}[unit]
	kind, rest, _ := strings.Cut(s.Model, " ")
	family := strings.TrimSuffix(strings.Map(func(r rune) rune {
		if r == '-' {
			return -1
		}
		return r
	}, strings.ToLower(kind)), "moe")
	catalog, err := models.Load()
	if err != nil || params == 0 {
		return
	}
	var found *models.Architecture
	for _, a := range catalog.All() {
		total := float64(a.Parameters().Total())
		same := strings.HasPrefix(strings.ReplaceAll(a.Name, "-", ""), family)
		if same && math.Abs(total/params-1) < 0.005 {
			found = a
		}
	}
	if found == nil {
		p.lacks = append(p.lacks, fmt.Sprintf("the published name of the model that llama-bench "+
			"calls %q, of %s parameters (--server 'llama-server -m NAME-8B.Q4_K_M.gguf')",
			s.Model, flags["params"]))
		return
	}
	format := regexp.MustCompile(`\b(?:I?Q\d\w*|BF16|F16|F32|MXFP4)\b`).FindString(rest)
	for words, letter := range map[string]string{"Medium": "_M", "Small": "_S", "Large": "_L"} {
		if strings.Contains(rest, "- "+words) {
			format += letter
		}
	}
	p.Server = "llama-server -m " + found.Name + "." + cmp.Or(format, "F16") + ".gguf"
	p.assume("the model %q with %s parameters is read as %s", s.Model, flags["params"], found.Name)
	if layers, err := strconv.Atoi(flags["ngl"]); err == nil && layers < found.Layers() {
		p.assume("%d of %d layers were on the GPU (ngl): all are simulated there", layers,
			found.Layers())
	}
}

// blobs returns the lines of the JSON values that begin a line; values on successive lines are one
// blob.
func (p *Paste) blobs() (list [][]int) {
	var data []byte
	var starts []int
	for i := range p.lines {
		starts = append(starts, len(data))
		data = append(append(data, p.lines[i].text...), '\n')
	}
	// Python writes Infinity and NaN, which JSON does not have: only ends are looked for here.
	for from, to := range map[string]string{"Infinity": "0       ", "NaN": "0  "} {
		data = bytes.ReplaceAll(data, []byte(from), []byte(to))
	}
	tries := 0
	for i := 0; i < len(p.lines) && tries < 200; i++ {
		line := strings.TrimSpace(p.lines[i].text)
		if line == "" || line[0] != '{' && line[0] != '[' {
			continue
		}
		tries++
		decoder := json.NewDecoder(bytes.NewReader(data[starts[i]:]))
		end := 0
		for {
			var value json.RawMessage
			if decoder.Decode(&value) != nil || value[0] != '{' && value[0] != '[' {
				break
			}
			end = starts[i] + int(decoder.InputOffset())
		}
		if end == 0 {
			continue
		}
		var blob []int
		for ; i < len(p.lines) && starts[i] < end; i++ {
			blob = append(blob, i)
			p.lines[i].read = true
		}
		i--
		list = append(list, blob)
	}
	return list
}

// logged finds the sizes of the KV cache and of the weights in lines of logs.
func (p *Paste) logged() {
	found := false
	for _, f := range []struct {
		form  string
		to    *float64
		scale float64
	}{
		{`GPU KV cache size: ([\d,]{1,20}) tokens`, &p.CacheTokens, 1},
		{`max_total_num_tokens=(\d{1,16})`, &p.CacheTokens, 1},
		{`KV Cache is allocated.*#tokens: (\d{1,16})`, &p.CacheTokens, 1},
		{`max tokens in paged KV cache \(?(\d{1,16})`, &p.CacheTokens, 1},
		{`Available KV cache memory: ([\d.]{1,12}) GiB`, &p.CacheBytes, 1 << 30},
		{`Model loading took ([\d.]{1,12}) Gi?B`, &p.WeightBytes, 1 << 30},
		{`Maximum concurrency for [\d,]+ tokens per request: ([\d.]{1,12})x`, new(float64), 1},
		{`(?:CUDA|HIP) out of memory. Tried to allocate ([\d.]+)`, &p.OutOfMemory, 1},
		{`Of the allocated memory ([\d.]+)`, new(float64), 1},
		{`the available KV cache memory \(([\d.]+)`, &p.OutOfMemory, 1},
	} {
		form := regexp.MustCompile(f.form)
		for i := range p.lines {
			if p.lines[i].long() {
				continue
			}
			m := form.FindStringSubmatch(p.lines[i].text)
			if m == nil {
				continue
			}
			p.lines[i].read = true
			found = true
			if v, _ := strconv.ParseFloat(strings.ReplaceAll(m[1], ",", ""), 64); *f.to == 0 {
				*f.to = v * f.scale
			}
		}
	}
	if !found {
		return
	}
	p.Understood = append(p.Understood, "what the engine logged of its memory")
}
