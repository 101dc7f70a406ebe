package commands

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/scanner"
)

// What programs in Python have.
var (
	// pythonStarts begins the configuration of an engine, or a list of the words of a command.
	pythonStarts = regexp.MustCompile(`\b(LLMConfig|LLM|Engine|EngineArgs|AsyncEngineArgs)\(|` +
		`\[\s*["'](?:vllm|python3?|sglang|trtllm-serve|lmdeploy|llama-server|` +
		`text-generation-launcher)["']`)
	// pythonText is a text that may be a command, with its prefix, and pythonPlace a variable in
	// one with the prefix f.
	pythonText = regexp.MustCompile(`(?s)(\b[frb]+|)("""[^"]+"""|'''[^']+'''|"[^"\n]+"|` +
		`'[^'\n]+')`)
	pythonPlace = regexp.MustCompile(`\{(\w+)\}`)
	// pythonRole names the pool that a configuration is assigned to.
	pythonRole = regexp.MustCompile(`(prefill|decode)\w*\s*=\s*[\w.]*$`)
	// pythonAssign is an assignment in one line.
	pythonAssign = regexp.MustCompile(`(?m)^[ \t]*([A-Za-z_]\w*)[ \t]*(?::[ \t]*\w+[ \t]*)?=` +
		`[ \t]*([^=\s].*)$`)
)

// ofPython finds what starts engines in a program: LLMConfigs of Ray Serve, the engines of vLLM,
// SGLang and TensorRT-LLM, and lists of the words of a command. It reads calls with literals,
// dicts, variables with one value, and variables of the environment with a default; nothing is run.
// It returns nil where it finds nothing of the kind.
func ofPython(text string, given map[string]string) (*Programs, error) {
	m := readContainers(nil, given, func([]string) bool { return true })
	calls := pythonStarts.FindAllStringSubmatchIndex(text, mostConfigs)
	if calls == nil {
		return nil, nil
	}
	values := constantsOf(text, given)
	for _, at := range calls {
		line := strings.Count(text[:at[0]], "\n")
		if at[2] < 0 { // a list of words
			p := newLiterals(text[at[0]+1:], values)
			if list, err := p.list("]"); err == nil {
				more, left := grown(text, at[0], values)
				m.add(Command{Words: stringsOf(append(list, more...))})
				m.skipped = append(m.skipped, left...)
			}
			continue
		}
		p := newLiterals(text[at[1]:], values)
		list, config, err := p.arguments(")")
		if err != nil {
			return nil, fmt.Errorf("line %d, %s: %w", line+p.Line, text[at[2]:at[3]], err)
		}
		role := pythonRole.FindStringSubmatch(text[max(0, at[0]-100):at[0]])
		place := Place{}
		if role != nil {
			place.Role = role[1]
		}
		if text[at[2]:at[3]] == "LLMConfig" {
			m.rayConfig(config, place)
			continue
		}
		if len(list) > 0 && config["model"] == nil {
			config["model"] = list[0]
		}
		m.pythonEngine(text, config, place)
	}
	if len(m.commands) == 0 {
		return nil, nil
	}
	return &Programs{Commands: m.commands, Skipped: m.skipped}, nil
}

// ofTexts finds the commands that texts of a program have: run("vllm serve MODEL"), and with
// variables, f"vllm serve {model}". It returns nil without one.
func ofTexts(program string, given map[string]string, starts func([]string) bool) *Programs {
	set := newVariables(given)
	for name, value := range constantsOf(program, given) {
		set.values[name] = fmt.Sprint(value)
	}
	var own []Command
	for _, found := range pythonText.FindAllStringSubmatch(program, mostConfigs) {
		text := strings.Trim(found[2], `"'`)
		if strings.HasPrefix(found[1], "f") {
			text = pythonPlace.ReplaceAllString(text, "$${$1}")
		}
		list, _, err := shellCommands(text, set)
		engine := func(c Command) bool { return starts(c.Words) }
		if err == nil && slices.ContainsFunc(list, engine) {
			own = append(own, list...)
		}
	}
	if own == nil {
		return nil
	}
	return &Programs{Commands: own}
}

// grown returns what a program adds to the list of words that begins at an offset, cmd += [...] or
// cmd.extend([...]), and notes on what it adds on a condition, which is left out.
func grown(text string, at int, values map[string]any) (more []any, notes []string) {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	name := strings.TrimLeft(line, " \t")
	indent := len(line) - len(name)
	name, _, assigned := strings.Cut(name, "=")
	if name, _, _ = strings.Cut(strings.TrimSpace(name), ":"); !assigned || !IsName(name) {
		return nil, nil
	}
	adds := regexp.MustCompile(`(?m)^([ \t]*)` + name + `(?: *\+= *|\.extend\()\[`)
	for _, found := range adds.FindAllStringSubmatchIndex(text[at:], mostConfigs) {
		list, err := newLiterals(text[at+found[1]:], values).list("]")
		if err == nil && found[3]-found[2] <= indent {
			more = append(more, list...)
			continue
		}
		notes = append(notes, fmt.Sprintf("line %d adds words on a condition, and was left out",
			1+strings.Count(text[:at+found[0]], "\n")))
	}
	return more, notes
}

// pythonEngine adds the command that has the options of an engine in a program.
func (m *manifest) pythonEngine(text string, options map[string]any, around Place) {
	name, _ := options["model"].(string)
	engine := "vllm"
	switch path, own := options["model_path"].(string); {
	case own && strings.Contains(text, "sgl"):
		name, engine = path, "sglang"
	case strings.Contains(text, "tensorrt_llm"):
		engine = "trtllm"
	}
	if name != "" {
		m.engine(engine, name, options, around)
	}
}

// constantsOf returns the variables that a program gives one value, which is a literal.
func constantsOf(text string, given map[string]string) map[string]any {
	values, times := map[string]any{}, map[string]int{}
	for _, found := range pythonAssign.FindAllStringSubmatch(text, mostKeys) {
		name := found[1]
		times[name]++
		p := newLiterals(found[2], nil)
		value, err := p.value()
		switch value.(type) {
		case string, int, float64:
			if err == nil && p.token == "" && Closed(fmt.Sprint(value)) == nil {
				values[name] = value
			}
		}
	}
	for name, n := range times {
		if n > 1 {
			delete(values, name)
		}
	}
	for name, value := range given {
		values[name] = value
	}
	return values
}

// mostConfigs bounds the configurations of a program.
const mostConfigs = 100

// literals reads literals of Python.
type literals struct {
	scanner.Scanner
	token string
	depth int
	// values has the known values of variables, by their names.
	values map[string]any
}

func newLiterals(text string, values map[string]any) *literals {
	p := &literals{values: values}
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

// arguments reads the arguments of a call, those with names apart, up to its bracket.
func (p *literals) arguments(end string) (list []any, object map[string]any, err error) {
	object = map[string]any{}
	for !p.take(end) {
		name := p.token
		if name == "*" { // such as **options, which are not known
			p.next()
			p.take("*")
			if _, err := p.value(); err != nil {
				return nil, nil, err
			}
			if !p.take(",") && p.token != end {
				return nil, nil, fmt.Errorf("found %q behind **", p.token)
			}
			continue
		}
		value, err := p.value()
		if err != nil {
			return nil, nil, err
		}
		if p.take("=") {
			if object[name], err = p.value(); err != nil {
				return nil, nil, err
			}
		} else {
			list = append(list, value)
		}
		if !p.take(",") && p.token != end {
			return nil, nil, fmt.Errorf("found %q behind %s", p.token, name)
		}
	}
	return list, object, nil
}

// value reads a value: of an expression that is more than a literal, a product or sum of whole
// numbers, and otherwise a mark.
func (p *literals) value() (any, error) {
	value, err := p.single()
	for err == nil && slices.Contains([]string{"*", "+", "/", "%", "or", "and", "if", "else"},
		p.token) {
		operator := p.token
		p.next()
		p.take("/")
		var more any
		more, err = p.single()
		x, number := value.(int)
		y, other := more.(int)
		switch {
		case number && other && operator == "*" && max(x, -x, y, -y) < 1<<30:
			value = x * y
		case number && other && operator == "+":
			value = x + y
		default:
			value = mark(uint(p.Line), "")
		}
	}
	return value, err
}

// single reads a value without operators.
func (p *literals) single() (any, error) {
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
		if value, known := p.values[name]; known {
			return value, nil
		}
		return mark(uint(p.Line), name), nil
	}
	list, object, err := p.arguments(")")
	if err != nil {
		return nil, err
	}
	switch {
	case name == "dict", len(list) == 0 && len(object) > 0:
		return object, nil
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
