package commands

import (
	"fmt"
	"maps"
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// open marks a word that needs a shell to be evaluated: what stands behind it is its line.
const open = "\x00"

// Closed returns an error for a word that needs a shell to be evaluated.
func Closed(word string) error {
	if _, line, found := strings.Cut(word, open); found {
		return fmt.Errorf("line %s has a variable or a substitution; write its value", line)
	}
	return nil
}

// mostScript bounds the text of a script, in bytes, and mostNested the brackets around a part of
// it: the parser takes memory by the depth.
const (
	mostScript = 64 << 10
	mostNested = 200
)

// parseable returns an error for a script that is too large to parse.
func parseable(text string) error {
	if len(text) > mostScript {
		return fmt.Errorf("the script has %d bytes, more than %d", len(text), mostScript)
	}
	depth := 0
	for _, letter := range text {
		switch letter {
		case '(', '{', '[':
			depth++
		case ')', '}', ']':
			depth = max(0, depth-1)
		}
		if depth > mostNested {
			return fmt.Errorf("the script has more than %d brackets in one another", mostNested)
		}
	}
	return nil
}

// shellCommands returns the simple commands of a shell script that runs with some variables set,
// and the files that it writes from text of its own, by their names without folders.
func shellCommands(text string, set variables) ([]Command, map[string]string, error) {
	if err := parseable(text); err != nil {
		return nil, nil, err
	}
	parser := syntax.NewParser(syntax.KeepComments(true))
	file, err := parser.Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, nil, err
	}
	var list []Command
	var around arm
	var loops uint // the offset at which all loops before it have ended
	written := map[string]string{}
	variables := constants(file, set)
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CaseItem:
			around = variables.arm(n)
		case *syntax.Stmt:
			variables.keepHereDocument(n, written)
		case *syntax.ForClause:
			loops = max(loops, n.End().Offset())
		case *syntax.CallExpr:
			c := Command{Words: variables.words(n), Env: variables.of(n), Place: around.at(n.Pos())}
			c.Looped = n.Pos().Offset() < loops
			list = append(list, c)
		}
		return true
	})
	return list, written, nil
}

// words returns the words of a simple command.
func (v variables) words(call *syntax.CallExpr) []string {
	words := make([]string, 0, len(call.Args))
	for _, arg := range call.Args {
		if several, ok := v.split(arg); ok {
			words = append(words, several...)
			continue
		}
		word, plain := v.literal(arg)
		if !plain {
			word += open + strconv.FormatUint(uint64(v.line(arg)), 10)
		}
		words = append(words, word)
	}
	return words
}

// of returns the variables that are set for a simple command: the script's, and its own.
func (v variables) of(call *syntax.CallExpr) map[string]string {
	own := maps.Clone(v.values)
	for _, a := range call.Assigns {
		if a.Name == nil || a.Value == nil {
			continue
		}
		if value, plain := v.literal(a.Value); plain {
			own[a.Name.Value] = value
		}
	}
	return own
}

// line returns the line with what needs a shell in a word: the line of the word, or the one that
// sets the variable in it.
func (v variables) line(word *syntax.Word) uint {
	line := word.Pos().Line()
	syntax.Walk(word, func(node syntax.Node) bool {
		if p, ok := node.(*syntax.ParamExp); ok && p.Param != nil && v.set[p.Param.Value] > 0 {
			line = v.set[p.Param.Value]
		}
		return true
	})
	return line
}

// keepHereDocument keeps what a statement such as cat <<EOF >FILE writes.
func (v variables) keepHereDocument(statement *syntax.Stmt, written map[string]string) {
	var name, text string
	for _, r := range statement.Redirs {
		switch {
		case r.Hdoc != nil:
			text, _ = v.literal(r.Hdoc)
		case r.Op == syntax.RdrOut && r.Word != nil:
			name, _ = v.literal(r.Word)
		}
	}
	if name != "" && text != "" {
		written[path.Base(name)] = text
	}
}

// variables are the values of variables of a shell.
type variables struct {
	values map[string]string
	// left is how many bytes the values may still take where they are used, of all commands of a
	// text together.
	left *int
	// set has the lines that set variables to what needs a shell.
	set map[string]uint
}

// noVariables returns variables that are all unset.
func noVariables() variables {
	left := MostText
	return variables{values: map[string]string{}, left: &left}
}

// constants returns the variables that a script has, or gives one value, which needs no shell.
func constants(file *syntax.File, before variables) variables {
	known := variables{map[string]string{}, before.left, map[string]uint{}}
	set := map[string]int{}
	for name, value := range before.values {
		known.values[name], set[name] = value, 1
	}
	note := func(list []*syntax.Assign) {
		for _, a := range list {
			if a.Name == nil || a.Naked {
				continue
			}
			set[a.Name.Value]++
			if a.Value == nil || a.Append || a.Index != nil {
				continue
			}
			if value, plain := known.literal(a.Value); plain {
				known.values[a.Name.Value] = value
			} else {
				known.set[a.Name.Value] = a.Pos().Line()
			}
		}
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.CallExpr:
			if len(n.Args) == 0 { // else it is of that command alone
				note(n.Assigns)
			}
		case *syntax.DeclClause:
			note(n.Args)
		case *syntax.WordIter:
			set[n.Name.Value] = 2
		}
		return true
	})
	for name, times := range set {
		if times > 1 {
			delete(known.values, name)
			delete(known.set, name)
		}
	}
	return known
}

// literal returns the text of a word, and whether it is the same in every shell.
func (v variables) literal(word *syntax.Word) (string, bool) {
	var b strings.Builder
	plain := v.write(&b, word.Parts, false)
	return b.String(), plain
}

// write appends the text of parts of a word, and reports whether it is one word, the same in every
// shell.
func (v variables) write(b *strings.Builder, parts []syntax.WordPart, quoted bool) bool {
	plain := true
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
			plain = plain && !p.Dollar
		case *syntax.DblQuoted:
			plain = v.write(b, p.Parts, true) && plain
		case *syntax.ParamExp:
			value, known := v.value(p)
			b.WriteString(value)
			one := quoted || !strings.ContainsAny(value, " \t\n")
			plain = plain && known && one
		case *syntax.ArithmExp:
			n, known := v.compute(p.X)
			b.WriteString(strconv.Itoa(n))
			plain = plain && known
		default:
			plain = false
		}
	}
	return plain
}

// value returns the value of a variable where a word has it as it is, $NAME or ${NAME}, and whether
// it is known and not too long.
func (v variables) value(p *syntax.ParamExp) (string, bool) {
	if p.Param == nil {
		return "", false
	}
	name, around := p.Param.Value, uint(len("${}"))
	if p.Short {
		around = uint(len("$"))
	}
	value, known := v.values[name]
	if !known || len(value) > *v.left ||
		p.End().Offset()-p.Pos().Offset() != uint(len(name))+around {
		return "", false
	}
	*v.left -= len(value)
	return value, true
}

// split returns the words that a variable alone expands to, and false for any other word.
func (v variables) split(word *syntax.Word) ([]string, bool) {
	if len(word.Parts) != 1 {
		return nil, false
	}
	p, ok := word.Parts[0].(*syntax.ParamExp)
	if !ok {
		return nil, false
	}
	value, known := v.value(p)
	return strings.Fields(value), known
}

// unescape removes the backslashes of a word.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Base returns the name of a program without its folder.
func Base(program string) string { return path.Base(program) }
