package commands

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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
	file, err := parser.Parse(strings.NewReader(forShell(text)), "")
	if err != nil {
		return nil, nil, err
	}
	var list []Command
	var around arm
	var loops uint            // the offset at which all loops before it have ended
	var branch, branches uint // where the condition around a command begins, and ends
	written := map[string]string{}
	variables := constants(file, set)
	syntax.Walk(file, func(node syntax.Node) bool {
		if variables.passed[node] {
			return false
		}
		switch n := node.(type) {
		case *syntax.CaseItem:
			around = variables.arm(n)
		case *syntax.Stmt:
			variables.keepHereDocument(n, written)
		case *syntax.ForClause:
			loops = max(loops, n.End().Offset())
		case *syntax.IfClause:
			if n.Pos().Offset() >= branches && !variables.decided[n] {
				branch, branches = n.Pos().Offset(), n.End().Offset()
			}
		case *syntax.CallExpr:
			c := Command{Words: variables.words(n), Env: variables.of(n), Place: around.at(n.Pos())}
			c.Looped = n.Pos().Offset() < loops
			if n.Pos().Offset() < branches {
				c.Branch = 1 + int(branch)
			}
			if inner, ok := variables.inside(&c); ok {
				list = append(list, inner...)
				return true
			}
			list = append(list, c)
		}
		return true
	})
	return list, written, nil
}

// inside returns the commands of the script that a command gives to a shell, itself or in a
// container: bash -c "…", docker run --entrypoint bash IMAGE -c "…".
func (v variables) inside(c *Command) ([]Command, bool) {
	words, env := c.Words, maps.Clone(c.Env)
	for i, word := range words {
		var set string
		switch {
		case i+1 < len(words) && (word == "-e" || word == "--env"):
			set = words[i+1]
		case strings.HasPrefix(word, "--env="):
			set = strings.TrimPrefix(word, "--env=")
		}
		if name, value, given := strings.Cut(set, "="); given && !v.given[name] {
			env[name] = value
		}
		if entry := strings.TrimPrefix(word, "--entrypoint="); (entry != word ||
			i > 0 && words[i-1] == "--entrypoint") && isShell(entry) {
			words = append([]string{entry}, words[i+1:]...)
			break
		}
		if isShell(word) {
			words = words[i:]
			break
		}
	}
	script, arguments, ok := shellScript(words)
	if !ok {
		script, ok = v.elsewhere(c.Words)
	}
	script = v.whole(script)
	if !ok || *v.left < len(script) {
		return nil, false
	}
	*v.left -= len(script)
	set := variables{values: env, lists: map[string][]string{"@": arguments}, given: v.given,
		left: v.left}
	list, _, err := shellCommands(reopened(script), set)
	around := beforeShell(c.Words, script)
	for i := range list {
		inner := &list[i]
		looped, branch := inner.Looped || c.Looped, cmp.Or(c.Branch, inner.Branch)
		if inner.Name == "" {
			inner.Place = c.Place
		}
		inner.Looped, inner.Branch = looped, branch
		if len(inner.Around) == 0 {
			inner.Around = around
		}
	}
	return list, err == nil
}

// beforeShell returns the words of a command before the shell that runs a script, and with
// --entrypoint SHELL those before the shell's own options.
func beforeShell(words []string, script string) []string {
	words = words[:max(0, slices.Index(words, script))]
	for len(words) > 0 && strings.HasPrefix(words[len(words)-1], "-") {
		words = words[:len(words)-1]
	}
	if len(words) > 0 && isShell(words[len(words)-1]) {
		words = words[:len(words)-1]
	}
	return slices.Clip(words)
}

// isShell reports whether a program is a shell.
func isShell(program string) bool {
	return slices.Contains([]string{"sh", "bash", "ash", "dash"}, Base(program))
}

// whole returns a script, and the text of a variable in place of a script that is one: eval "$X".
func (v variables) whole(script string) string {
	said, is := strings.CutPrefix(script, open)
	said, ended := strings.CutSuffix(said, closed)
	_, name, _ := strings.Cut(said, ":")
	if text, known := v.values[name]; known && is && ended {
		// A mark for the variable within its own text would be replaced without end.
		return strings.ReplaceAll(text, ":"+name+closed, ":"+closed)
	}
	return script
}

// elsewhere returns the script that a command such as ssh or tmux is given to run elsewhere.
func (v variables) elsewhere(words []string) (script string, ok bool) {
	if len(words) < 2 || !slices.Contains([]string{"ssh", "tmux", "screen", "eval", "wsl", "su",
		"pdsh", "parallel-ssh"}, Base(words[0])) {
		return "", false
	}
	script = v.whole(words[len(words)-1])
	return script, strings.Contains(script, " ")
}

// words returns the words of a simple command.
func (v variables) words(call *syntax.CallExpr) []string {
	return v.fields(call.Args)
}

// fields returns the words that words expand to.
func (v variables) fields(args []*syntax.Word) []string {
	words := make([]string, 0, len(args))
	for _, arg := range args {
		if several, ok := v.split(arg); ok {
			words = append(words, several...)
			continue
		}
		word, _ := v.literal(arg)
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

// open returns the mark of a parameter that is not known: its line, or the one that sets the
// variable in it.
func (v variables) open(p *syntax.ParamExp) string {
	if p.Param == nil {
		return mark(p.Pos().Line(), "")
	}
	line, name := p.Pos().Line(), p.Param.Value
	if v.set[name] > 0 {
		line = v.set[name]
	}
	if !IsName(name) {
		name = ""
	}
	return mark(line, name)
}

// keepHereDocument keeps what a statement such as cat <<EOF >FILE writes, or reads.
func (v variables) keepHereDocument(statement *syntax.Stmt, written map[string]string) {
	var name, text string
	for _, r := range statement.Redirs {
		switch {
		case r.Hdoc != nil:
			var b strings.Builder
			v.write(&b, r.Hdoc.Parts, true)
			text = withoutMarks(b.String())
		case r.Op == syntax.RdrOut && r.Word != nil:
			name, _ = v.literal(r.Word)
		}
	}
	if call, ok := statement.Cmd.(*syntax.CallExpr); ok && name == "" && len(call.Args) > 0 {
		name = call.Args[0].Lit() // which reads the text: kubectl apply -f - <<EOF
		text = written[name] + "\n---\n" + text
	}
	if name != "" && text != "" {
		written[path.Base(name)] = text
	}
}

// literal returns the text of a word, and whether it is the same in every shell.
func (v variables) literal(word *syntax.Word) (string, bool) {
	var b strings.Builder
	plain := v.write(&b, word.Parts, false)
	return b.String(), plain
}

// write appends the text of parts of a word, with marks for what is not known, and reports whether
// it is one word, the same in every shell.
func (v variables) write(b *strings.Builder, parts []syntax.WordPart, quoted bool) bool {
	plain := true
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value, quoted))
		case *syntax.SglQuoted:
			if b.WriteString(p.Value); p.Dollar {
				b.WriteString(mark(p.Pos().Line(), ""))
				plain = false
			}
		case *syntax.DblQuoted:
			plain = v.write(b, p.Parts, true) && plain
		case *syntax.ParamExp:
			value, known := v.value(p)
			switch {
			case known && (quoted || !strings.ContainsAny(value, " \t\n")):
				b.WriteString(value)
			case known:
				b.WriteString(mark(p.Pos().Line(), ""))
				known = false
			default:
				b.WriteString(v.open(p))
			}
			plain = plain && known
		case *syntax.ArithmExp:
			n, known := v.compute(p.X)
			if known {
				b.WriteString(strconv.Itoa(n))
			} else {
				b.WriteString(mark(p.Pos().Line(), v.unset(p.X)))
			}
			plain = plain && known
		case *syntax.CmdSubst:
			n, known := v.values[counts]
			if known = known && countsGPUs(p); known {
				b.WriteString(n)
			} else if countsGPUs(p) {
				b.WriteString(mark(part.Pos().Line(), counts))
			} else {
				b.WriteString(mark(part.Pos().Line(), ""))
			}
			plain = plain && known
		default:
			b.WriteString(mark(part.Pos().Line(), ""))
			plain = false
		}
	}
	return plain
}

// value returns the value of a parameter, and whether it is known and not too long: $NAME, ${NAME},
// and with a default, ${NAME:-…}, or another text where it is set, ${NAME:+…}.
func (v variables) value(p *syntax.ParamExp) (string, bool) {
	if !isSimple(p) {
		return "", false
	}
	name := p.Param.Value
	value, set := v.values[name]
	if v.set[name] > 0 || len(value) > *v.left {
		return "", false
	}
	if p.Exp == nil {
		*v.left -= len(value)
		return value, set
	}
	has, other := set, false
	switch p.Exp.Op {
	case syntax.DefaultUnsetOrNull, syntax.AssignUnsetOrNull:
		has, other = value != "", true
	case syntax.DefaultUnset, syntax.AssignUnset:
		other = true
	case syntax.AlternateUnsetOrNull, syntax.AlternateUnset:
		if p.Exp.Op == syntax.AlternateUnsetOrNull {
			has = value != ""
		}
		if !has {
			return "", true
		}
		has, other = false, true // what stands beside it is taken
	case syntax.ErrorUnsetOrNull:
		has = value != ""
	case syntax.ErrorUnset:
	default:
		return "", false
	}
	if has || !other {
		*v.left -= len(value)
		return value, has
	}
	if p.Exp.Word == nil {
		return "", true
	}
	var b strings.Builder
	plain := v.write(&b, p.Exp.Word.Parts, true)
	*v.left -= b.Len()
	return b.String(), plain && *v.left >= 0
}

// isSimple reports whether a parameter is a name, maybe with what is taken in its place.
func isSimple(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && p.Index == nil && p.Slice == nil &&
		p.Repl == nil && p.Names == 0
}

// split returns the words that a variable alone expands to, and false for any other word: an array
// or the arguments of a script, ${NAME[@]} and $@, or without quotes a text.
func (v variables) split(word *syntax.Word) ([]string, bool) {
	if len(word.Parts) != 1 {
		return nil, false
	}
	p, bare := word.Parts[0].(*syntax.ParamExp)
	if quotes, ok := word.Parts[0].(*syntax.DblQuoted); ok && len(quotes.Parts) == 1 {
		p, _ = quotes.Parts[0].(*syntax.ParamExp)
	}
	if p == nil || p.Param == nil {
		return nil, false
	}
	name := p.Param.Value
	index, indexed := p.Index.(*syntax.Word)
	if indexed && p.Exp == nil && index.Lit() == "@" || name == "@" {
		list, known := v.lists[name]
		size := sizeOf(list)
		if !known || size > *v.left {
			return []string{v.open(p)}, true
		}
		*v.left -= size
		return list, true
	}
	if !bare {
		return nil, false
	}
	if value, known := v.value(p); known {
		return strings.Fields(value), true
	}
	partial, assigned := v.values[name]
	if !isSimple(p) || p.Exp != nil || !assigned || len(partial) > *v.left {
		return nil, false
	}
	*v.left -= len(partial)
	return strings.Fields(partial), true // some have marks
}

// sizeOf returns the bytes that words have together.
func sizeOf(words []string) (n int) {
	for _, word := range words {
		n += 1 + len(word)
	}
	return n
}

// unescape removes the backslashes of a word: within quotes only those before what they keep from
// being read.
func unescape(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) &&
			(!quoted || strings.IndexByte("$`\"\\\n", text[i+1]) >= 0) {
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

// Mentions reports whether a program prints, finds or ends the commands that its words have, and
// does not start them.
func Mentions(program string) bool {
	return slices.Contains([]string{"echo", "printf", "grep", "pgrep", "pkill", "kill", "killall",
		"ps", "man", "which", "pip", "pip3", "alias", "sed", "awk", "test", "[", "[["},
		Base(program))
}

// shellScript returns the script of a command such as sh -c "…", and its arguments.
func shellScript(command []string) (script string, arguments []string, ok bool) {
	for i, word := range command[:max(0, len(command)-1)] {
		if i == 0 || !strings.HasPrefix(word, "-") || !strings.HasSuffix(word, "c") ||
			len(word) > len("-euxc") {
			continue
		}
		if !isShell(command[0]) {
			break
		}
		rest := command[i+2:]
		return command[i+1], rest[min(1, len(rest)):], true // the first is its own name
	}
	return "", nil, false
}

// counts is the name of the variable that stands for the number of accelerators of a node, where a
// script counts them.
const counts = "GPUS"

// countsGPUs reports whether a substitution counts the GPUs of the machine:
// $(nvidia-smi --list-gpus | wc -l).
func countsGPUs(s *syntax.CmdSubst) bool {
	if len(s.Stmts) != 1 {
		return false
	}
	pipe, _ := s.Stmts[0].Cmd.(*syntax.BinaryCmd)
	if pipe == nil || pipe.Op != syntax.Pipe {
		return false
	}
	first, _ := pipe.X.Cmd.(*syntax.CallExpr)
	last, _ := pipe.Y.Cmd.(*syntax.CallExpr)
	return first != nil && last != nil && len(first.Args) > 0 && len(last.Args) == 2 &&
		first.Args[0].Lit() == "nvidia-smi" && last.Args[0].Lit() == "wc" &&
		last.Args[1].Lit() == "-l"
}
