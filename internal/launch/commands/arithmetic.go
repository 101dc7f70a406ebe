package commands

import (
	"strconv"

	"mvdan.cc/sh/v3/syntax"
)

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
