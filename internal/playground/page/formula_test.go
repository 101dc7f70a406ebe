package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmsim/llmsim/internal/playground"
)

// bookState is a state of a chapter as the page describes it: handles, their stops, formulas by
// name, and what is asked of the simulator at the handles of each key.
type bookState struct {
	handles map[string]any
	before  map[string]any // the handles at which the question was asked
	chapter *bookChapter
}

type bookChapter struct {
	ID      string
	Stops   map[string][]any
	First   map[string]any // the handles' values at first
	Figures map[string]string
	// Best is what makes an answer to the question the right one, at the handles that At and the
	// answer set: the most or the least of a formula, where a condition holds.
	Best    struct{ Where, Most, Least string }
	At      map[string]any
	Answers []struct {
		Set   map[string]any
		Right bool
	}
	// Check is the number to compute, and what it is wherever the text names no handle.
	Check struct{ Text, Formula string }
	comes any
	// Known are the answers of this program by what is asked, Runs what is asked by name.
	Known   map[string]map[string]any
	Runs    func(handles map[string]any) map[string]asked
	Servers *playground.Servers
	Result  func(settings []string) map[string]any
}

// asked is what a chapter asks of the simulator, as ledger.js writes it.
type asked struct {
	Kind             string
	Settings         []string
	Prompts          []part
	Decodes, Context int
	From, Until      float64
}

// part is a prompt of a step, or a part of one: a number in place of it is a whole prompt.
type part playground.Chunk

func (p *part) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, &p.New); err == nil {
		return nil
	}
	return json.Unmarshal(text, (*playground.Chunk)(p))
}

var tokenOfFormula = regexp.MustCompile(
	`^\s*(?:([\d.]+(?:e[+-]?\d+)?)|'([^']*)'|([A-Za-z_][\w.]*)|(<=|>=|!=|[-+*/()<>=,]))`)

// evaluation reads and computes a formula, written anew from the description in words.js.
type evaluation struct {
	state  bookState
	tokens []string
	quoted map[int]bool
	at     int
}

// evaluate returns the value of a formula: a float64, a string, a bool, or an object.
func (s bookState) evaluate(formula string) any {
	e := &evaluation{state: s, quoted: map[int]bool{}}
	for rest := formula; strings.TrimSpace(rest) != ""; {
		m := tokenOfFormula.FindStringSubmatch(rest)
		if m == nil {
			panic(fmt.Sprintf("%s: unexpected %q", formula, rest))
		}
		e.quoted[len(e.tokens)] = m[2] != ""
		e.tokens = append(e.tokens, m[1]+m[2]+m[3]+m[4])
		rest = rest[len(m[0]):]
	}
	value := e.chain(0)
	if e.at < len(e.tokens) {
		panic(fmt.Sprintf("%s: unexpected %q", formula, e.tokens[e.at]))
	}
	return value
}

// operators are the signs of formulas by how loosely they bind, the loosest first.
var operators = [][]string{{"or"}, {"and"}, {"<", "<=", ">", ">=", "=", "!="}, {"+", "-"},
	{"*", "/"}}

func (e *evaluation) peek() string {
	if e.at < len(e.tokens) && !e.quoted[e.at] {
		return e.tokens[e.at]
	}
	return ""
}

func (e *evaluation) chain(level int) any {
	if level == len(operators) {
		return e.atom()
	}
	if level == 2 && e.peek() == "not" {
		e.at++
		return e.chain(2) != true
	}
	left := e.chain(level + 1)
	for slices.Contains(operators[level], e.peek()) {
		sign := e.tokens[e.at]
		e.at++
		left = combine(sign, left, e.chain(level+1))
	}
	return left
}

func combine(sign string, left, right any) any {
	a, b := number64(left), number64(right)
	switch sign {
	case "or":
		return left == true || right == true
	case "and":
		return left == true && right == true
	case "=":
		return left == right
	case "!=":
		return left != right
	case "<":
		return a < b
	case "<=":
		return a <= b
	case ">":
		return a > b
	case ">=":
		return a >= b
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	}
	return a / b
}

func number64(x any) float64 {
	switch x := x.(type) {
	case float64:
		return x
	case bool: // a condition counts as 1 or 0
		if x {
			return 1
		}
		return 0
	}
	return math.NaN()
}

func (e *evaluation) atom() any {
	token, quoted := e.tokens[e.at], e.quoted[e.at]
	e.at++
	if quoted {
		return token
	}
	if f, err := strconv.ParseFloat(token, 64); err == nil {
		return f
	}
	switch {
	case token == "-":
		return -number64(e.atom())
	case token == "(":
		value := e.chain(0)
		e.at++
		return value
	case e.peek() == "(":
		return e.state.call(token, e.arguments())
	}
	return e.state.get(token)
}

// arguments returns the texts of the arguments of a function.
func (e *evaluation) arguments() (list []string) {
	depth, text := 0, []string{}
	for ; ; e.at++ {
		token := e.tokens[e.at]
		if e.quoted[e.at] {
			token = "'" + token + "'"
		}
		if token == "(" {
			if depth++; depth == 1 {
				continue
			}
		}
		if token == ")" {
			if depth--; depth == 0 {
				e.at++
				return append(list, strings.Join(text, " "))
			}
		}
		if token == "," && depth == 1 {
			list, text = append(list, strings.Join(text, " ")), nil
			continue
		}
		text = append(text, token)
	}
}

func (s bookState) with(handle string, value any) bookState {
	handles := map[string]any{}
	for k, v := range s.handles {
		handles[k] = v
	}
	handles[handle] = value
	return bookState{handles, s.before, s.chapter}
}

// pair returns a formula's values here and at the next stop of a handle, or at its last two stops.
func (s bookState) pair(formula, handle string) (a, b float64) {
	stops := s.chapter.Stops[handle]
	i := min(slices.Index(stops, s.handles[handle]), len(stops)-2)
	return number64(s.with(handle, stops[i]).evaluate(formula)),
		number64(s.with(handle, stops[i+1]).evaluate(formula))
}

func (s bookState) call(name string, of []string) any {
	value := func(i int) float64 { return number64(s.evaluate(of[i])) }
	run := func() map[string]any {
		name := "here"
		if len(of) > 1 {
			name = of[1]
		}
		record, _ := s.get(name).(map[string]any)
		return record
	}
	switch name {
	case "min", "max":
		best := value(0)
		for i := range of {
			if v := value(i); (name == "min") == (v < best) {
				best = v
			}
		}
		return best
	case "tenths":
		return math.Round(1000*value(0)) / 1000
	case "abs":
		return math.Abs(value(0))
	case "binds":
		return run()["bound"] == of[0]
	case "most":
		parts, _ := run()["parts"].(map[string]any)
		for _, ms := range parts {
			if number64(ms) > number64(parts[of[0]]) {
				return false
			}
		}
		return true
	case "before":
		return bookState{s.before, s.before, s.chapter}.evaluate(of[0])
	case "at":
		return s.with(of[0], s.evaluate(of[1])).evaluate(of[2])
	}
	a, b := s.pair(of[0], of[1])
	switch name {
	case "rises":
		return b > a+1e-9*math.Abs(a)
	case "falls":
		return b < a-1e-9*math.Abs(a)
	case "grows":
		return b >= a*value(2)
	}
	panic("there is no function " + name)
}

// get returns what a name stands for: a handle, a figure, or a field of a run.
func (s bookState) get(name string) any {
	if value, found := s.handles[name]; found {
		return value
	}
	if formula, found := s.chapter.Figures[name]; found {
		return s.evaluate(formula)
	}
	runs, path := s.chapter.Runs(s.handles), strings.Split(name, ".")
	run, found := runs[path[0]]
	if found {
		path = path[1:]
	} else {
		run = runs["here"]
	}
	var value any = s.chapter.answer(run)
	for _, key := range path {
		if list, ok := value.([]any); ok {
			i, err := strconv.Atoi(key)
			if err != nil || i >= len(list) {
				return nil
			}
			value = list[i]
			continue
		}
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}

// answer is what this program says to what a chapter asks, as JSON has it.
func (c *bookChapter) answer(of asked) (record map[string]any) {
	key, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	if record = c.Known[string(key)]; record != nil {
		return record
	}
	defer func() { c.Known[string(key)] = record }()
	if of.Kind == "result" {
		return c.Result(of.Settings)
	}
	if of.Kind == "overview" {
		return courseOf(of.Settings)
	}
	var chunks []playground.Chunk
	for _, p := range of.Prompts {
		chunks = append(chunks, playground.Chunk(p))
	}
	var text []byte
	step, err := c.Servers.Step(of.Settings, chunks, of.Decodes, of.Context)
	if err == nil {
		text, err = json.Marshal(step)
	}
	if err == nil {
		err = json.Unmarshal(text, &record)
	}
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return record
}

// courseOf returns the states of a run at the end of each second, as ledger.js has them.
func courseOf(settings []string) map[string]any {
	o, err := playground.NewOverview(context.Background(), settings, nil)
	if err != nil {
		panic(err)
	}
	second := []any{}
	for i := 0; float64(1000*i) <= o.Ends && i < 120; i++ {
		state := playground.Point{}
		for _, p := range o.Points {
			if p.At <= float64(1000*i) {
				state = p
			}
		}
		second = append(second, map[string]any{"waiting": float64(state.Waiting),
			"running": float64(state.Running), "used": state.Used})
	}
	return map[string]any{"second": second}
}
