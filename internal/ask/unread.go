package ask

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
)

// numbers says which lines of the text some lines are, in at most four stretches.
func (p *Paste) numbers(lines []int) string {
	var words []string
	for i := 0; i < len(lines); {
		k := i
		for k+1 < len(lines) && p.lines[lines[k+1]].number <= p.lines[lines[k]].number+1 {
			k++
		}
		first, last := p.lines[lines[i]].number, p.lines[lines[k]].number
		switch {
		case len(words) == 4:
			return "lines " + strings.Join(words, ", ") + " and more"
		case first == last:
			words = append(words, fmt.Sprint(first))
		default:
			words = append(words, fmt.Sprintf("%d–%d", first, last))
		}
		i = k + 1
	}
	if len(words) == 1 && !strings.Contains(words[0], "–") {
		return "line " + words[0]
	}
	return "lines " + strings.Join(words, ", ")
}

// figureForms match lines that look like results: a value with a unit behind its name, a speed or a
// latency in a line of a log, a row of a table or of CSV with numbers, or JSON.
var figureForms = sync.OnceValue(func() []*regexp.Regexp {
	const number = `[0-9][0-9.,]*`
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)^\W*[a-z][^:=]{0,60}[:=]\s*` + number +
			` ?(?:m?s|us|(?:tok|token|req)s?/s|tokens|tps|t/s|GiB|GB|MiB|MB|%|W)\b`),
		regexp.MustCompile(`(?i)^\W*(?:[a-z0-9 ()]{0,30} )?` +
			`(?:ttft|tpot|itl|e2el?|latency|throughput)\b[^:=]{0,30}[:=]\s*` + number),
		regexp.MustCompile(`\d\d:\d\d:\d\d.*\b` + number + ` ?(?:[#:=,]|m?s\b|tokens|GiB)`),
		regexp.MustCompile(`[|│┃].*\b` + number + `\b.*[|│┃].*\b` + number + `\b`),
		regexp.MustCompile(`^[^{ ]*[^{]*` + number + `[,\t] *(?:[^,\t]{0,40}[,\t] *)+` + number +
			`\s*$`),
		regexp.MustCompile(`^\s*[{\[]\s*["{\[0-9'].*[0-9]`),
	}
})

// speedForm matches a figure in a sentence.
func speedForm() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b\d[\d.,]*k? ?(?:tok(?:en)?s?|t|req(?:uest)?s?)` +
		`(?:/| per | an? )(?:s|sec|second|min|minute)\b|\b(?:ttft|tpot|itl|latency)\b[^.]{0,40}\b\d[\d.,]* ?m?s\b`)
}

// unread lists the paragraphs that look like results and were not read.
func (p *Paste) unread() {
	forms := figureForms()
	if len(p.Runs) == 0 { // a sentence has what a table would have
		forms = append(forms[:len(forms):len(forms)], speedForm())
	}
	looks := func(line string) bool {
		for _, form := range forms {
			if form.MatchString(line) {
				return true
			}
		}
		return false
	}
	var part []int
	figures, first := 0, ""
	flush := func() {
		if figures > 0 {
			if len(first) > 60 {
				first = strings.ToValidUTF8(first[:60], "") + "…"
			}
			p.Unread = append(p.Unread, fmt.Sprintf("%s: %q", p.numbers(part), first))
		}
		part, figures, first = nil, 0, ""
	}
	for i := range p.lines {
		line := strings.TrimSpace(p.lines[i].text)
		if line == "" || p.lines[i].read {
			flush()
			continue
		}
		part = append(part, i)
		if p.lines[i].long() || looks(line) {
			if figures++; first == "" {
				first = line
			}
		}
	}
	flush()
}
