package commands

import (
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// decide notes which parts of a condition do not run, where its outcome is known. It returns false
// where a part of the node runs, or runs several times, for reasons that are not known.
func (v variables) decide(node syntax.Node) bool {
	pass := func(list []*syntax.Stmt) {
		for _, statement := range list {
			v.passed[statement] = true
		}
	}
	switch n := node.(type) {
	case *syntax.ForClause, *syntax.WhileClause, *syntax.FuncDecl:
		return false
	case *syntax.IfClause:
		if len(n.Cond) == 0 { // what stands behind else
			return true
		}
		holds, known := v.holds(n.Cond[len(n.Cond)-1])
		switch {
		case !known || len(n.Cond) > 1:
			return false
		case !holds:
			pass(n.Then)
		case n.Else != nil:
			v.passed[n.Else] = true
		}
		v.decided[n] = true
	case *syntax.BinaryCmd:
		if n.Op != syntax.AndStmt && n.Op != syntax.OrStmt {
			return true
		}
		holds, known := v.holds(n.X)
		if known && holds != (n.Op == syntax.AndStmt) {
			v.passed[n.Y] = true
		}
		return known
	case *syntax.CaseClause:
		text, known := v.literal(n.Word)
		syntax.Walk(n.Word, func(node syntax.Node) bool { // an argument may be another one
			p, is := node.(*syntax.ParamExp)
			known = known && (!is || p.Param != nil && syntax.ValidName(p.Param.Value))
			return known
		})
		for i := 0; known && i < len(n.Items); i++ {
			for _, pattern := range n.Items[i].Patterns {
				form, plain := v.literal(pattern)
				if match, err := path.Match(form, text); plain && err == nil && match {
					for k, item := range n.Items {
						v.passed[item] = k != i
					}
					return true
				}
			}
		}
		return false
	}
	return true
}

// holds returns the outcome of a test, and whether it is known.
func (v variables) holds(statement *syntax.Stmt) (holds, known bool) {
	switch c := statement.Cmd.(type) {
	case *syntax.TestClause:
		holds, known = v.test(c.X)
	case *syntax.ArithmCmd:
		var n int
		n, known = v.compute(c.X)
		holds = n != 0
	case *syntax.CallExpr:
		holds, known = v.tested(c)
	case *syntax.BinaryCmd:
		x, one := v.holds(c.X)
		y, other := v.holds(c.Y)
		switch c.Op {
		case syntax.AndStmt:
			holds, known = x && y, one && other || one && !x || other && !y
		case syntax.OrStmt:
			holds, known = x || y, one && other || one && x || other && y
		}
	}
	return holds != statement.Negated, known
}

// tested returns the outcome of [ … ] and of test.
func (v variables) tested(call *syntax.CallExpr) (holds, known bool) {
	words := v.fields(call.Args)
	if len(words) == 0 || words[0] != "[" && words[0] != "test" {
		return false, false
	}
	for _, word := range words {
		if strings.Contains(word, open) {
			return false, false
		}
	}
	words = words[1:]
	if len(words) > 0 && words[len(words)-1] == "]" {
		words = words[:len(words)-1]
	}
	not := len(words) > 1 && words[0] == "!"
	if not {
		words = words[1:]
	}
	switch len(words) {
	case 1:
		holds, known = words[0] != "", true
	case 2:
		holds, known = compared("", words[0], words[1])
	case 3:
		holds, known = compared(words[0], words[1], words[2])
	}
	return holds != not, known
}

// test returns the outcome of [[ … ]].
func (v variables) test(expression syntax.TestExpr) (holds, known bool) {
	switch e := expression.(type) {
	case *syntax.Word:
		text, plain := v.literal(e)
		return text != "", plain
	case *syntax.ParenTest:
		return v.test(e.X)
	case *syntax.UnaryTest:
		if e.Op == syntax.TsNot {
			holds, known = v.test(e.X)
			return !holds, known
		}
		word, _ := e.X.(*syntax.Word)
		if word == nil {
			return false, false
		}
		text, plain := v.literal(word)
		holds, known = compared("", e.Op.String(), text)
		return holds, known && plain
	case *syntax.BinaryTest:
		x, isWord := e.X.(*syntax.Word)
		y, both := e.Y.(*syntax.Word)
		if e.Op == syntax.AndTest || e.Op == syntax.OrTest {
			one, known := v.test(e.X)
			other, also := v.test(e.Y)
			if and := e.Op == syntax.AndTest; known && one != and || also && other != and {
				return !and, true
			}
			return one, known && also
		}
		if !isWord || !both {
			return false, false
		}
		left, plain := v.literal(x)
		right, also := v.literal(y)
		holds, known = compared(left, e.Op.String(), right)
		return holds, known && plain && also
	}
	return false, false
}

// compared returns the outcome of a test of one or two texts, and whether it is one that needs
// nothing else.
func compared(x, operator, y string) (holds, known bool) {
	switch operator {
	case "-n":
		return y != "", true
	case "-z":
		return y == "", true
	case "=", "==":
		match, err := path.Match(y, x)
		return x == y || match, err == nil
	case "!=":
		match, err := path.Match(y, x)
		return x != y && !match, err == nil
	}
	a, err := strconv.Atoi(x)
	b, fault := strconv.Atoi(y)
	if err != nil || fault != nil {
		return false, false
	}
	switch operator {
	case "-eq":
		return a == b, true
	case "-ne":
		return a != b, true
	case "-gt":
		return a > b, true
	case "-ge":
		return a >= b, true
	case "-lt":
		return a < b, true
	case "-le":
		return a <= b, true
	}
	return false, false
}

// compute returns the value of an arithmetic expression such as GROUP_SIZE * 8, and whether it is
// the same in every shell.
func (v variables) compute(expression syntax.ArithmExpr) (int, bool) {
	switch e := expression.(type) {
	case *syntax.ParenArithm:
		return v.compute(e.X)
	case *syntax.Word:
		text, plain := v.literal(e)
		if value, is := v.values[text]; is && v.set[text] == 0 {
			text = value // a name means its value here
		}
		n, err := strconv.Atoi(text)
		decimal := err == nil && strconv.Itoa(n) == text // others are octal, say
		return n, plain && decimal && n >= 0 && n < MostReplicas
	case *syntax.BinaryArithm:
		if e.Op == syntax.TernQuest {
			return v.choose(e)
		}
		x, known := v.compute(e.X)
		y, both := v.compute(e.Y)
		var n int
		truth := func(holds bool) {
			if holds {
				n = 1
			}
		}
		switch {
		case !known || !both:
			return 0, false
		case e.Op == syntax.Mul:
			n = x * y
		case e.Op == syntax.Add:
			n = x + y
		case e.Op == syntax.Sub:
			n = x - y
		case e.Op == syntax.Quo && y > 0:
			n = x / y
		case e.Op == syntax.Rem && y > 0:
			n = x % y
		case e.Op == syntax.Gtr:
			truth(x > y)
		case e.Op == syntax.Lss:
			truth(x < y)
		case e.Op == syntax.Geq:
			truth(x >= y)
		case e.Op == syntax.Leq:
			truth(x <= y)
		case e.Op == syntax.Eql:
			truth(x == y)
		default:
			return 0, false
		}
		return n, n >= 0 && n < MostReplicas
	}
	return 0, false
}

// choose returns the value of a choice such as N > 16 ? N : 16.
func (v variables) choose(e *syntax.BinaryArithm) (int, bool) {
	which, known := v.compute(e.X)
	either, ok := e.Y.(*syntax.BinaryArithm)
	if !known || !ok || either.Op != syntax.TernColon {
		return 0, false
	}
	if which != 0 {
		return v.compute(either.X)
	}
	return v.compute(either.Y)
}

// unset returns the name of a variable in an expression that has no value, "" without one.
func (v variables) unset(expression syntax.ArithmExpr) (name string) {
	syntax.Walk(expression, func(node syntax.Node) bool {
		var found string
		switch n := node.(type) {
		case *syntax.Lit:
			found = n.Value
		case *syntax.ParamExp:
			if n.Param != nil {
				found = n.Param.Value
			}
		}
		_, set := v.values[found]
		if name == "" && syntax.ValidName(found) && (!set || v.set[found] > 0) {
			name = found
		}
		return true
	})
	return name
}

// arm is one of the ways that a case in a script may go.
type arm struct {
	Place
	from, to uint // offsets in the script
}

// arm returns an arm with what its pattern and the comment behind it say, as they stand in
// start.sh: the name of a group, which begins with its role, its number of replicas, and the image
// that has the version of the engine.
func (v variables) arm(item *syntax.CaseItem) arm {
	a := arm{from: item.Pos().Offset(), to: item.End().Offset()}
	if len(item.Patterns) != 1 || len(item.Stmts) == 0 {
		return a
	}
	name, plain := v.literal(item.Patterns[0])
	if !plain {
		return a
	}
	if role := ofArm(name); role != "" {
		a.Name, a.Role = name, role
	}
	for _, comment := range item.Stmts[0].Comments {
		said, found := strings.CutPrefix(strings.TrimSpace(comment.Text), "replicas: ")
		digits, _, _ := strings.Cut(said, ",")
		if n, err := strconv.Atoi(digits); found && err == nil && n > 0 {
			a.Replicas = min(n, MostReplicas)
		}
		if _, image, named := strings.Cut(said, ", image: "); named {
			a.Image = image
		}
	}
	return a
}

// ofArm returns the role with which the name of a group begins; empty without one.
func ofArm(name string) string {
	switch role, _, _ := strings.Cut(name, "-"); role {
	case "mixed", "prefill", "decode":
		return role
	}
	return ""
}

// at returns what stands around a command at a position.
func (a *arm) at(pos syntax.Pos) Place {
	if pos.Offset() < a.from || pos.Offset() >= a.to {
		return Place{}
	}
	return a.Place
}
