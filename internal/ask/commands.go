package ask

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/llmsim/llmsim/internal/ask/clients"
	"github.com/llmsim/llmsim/internal/launch"
)

// forms are what the parts of a thread look like.
type forms struct {
	// engine and generator begin commands, set assigns a variable, lead begins a line that is a
	// command as a whole, python comes before a module.
	engine, generator, set, lead, python *regexp.Regexp
	// count is a number of accelerators, word a word of a name, release an engine's version.
	count, word, release *regexp.Regexp
	// behind and before are a size beside an accelerator's name; the second part of behind is of a
	// size of something else.
	behind, before *regexp.Regexp
	// family is the beginning of an accelerator's name that its forms have in common: h100 of
	// h100-nvl, rtx-4090.
	family *regexp.Regexp
}

var newForms = sync.OnceValue(func() forms {
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
		behind: regexp.MustCompile(`(?i)^(?:[ ([_-]|(?:sxm\d?|pcie|nvl|hbm\d?e?)\b)*[ ([_-]` +
			`(\d{1,3}) ?Gi?B\b(/s?| +(?:of|host|ram|dram|free|kv|cache|system|cpu|swap|weights|` +
			`model|per)\b)?`),
		family: regexp.MustCompile(`^.*?\d[^-]*`),
		before: regexp.MustCompile(`(?i)(?:^|[^\w.])(\d{1,3}) ?Gi?B[ -]+(?:nvidia +)?$`),
		release: regexp.MustCompile(`(?i)\b(vllm|sglang|tensorrt-llm|trtllm)(?: version)?` +
			`[ =:,，@-]{1,4}v?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?(?:\.?(?:post|rc)\d{1,2})?)\b`),
	}
})

func (f *forms) isCommand(line string) bool {
	return f.engine.MatchString(line) || f.generator.MatchString(line)
}

// clean takes the lines of a text without quoting, prompts of shells, fences and colours. A command
// in backquotes is a line of its own.
func (p *Paste) clean(text string) {
	colours := regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]")
	quote := regexp.MustCompile(`^(?:> ?)+`)
	prompt := regexp.MustCompile(`^(?:\([\w.-]+\) *)?(?:[\w.@~:/-]*[$#%]|PS [^>]*>) +`)
	fence := regexp.MustCompile("^ *(?:```|~~~)[a-zA-Z]* *$")
	spans := regexp.MustCompile("`[^`]+`")
	stamped := regexp.MustCompile(`^(?:(?:\[[^\]]{1,60}\]|\(\S+ pid=\d+\)|(?:\d{4}-)?\d\d-\d\d(?:[T ]\S+)?|` +
		`\d\d:\d\d:\d\d\S*|(?:INFO|DEBUG|WARNING)\S*|[a-z][\w.]*:|-|\|) +)+`)
	row := regexp.MustCompile(`^(?:[=-]{3}.*[=-]{3} *$|={20}|` +
		`[A-Z][\w ()./%-]*: +(?:-?[\d.,]+|not set) *$)`)
	number := 0
	add := func(line string, fence bool) {
		p.lines = append(p.lines, pasted{text: line, number: number, fence: fence})
	}
	for line := range strings.Lines(text) {
		number++
		if len(line) > mostLine { // JSON
			add(strings.TrimSpace(line), false)
			continue
		}
		line = strings.TrimRight(colours.ReplaceAllString(line, ""), " \t\r\n")
		line = quote.ReplaceAllString(line, "")
		if bare := stamped.ReplaceAllString(line, ""); row.MatchString(bare) {
			line = bare // a row of a table, behind what a log writes before each line
		}
		if fence.MatchString(line) {
			add("", true)
			continue
		}
		for _, span := range spans.FindAllString(line, 20) {
			if command := strings.Trim(span, "`"); p.isCommand(command) {
				add(command, false)
				line = strings.Replace(line, span, "", 1)
			}
		}
		trimmed := strings.TrimLeft(line, " ")
		if bare := prompt.ReplaceAllString(trimmed, ""); bare != trimmed && p.isCommand(bare) {
			line = bare
		}
		add(line, false)
	}
}

// commands takes the commands that start engines and load generators, each in one line, and the
// lines of neither.
func (p *Paste) commands() (servers, loads, prose []string) {
	starts, sends := p.engine, p.generator
	var assigned []string
	for i := 0; i < len(p.lines); i++ {
		if p.lines[i].long() {
			continue
		}
		first := i
		line := strings.TrimSpace(p.lines[i].text)
		if p.lines[i].read {
			prose = append(prose, line)
			continue
		}
		parts := []string{strings.TrimSuffix(line, `\`)}
		for i+1 < len(p.lines) {
			next := strings.TrimSpace(p.lines[i+1].text)
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
				p.lines[i].read = true
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
		case isLoad && strings.Contains(words, " -"):
			loads = addNew(loads, words)
		case !isLoad && (len(strings.Fields(words)) > 2 || strings.Contains(words, "/")):
			servers = addNew(servers, words)
		default:
			continue
		}
		for k := first; k <= i; k++ {
			p.lines[k].read = true
		}
		if first == i { // words around the command are prose, and may have figures
			p.lines[i].text, p.lines[i].read = tail, strings.TrimSpace(tail) == ""
		}
	}
	p.assigned = strings.Join(assigned, "")
	return servers, loads, prose
}

// addNew appends a command that is not in the list, up to one more than are read.
func addNew(list []string, command string) []string {
	if len(list) > mostCommands || slices.Contains(list, command) {
		return list
	}
	return append(list, command)
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

// manifest returns the first manifest of the text: YAML up to the end of its fence, or to a line at
// the left that is no key.
func (p *Paste) manifest(begins *regexp.Regexp, reads func(text string) bool) string {
	inside := regexp.MustCompile(`^(?:\s|[a-z][\w./-]*:(?: |$)|- |---|#|$)`)
	tries := 0
	for i := range p.lines {
		before := i == 0 || strings.TrimSpace(p.lines[i-1].text) == ""
		if p.lines[i].read || !before || !begins.MatchString(p.lines[i].text) {
			continue
		}
		end := i
		var words strings.Builder
		for end < len(p.lines) && !p.lines[end].fence && !p.lines[end].read &&
			inside.MatchString(p.lines[end].text) {
			words.WriteString(p.lines[end].text + "\n")
			end++
		}
		if tries++; tries > 20 {
			return ""
		}
		if text := words.String(); end > i+1 && reads(text) {
			for k := i; k < end; k++ {
				p.lines[k].read = true
			}
			return text
		}
	}
	return ""
}

// server reads the command that starts the engine, the one that is given before those of the text.
// Of several commands, the reader of start commands says whether they are pools of one fleet.
func (p *Paste) server(found []string, manifest string, o *Options) error {
	switch {
	case o.Server != "":
		p.Server = o.Server
	case manifest != "":
		p.Server = manifest
	case len(found) > 0:
		p.Server = strings.Join(found, "\n")
	}
	if p.Server == "" && len(p.lacks) > 0 {
		return nil // the model is asked for
	}
	if p.Server == "" {
		p.lacks = append(p.lacks, "the command that starts the server (--server 'vllm serve MODEL "+
			"--tensor-parallel-size 2')")
		return nil
	}
	reading, err := launch.ReadFileOrText(p.assigned+p.Server, p.given, o.Set...)
	if err != nil && len(found) > 1 && o.Server == "" {
		return fmt.Errorf("the text has %d commands that start servers: %w; --server gives the "+
			"one that was measured", len(found), err)
	}
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
	list, err := clients.FindPerf(p.text())
	p.Loads = append(p.Loads, list...)
	return err
}
