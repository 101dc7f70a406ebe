package launch

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// open marks a word that needs a shell to be evaluated: what stands behind it is its line.
const open = "\x00"

// closed returns an error for a word that needs a shell to be evaluated.
func closed(word string) error {
	if _, line, found := strings.Cut(word, open); found {
		return fmt.Errorf("line %s has a variable or a substitution; write its value", line)
	}
	return nil
}

// shellCommands returns the simple commands of a shell script, and the files that it writes from
// text of its own, by their names without folders.
func shellCommands(text string) ([][]string, map[string]string, error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, nil, err
	}
	var list [][]string
	written := map[string]string{}
	syntax.Walk(file, func(node syntax.Node) bool {
		if statement, ok := node.(*syntax.Stmt); ok {
			keepHereDocument(statement, written)
		}
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		words := make([]string, 0, len(call.Args))
		for _, arg := range call.Args {
			word, plain := literal(arg)
			if !plain {
				word += open + strconv.FormatUint(uint64(arg.Pos().Line()), 10)
			}
			words = append(words, word)
		}
		list = append(list, words)
		return true
	})
	return list, written, nil
}

// keepHereDocument keeps what a statement such as cat <<EOF >FILE writes.
func keepHereDocument(statement *syntax.Stmt, written map[string]string) {
	var name, text string
	for _, r := range statement.Redirs {
		switch {
		case r.Hdoc != nil:
			text, _ = literal(r.Hdoc)
		case r.Op == syntax.RdrOut && r.Word != nil:
			name, _ = literal(r.Word)
		}
	}
	if name != "" && text != "" {
		written[path.Base(name)] = text
	}
}

// literal returns the text of a word, and whether it is the same in every shell.
func literal(word *syntax.Word) (string, bool) {
	var b strings.Builder
	plain := true
	for _, part := range word.Parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
			plain = plain && !p.Dollar
		case *syntax.DblQuoted:
			for _, inner := range p.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					plain = false
					continue
				}
				b.WriteString(unescape(lit.Value))
			}
		default:
			plain = false
		}
	}
	return b.String(), plain
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

// base returns the name of a program without its folder.
func base(program string) string { return path.Base(program) }

// isPython reports whether a program is Python.
func isPython(program string) bool { return strings.HasPrefix(base(program), "python") }
