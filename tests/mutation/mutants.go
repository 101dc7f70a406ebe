package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
)

// mutant is one change of one file: the bytes from start to end become text.
type mutant struct {
	file       string // path of the file
	line       int    // line of the change, from 1
	start, end int    // byte offsets in the file
	was, text  string
	body       [2]int // byte offsets of the body of the function that holds it; 0 outside of any
}

// swaps holds what each operator becomes.
var swaps = map[token.Token]token.Token{
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.INC: token.DEC, token.DEC: token.INC,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
}

// mutants returns every mutant of the source of a file, in the order of the syntax tree. Some of
// them do not build, since types are not looked at.
func mutants(file string, source []byte) ([]mutant, error) {
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []mutant
	var body [2]int
	replace := func(from, to token.Pos, text string) {
		p := files.Position(from)
		end := files.Position(to).Offset
		all = append(all, mutant{file, p.Line, p.Offset, end, string(source[p.Offset:end]), text,
			body})
	}
	operator := func(at token.Pos, t token.Token) {
		if other, ok := swaps[t]; ok {
			replace(at, at+token.Pos(len(t.String())), other.String())
		}
	}
	drop := func(list []ast.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *ast.ExprStmt:
				replace(s.Pos(), s.End(), "")
			case *ast.AssignStmt:
				if s.Tok != token.DEFINE {
					replace(s.Pos(), s.End(), "")
				}
			}
		}
	}
	var visit func(n ast.Node) bool
	visit = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ArrayType, *ast.ImportSpec: // a length is a type
			return false
		case *ast.CallExpr: // any number above 0 is a sign, and any size but 32 reads a float64
			if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "ParseFloat" ||
				strings.HasSuffix(f.Sel.Name, "Inf")) {
				for _, a := range n.Args[:max(0, len(n.Args)-1)] {
					ast.Inspect(a, visit)
				}
				return false
			}
		case *ast.BinaryExpr:
			if !text(n.X) && !text(n.Y) {
				operator(n.OpPos, n.Op)
			}
		case *ast.IncDecStmt:
			operator(n.TokPos, n.Tok)
		case *ast.AssignStmt:
			operator(n.TokPos, n.Tok)
		case *ast.BasicLit:
			if v, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
				replace(n.Pos(), n.End(), strconv.FormatInt(v+1, 10))
			}
		case *ast.IfStmt:
			p, end := files.Position(n.Cond.Pos()).Offset, files.Position(n.Cond.End()).Offset
			replace(n.Cond.Pos(), n.Cond.End(), "!("+string(source[p:end])+")")
		case *ast.BlockStmt:
			drop(n.List)
		case *ast.CaseClause:
			drop(n.Body)
		}
		return true
	}
	for _, d := range tree.Decls {
		body = [2]int{}
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && !labelled(f) {
			body = [2]int{files.Position(f.Body.Pos()).Offset, files.Position(f.Body.End()).Offset}
		}
		ast.Inspect(d, visit)
	}
	return all, nil
}

// labelled reports whether f has a label; a function can have one.
func labelled(f *ast.FuncDecl) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		_, label := n.(*ast.LabeledStmt)
		found = found || label
		return true
	})
	return found
}

// text reports whether e holds a string literal, which only + joins.
func text(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			found = true
		}
		_, call := n.(*ast.CallExpr)
		return !found && !call
	})
	return found
}
