package commands

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/scanner"
)

// ofPython finds the LLMConfigs of Ray Serve in a program: calls with literals, dicts, and
// variables of the environment with a default. Nothing is executed.
func ofPython(text string) (*Programs, error) {
	m := readContainers(nil, nil, func([]string) bool { return true })
	line := 1
	for len(m.commands) < mostConfigs {
		before, rest, found := strings.Cut(text, "LLMConfig(")
		if !found {
			break
		}
		line += strings.Count(before, "\n")
		p := newLiterals(rest)
		config, err := p.arguments(")")
		if err != nil {
			return nil, fmt.Errorf("line %d, LLMConfig: %w", line+p.Line-1, err)
		}
		m.rayConfig(config, Place{})
		text = rest
	}
	return &Programs{Commands: m.commands, Skipped: m.skipped}, nil
}

// mostConfigs bounds the configurations of a program.
const mostConfigs = 100

// literals reads literals of Python.
type literals struct {
	scanner.Scanner
	token string
	depth int
}

func newLiterals(text string) *literals {
	p := &literals{}
	p.Init(strings.NewReader(pythonQuotes(text)))
	p.Mode = scanner.ScanIdents | scanner.ScanFloats | scanner.ScanStrings
	p.Error = func(*scanner.Scanner, string) {} // what cannot be read is a token that means nothing
	p.next()
	return p
}

// pythonQuotes returns a program without comments, and with the quotes of Go around its texts.
func pythonQuotes(text string) string {
	var b strings.Builder
	var quote byte
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote == 0 && c == '#':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
			b.WriteByte('"')
		case quote != 0 && c == '\\' && i+1 < len(text):
			i++
			if text[i] != '\'' {
				b.WriteByte(c)
			}
			b.WriteByte(text[i])
		case c == quote && quote != 0:
			quote = 0
			b.WriteByte('"')
		case quote == '\'' && c == '"':
			b.WriteString(`\"`)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func (p *literals) next() {
	p.token = ""
	if p.Scan() != scanner.EOF {
		p.token = p.TokenText()
	}
}

// take takes a token, if it is the next one.
func (p *literals) take(token string) bool {
	if p.token != token {
		return false
	}
	p.next()
	return true
}

// arguments reads the arguments of a call that have names, up to its bracket.
func (p *literals) arguments(end string) (map[string]any, error) {
	object := map[string]any{}
	for !p.take(end) {
		name := p.token
		p.next()
		if !p.take("=") {
			return nil, fmt.Errorf("found %q behind %q; want name=value", p.token, name)
		}
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		object[name] = value
		if !p.take(",") && p.token != end {
			return nil, fmt.Errorf("found %q behind the value of %s", p.token, name)
		}
	}
	return object, nil
}

// value reads a value.
func (p *literals) value() (any, error) {
	if p.depth++; p.depth > mostNested {
		return nil, errors.New("the brackets are too deep")
	}
	defer func() { p.depth-- }()
	token := p.token
	if token == "" {
		return nil, errors.New("it does not end")
	}
	p.next()
	switch token {
	case "True", "False":
		return token == "True", nil
	case "None":
		return nil, nil
	case "{":
		return p.dict()
	case "[", "(":
		return p.list(map[string]string{"[": "]", "(": ")"}[token])
	case "-":
		value, err := p.value()
		if n, ok := value.(int); ok {
			return -n, err
		}
		return nil, errors.Join(err, errors.New("found - before what is no whole number"))
	}
	if text, err := strconv.Unquote(token); err == nil {
		for strings.HasPrefix(p.token, `"`) { // texts beside one another are one
			more, err := strconv.Unquote(p.token)
			if err != nil {
				return nil, err
			}
			text += more
			p.next()
		}
		return text, nil
	}
	if n, err := strconv.Atoi(strings.ReplaceAll(token, "_", "")); err == nil {
		return n, nil
	}
	if x, err := strconv.ParseFloat(token, 64); err == nil {
		return x, nil
	}
	return p.call(token)
}

// dict reads the rest of a dict.
func (p *literals) dict() (map[string]any, error) {
	object := map[string]any{}
	for !p.take("}") {
		key, err := p.value()
		if err != nil {
			return nil, err
		}
		if !p.take(":") {
			return nil, fmt.Errorf("found %q behind the key %v", p.token, key)
		}
		if object[fmt.Sprint(key)], err = p.value(); err != nil {
			return nil, err
		}
		if !p.take(",") && p.token != "}" {
			return nil, fmt.Errorf("found %q behind the value of %v", p.token, key)
		}
	}
	return object, nil
}

// list reads the rest of a list.
func (p *literals) list(end string) ([]any, error) {
	var list []any
	for !p.take(end) {
		value, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, value)
		if !p.take(",") && p.token != end {
			return nil, fmt.Errorf("found %q in a list", p.token)
		}
	}
	return list, nil
}

// call reads a call after the first part of its name: dict(…), int(…) and the like, or os.getenv
// with a default. Any other expression has no known value.
func (p *literals) call(name string) (any, error) {
	for p.take(".") {
		name += "." + p.token
		p.next()
	}
	switch {
	case strings.HasPrefix(p.token, `"`): // a text with a prefix, such as f"…"
		text, err := p.value()
		if name == "f" && strings.Contains(fmt.Sprint(text), "{") {
			text = mark(uint(p.Line), "")
		}
		return text, err
	case p.take("["): // such as os.environ["NAME"]
		list, err := p.list("]")
		if len(list) == 1 {
			name = fmt.Sprint(list[0])
		}
		return mark(uint(p.Line), name), err
	case !p.take("("):
		return mark(uint(p.Line), name), nil
	}
	if name == "dict" {
		return p.arguments(")")
	}
	list, err := p.list(")")
	if err != nil {
		return nil, err
	}
	switch {
	case (name == "os.getenv" || name == "os.environ.get") && len(list) == 2:
		return list[1], nil
	case (name == "os.getenv" || name == "os.environ.get") && len(list) == 1:
		return mark(uint(p.Line), fmt.Sprint(list[0])), nil
	case name == "int" && len(list) == 1:
		n, err := strconv.Atoi(fmt.Sprint(list[0]))
		if err != nil {
			return mark(uint(p.Line), ""), nil
		}
		return n, nil
	case (name == "str" || name == "float" || name == "bool") && len(list) == 1:
		return list[0], nil
	}
	return mark(uint(p.Line), ""), nil
}
