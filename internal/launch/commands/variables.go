package commands

import (
	"maps"

	"mvdan.cc/sh/v3/syntax"
)

// variables are the values of variables of a shell.
type variables struct {
	values map[string]string
	// lists are the values of arrays, and the arguments of the script as "@".
	lists map[string][]string
	// given has the names whose value the user gives, whatever the script sets.
	given map[string]bool
	// left is how many bytes the values may still take where they are used, of all commands of a
	// text together.
	left *int
	// set has the lines that set variables to what is not known, or to several values.
	set map[string]uint
	// decided has the conditions whose outcome is known, and passed the parts that do not run.
	decided, passed map[syntax.Node]bool
}

// newVariables returns variables with the values that a user gives.
func newVariables(given map[string]string) variables {
	left := MostText
	v := variables{values: map[string]string{}, lists: map[string][]string{},
		given: map[string]bool{}, left: &left}
	for name, value := range given {
		v.values[name], v.given[name] = value, true
	}
	return v
}

// constants returns the variables that a script has, or gives one value, which needs no shell.
func constants(file *syntax.File, before variables) variables {
	known := variables{maps.Clone(before.values), maps.Clone(before.lists), before.given,
		before.left, map[string]uint{}, map[syntax.Node]bool{}, map[syntax.Node]bool{}}
	times := map[string]int{}
	for name := range before.values {
		times[name] = 1
	}
	lines := map[string]uint{}
	var unsure uint // the offset up to which it is not known whether something runs
	note := func(list []*syntax.Assign, unsure bool) {
		for _, a := range list {
			if a.Name == nil || a.Naked || known.given[a.Name.Value] {
				continue
			}
			a = appending(a)
			name := a.Name.Value
			lines[name] = a.Pos().Line()
			if a.Append && known.append(a, unsure) {
				continue
			}
			times[name]++
			switch {
			case a.Array != nil && !a.Append:
				known.lists[name] = known.items(a.Array)
			case a.Append || a.Index != nil:
				known.set[name] = a.Pos().Line()
			case a.Value == nil:
				known.values[name] = ""
			default:
				value, plain := known.literal(a.Value)
				known.values[name] = named(value, name)
				if !plain {
					known.set[name] = a.Pos().Line()
				}
			}
		}
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		if node != nil && known.passed[node] {
			return false
		}
		if !known.decide(node) {
			unsure = max(unsure, node.End().Offset())
		}
		switch n := node.(type) {
		case *syntax.CallExpr:
			if len(n.Args) == 0 { // else it is of that command alone
				note(n.Assigns, n.Pos().Offset() < unsure)
			}
		case *syntax.DeclClause:
			note(n.Args, n.Pos().Offset() < unsure)
		case *syntax.WordIter:
			times[n.Name.Value], lines[n.Name.Value] = 2, n.Pos().Line()
		}
		return true
	})
	for name, n := range times {
		if n > 1 {
			delete(known.values, name)
			delete(known.lists, name)
			known.set[name] = lines[name]
		}
	}
	return known
}

// appending returns X+=" …" for X="$X …", and any other assignment as it is.
func appending(a *syntax.Assign) *syntax.Assign {
	if a.Append || a.Value == nil || len(a.Value.Parts) == 0 {
		return a
	}
	parts := a.Value.Parts
	quotes, quoted := parts[0].(*syntax.DblQuoted)
	if quoted && len(parts) == 1 && len(quotes.Parts) > 0 {
		parts = quotes.Parts
	}
	p, _ := parts[0].(*syntax.ParamExp)
	if p == nil || !isSimple(p) || p.Exp != nil || p.Param.Value != a.Name.Value {
		return a
	}
	rest := []syntax.WordPart{&syntax.DblQuoted{Left: a.Pos(), Parts: parts[1:]}}
	more := *a
	more.Append, more.Value = true, &syntax.Word{Parts: rest}
	return &more
}

// append adds to the value that a variable has: ARGS+=(…), ARGS+=" …". Where it is not known
// whether that runs, a mark stands for it. It returns false for a variable without a known value.
func (v variables) append(a *syntax.Assign, unsure bool) bool {
	name := a.Name.Value
	if before, is := v.lists[name]; is && a.Array != nil {
		more := []string{mark(a.Pos().Line(), name)}
		if !unsure {
			more = v.items(a.Array)
		}
		if *v.left -= sizeOf(before) + sizeOf(more); *v.left < 0 {
			return false
		}
		v.lists[name] = append(before[:len(before):len(before)], more...)
		return true
	}
	before, is := v.values[name]
	if !is || a.Value == nil || a.Index != nil {
		return false
	}
	more, plain := v.literal(a.Value)
	if unsure && plain { // else what is not known is asked for
		more, plain = " "+mark(a.Pos().Line(), name), false
	}
	if *v.left -= len(before) + len(more); *v.left < 0 {
		return false
	}
	if v.values[name] = before + more; !plain {
		v.set[name] = a.Pos().Line()
	}
	return true
}

// items returns the words of an array.
func (v variables) items(array *syntax.ArrayExpr) []string {
	var items []*syntax.Word
	for _, item := range array.Elems {
		items = append(items, item.Value)
	}
	return v.fields(items)
}
