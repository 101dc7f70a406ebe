package serve

import (
	"github.com/llmsim/llmsim/internal/content"
	"github.com/llmsim/llmsim/internal/text"
	"github.com/llmsim/llmsim/sim"
)

// contentBlock is the number of tokens by which prompts are compared: vLLM's block size, the
// smallest of the engines that share whole blocks.
const contentBlock = 16

// What counts as an answer that a prompt repeats: this many of its first words, all of them one
// after the other. That another text has them by chance is less likely than one in a billion.
const leastRepeated = 3

// mostAnswers is the number of answers to one prompt (n of a request) that are recognised later.
const mostAnswers = 8

// answers are the made-up answers of a server.
type answers struct {
	words *text.Vocabulary // nil where answers are computed
	seed  uint64
}

// content describes a prompt for prefix caches. Each segment ends where a whole block of the prompt
// does, where an answer begins that this server gave earlier, or where that answer ends, and its ID
// identifies all tokens up to there. So equal beginnings have equal segments, and an answer is the
// segment of the request that got it. The name identifies the whole prompt.
func (p *answers) content(tokens []text.Token) (list []sim.Segment, name uint64) {
	list = make([]sim.Segment, 0, len(tokens)/contentBlock+1)
	begin := 0
	end := func(at int) {
		if at > begin {
			list = append(list, sim.Segment{ID: name, Tokens: at - begin})
		}
		begin = at
	}
	for i := 0; i < len(tokens); {
		if index, n := p.repeated(name, tokens[i:]); i > 0 && n > 0 {
			end(i)
			list = append(list, sim.Segment{ID: p.answer(name, index), Tokens: n})
			for _, t := range tokens[i : i+n] {
				name = follow(name, t)
			}
			i += n
			begin = i
			continue
		}
		name = follow(name, tokens[i])
		if i++; i%contentBlock == 0 {
			end(i)
		}
	}
	end(len(tokens))
	return list, name
}

// follow returns the name of a text with one token more.
func follow(name uint64, t text.Token) uint64 { return content.Hash(name ^ uint64(uint32(t))) }

// answer names the answer of an index to the prompt of a name, for prefix caches and as the name of
// its made-up words.
func (p *answers) answer(prompt uint64, index int) uint64 {
	return max(content.Hash(p.seed^prompt)+uint64(index), 1)
}

// repeated returns which made-up answer to the prompt of a name comes next, and how many tokens of
// it; 0 if no answer does.
func (p *answers) repeated(prompt uint64, next []text.Token) (index, n int) {
	if p.words == nil {
		return 0, 0
	}
	for index := range mostAnswers {
		name := p.answer(prompt, index)
		n := 0
		for n < len(next) && next[n] == p.words.Word(name, n) {
			n++
		}
		if n >= leastRepeated {
			return index, n
		}
	}
	return 0, 0
}
