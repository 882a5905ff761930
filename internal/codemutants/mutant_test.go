package codemutants

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mutant is one fault, made by an operator at a node of the syntax tree.
type mutant struct {
	id       uint16 // selects the fault in its package
	folder   string // of the package, from the root of the module
	file     string // the path from the root of the module
	line     int
	operator string
	function string   // the declaration around the node, with the type of its receiver
	node     string   // the text of the node
	calls    []string // the functions that the node calls, or that are called with it or its result
	lint     string   // the linter that finds the fault; empty for none
	change   string   // what the node becomes, for the output
	wraps    []wrap
}

// key is the value of the variable of the environment that switches the mutant on.
func (m *mutant) key() string { return fmt.Sprint(m.folder, ":", m.id) }

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d: %s: %s -> %s", m.file, m.line, m.operator, short(m.node), short(m.change))
}

// short returns the first line of a text, at most 60 bytes of it.
func short(text string) string {
	line, _, more := strings.Cut(text, "\n")
	if len(line) > 60 {
		line, more = strings.ToValidUTF8(line[:60], ""), true
	}
	if more {
		line += " …"
	}
	return line
}

// wrap puts text around a part of a file. The wraps of one file are nested, and an outer one is
// made before the inner ones.
type wrap struct {
	begin, end     int
	prefix, suffix string
}

// source is a file in which operators look for nodes.
type source struct {
	folder  string
	path    string
	text    string
	set     *token.FileSet
	syntax  *ast.File
	info    *types.Info
	last    *uint16 // the id of the last mutant of the package
	mutants []*mutant
}

// find makes the mutants of the file. Nothing is changed in constants and types, since a fault
// there cannot be switched on while a program runs.
func (s *source) find() {
	ast.PreorderStack(s.syntax, nil, func(n ast.Node, stack []ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok == token.VAR
		case ast.Stmt:
			if inList(n, stack) {
				s.statement(n, stack)
			}
		case ast.Expr:
			if v := s.info.Types[n]; v.IsType() || v.Value != nil {
				s.constant(n, v, stack)
				return false
			}
			s.expression(n, stack)
		}
		return true
	})
}

// add makes a mutant of a node with one wrap around it. In the texts of the wrap, %ID is the id of
// the mutant, and %ON the expression that is true while it is switched on.
func (s *source) add(operator string, n ast.Node, stack []ast.Node, change, prefix, suffix string) *mutant {
	*s.last++
	on := fmt.Sprintf("codeMutantOn(%d)", *s.last)
	fill := strings.NewReplacer("%ON", on, "%ID", fmt.Sprint(*s.last)).Replace
	begin, end := s.offset(n.Pos()), s.offset(n.End())
	m := &mutant{
		id: *s.last, folder: s.folder, file: s.path, line: s.set.Position(n.Pos()).Line,
		operator: operator, function: s.function(stack), node: s.textOf(n), calls: s.calls(n, stack), change: change,
		wraps: []wrap{{begin, end, fill(prefix), fill(suffix)}},
	}
	s.mutants = append(s.mutants, m)
	return m
}

func (s *source) offset(p token.Pos) int { return s.set.Position(p).Offset }

func (s *source) textOf(n ast.Node) string { return s.text[s.offset(n.Pos()):s.offset(n.End())] }

// function returns the name of the outermost function of a stack, such as (*Type).Method.
func (s *source) function(stack []ast.Node) string {
	for _, n := range stack {
		if f, ok := n.(*ast.FuncDecl); ok {
			if f.Recv == nil {
				return f.Name.Name
			}
			return "(" + s.textOf(f.Recv.List[0].Type) + ")." + f.Name.Name
		}
	}
	return ""
}

// calls returns the full names of the functions that a node calls itself, and of those whose call in
// the same statement has the node as a part, such as (*log/slog.Logger).Info. The capacity of a make
// has a name of its own.
func (s *source) calls(n ast.Node, stack []ast.Node) (names []string) {
	var child ast.Node
	switch n := n.(type) {
	case *ast.ExprStmt:
		stack = append(slices.Clip(stack), n.X)
	case *ast.DeferStmt:
		stack = append(slices.Clip(stack), n.Call)
	case *ast.CallExpr:
		stack = append(slices.Clip(stack), n)
	default:
		child = n
	}
	for _, parent := range slices.Backward(stack) {
		switch parent := parent.(type) {
		case *ast.CallExpr:
			names = append(names, s.callee(parent, child))
		case ast.Stmt, *ast.FuncLit:
			return names
		}
		child = parent
	}
	return names
}

// callee returns the full name of the function that is called with a part; empty for a value.
func (s *source) callee(call *ast.CallExpr, part ast.Node) string {
	if s.isCapacity(call, part) {
		return "capacity of make"
	}
	name, _ := call.Fun.(*ast.Ident)
	if selector, ok := call.Fun.(*ast.SelectorExpr); ok {
		name = selector.Sel
	}
	if f, ok := s.info.Uses[name].(*types.Func); ok {
		return f.FullName()
	}
	return ""
}

// isCapacity reports whether a part of a call is the capacity of a slice or of a map that is made.
func (s *source) isCapacity(call *ast.CallExpr, part ast.Node) bool {
	name, ok := call.Fun.(*ast.Ident)
	if !ok || name.Name != "make" || !s.info.Types[name].IsBuiltin() {
		return false
	}
	_, isMap := s.info.TypeOf(call).Underlying().(*types.Map)
	return isMap && len(call.Args) == 2 && call.Args[1] == part || len(call.Args) == 3 && call.Args[2] == part
}

// inList reports whether a statement is one of a list, so that others can stand around it.
func inList(n ast.Stmt, stack []ast.Node) bool {
	var list []ast.Stmt
	switch parent := stack[len(stack)-1].(type) {
	case *ast.BlockStmt:
		list = parent.List
	case *ast.CaseClause:
		list = parent.Body
	case *ast.CommClause:
		list = parent.Body
	}
	return slices.Contains(list, n)
}

// statement applies the operators of statements: a statement is dropped, results become zero, and
// an addition to a variable becomes a subtraction.
func (s *source) statement(n ast.Stmt, stack []ast.Node) {
	drop := func() { s.add("drop", n, stack, "nothing", "if !%ON { ", " }") }
	switch n := n.(type) {
	case *ast.ExprStmt:
		if call, ok := n.X.(*ast.CallExpr); !ok || s.textOf(call.Fun) != "panic" {
			drop()
		}
	case *ast.AssignStmt:
		other := map[token.Token]string{token.ADD_ASSIGN: "-=", token.SUB_ASSIGN: "+="}[n.Tok]
		switch {
		case n.Tok == token.DEFINE || s.textOf(n.Lhs[0]) == "_":
		case other != "" && isBasic(s.info.TypeOf(n.Lhs[0]), types.IsNumeric):
			drop()
			changed := s.textOf(n.Lhs[0]) + " " + other + " " + s.textOf(n.Rhs[0])
			s.add("arithmetic", n, stack, changed, "if %ON { "+changed+" } else { ", " }")
		default:
			drop()
		}
	case *ast.BranchStmt:
		if n.Tok == token.BREAK || n.Tok == token.CONTINUE {
			drop()
		}
	case *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt:
		drop()
	case *ast.ReturnStmt:
		if len(n.Results) == 0 {
			drop()
		} else if slices.ContainsFunc(n.Results, s.isNotZero) {
			m := s.add("zero", n, stack, "return zero values", "if %ON { return "+s.zeroResults(stack)+" }; ", "")
			if s.losesError(n, stack) {
				m.lint = "nilerr"
			}
		}
	}
}

// losesError reports whether a return of zero values is nil in place of an error that has just been
// compared with nil: it is directly in an if or a case for err != nil, where nothing else uses err
// nor branches, and in a function without defer: the linter does not look into others.
func (s *source) losesError(n *ast.ReturnStmt, stack []ast.Node) bool {
	if s.defers(stack) {
		return false
	}
	var condition ast.Expr
	var body []ast.Stmt
	switch parent := stack[len(stack)-1].(type) {
	case *ast.BlockStmt:
		if branch, ok := stack[len(stack)-2].(*ast.IfStmt); ok && branch.Body == parent {
			condition, body = branch.Cond, parent.List
		}
	case *ast.CaseClause:
		if len(parent.List) == 1 {
			condition, body = parent.List[0], parent.Body
		}
	}
	comparison, ok := condition.(*ast.BinaryExpr)
	if !ok || comparison.Op != token.NEQ || s.textOf(comparison.Y) != "nil" {
		return false
	}
	err, ok := comparison.X.(*ast.Ident)
	if !ok || s.info.TypeOf(err).String() != "error" {
		return false
	}
	uses := func(n ast.Node) (found bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			name, ok := n.(*ast.Ident)
			found = found || ok && s.info.Uses[name] == s.info.Uses[err]
			return true
		})
		return found
	}
	last := n.Results[len(n.Results)-1]
	other := func(n ast.Stmt) bool {
		switch n.(type) {
		case *ast.ExprStmt, *ast.AssignStmt, *ast.IncDecStmt:
			return uses(n)
		}
		return true
	}
	return body[len(body)-1] == n && !slices.ContainsFunc(body[:len(body)-1], other) &&
		uses(last) && types.Implements(s.info.TypeOf(last), types.Universe.Lookup("error").Type().Underlying().(*types.Interface))
}

// defers reports whether the innermost function of a stack has a defer, or a loop over a function.
func (s *source) defers(stack []ast.Node) (found bool) {
	for _, n := range slices.Backward(stack) {
		switch n.(type) {
		case *ast.FuncDecl, *ast.FuncLit:
			ast.Inspect(n, func(child ast.Node) bool {
				switch child := child.(type) {
				case *ast.DeferStmt:
					found = true
				case *ast.RangeStmt:
					_, is := s.info.TypeOf(child.X).Underlying().(*types.Signature)
					found = found || is
				case *ast.FuncLit:
					return child == n
				}
				return true
			})
			return found
		}
	}
	return false
}

// isNotZero reports whether an expression is no literal and no constant of a zero value, and none of
// a boolean, which the operator of constants changes.
func (s *source) isNotZero(e ast.Expr) bool {
	if v := s.info.Types[e].Value; v != nil && (v.Kind() == constant.Int || v.Kind() == constant.String) {
		return v.ExactString() != "0" && v.ExactString() != `""`
	}
	text := strings.Join(strings.Fields(s.textOf(e)), "")
	literal, ok := e.(*ast.CompositeLit)
	return !(ok && len(literal.Elts) == 0) && !slices.Contains([]string{"nil", "0", `""`, "false", "true"}, text)
}

// zeroResults returns zero values of the results of the innermost function of a stack.
func (s *source) zeroResults(stack []ast.Node) string {
	var all []string
	for _, n := range slices.Backward(stack) {
		var results *ast.FieldList
		switch f := n.(type) {
		case *ast.FuncDecl:
			results = f.Type.Results
		case *ast.FuncLit:
			results = f.Type.Results
		default:
			continue
		}
		for _, field := range results.List {
			for range max(1, len(field.Names)) {
				all = append(all, "codeMutantZero["+s.textOf(field.Type)+"]()")
			}
		}
		break
	}
	return strings.Join(all, ", ")
}

var logical = map[token.Token]string{token.LAND: "||", token.LOR: "&&"}

var boundaries = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

// expression applies the operators of expressions that are not constant.
func (s *source) expression(n ast.Expr, stack []ast.Node) {
	if call, ok := n.(*ast.CallExpr); ok {
		s.swap(call, stack)
		return
	}
	binary, _ := n.(*ast.BinaryExpr)
	if s.isCondition(n, binary, stack) {
		s.add("negate", n, stack, "!("+s.textOf(n)+")", "((", ") != %ON)")
	}
	if binary == nil {
		return
	}
	with := func(operator string) string { return s.textOf(binary.X) + " " + operator + " " + s.textOf(binary.Y) }
	if logical[binary.Op] != "" { // !(!x && !y) is x || y
		m := s.add("logic", n, stack, with(logical[binary.Op]), "((", ") != %ON)")
		for _, e := range []ast.Expr{binary.X, binary.Y} {
			m.wraps = append(m.wraps, wrap{s.offset(e.Pos()), s.offset(e.End()), "((", m.wraps[0].suffix})
		}
	}
	if changed := with(boundaries[binary.Op]); boundaries[binary.Op] != "" {
		s.add("boundary", n, stack, changed, "(%ON && ("+changed+") || !%ON && (", "))")
	}
	other := map[token.Token]string{token.ADD: "-", token.SUB: "+"}[binary.Op]
	if other != "" && isBasic(s.info.TypeOf(n), types.IsNumeric) && s.pure(binary.X) && s.pure(binary.Y) {
		s.add("arithmetic", n, stack, with(other), "codeMutantPick(%ID, "+with(other)+", ", ")")
	}
}

// isCondition reports whether an expression is one that branches or comparisons are made of,
// without && and || in it.
func (s *source) isCondition(n ast.Expr, binary *ast.BinaryExpr, stack []ast.Node) bool {
	_, parens := n.(*ast.ParenExpr)
	if !isBasic(s.info.TypeOf(n), types.IsBoolean) || parens || binary != nil && logical[binary.Op] != "" {
		return false
	}
	i := len(stack) - 1
	for ; i > 0; i-- {
		if _, parens := stack[i].(*ast.ParenExpr); !parens {
			break
		}
	}
	switch parent := stack[i].(type) {
	case *ast.BinaryExpr:
		return logical[parent.Op] != ""
	case *ast.IfStmt, *ast.ForStmt:
		return true
	case *ast.CaseClause:
		whole, ok := stack[i-2].(*ast.SwitchStmt)
		return ok && whole.Tag == nil
	case *ast.UnaryExpr:
		return false // the operand of a condition that is negated itself
	}
	return binary != nil
}

// constant changes an integer or a boolean that stands for itself.
func (s *source) constant(n ast.Expr, v types.TypeAndValue, stack []ast.Node) {
	kind, ok := v.Type.(*types.Basic)
	if !ok || v.Value == nil {
		return // a type, or a constant of a named type
	}
	literal, _ := n.(*ast.BasicLit)
	name, _ := n.(*ast.Ident)
	switch {
	case name != nil && (name.Name == "true" || name.Name == "false"):
		s.add("constant", n, stack, fmt.Sprint(name.Name == "false"), "(", " != %ON)")
	case literal != nil && literal.Kind == token.INT && kind.Info()&(types.IsInteger|types.IsUntyped) == types.IsInteger:
		value, _ := constant.Int64Val(v.Value)
		changed := value + 1
		if value == 1 {
			changed = 0
		}
		s.add("constant", n, stack, fmt.Sprint(changed), fmt.Sprintf("codeMutantPick[%s](%%ID, %d, ", kind.Name(), changed), ")")
	}
}

// symmetric are functions whose result is the same with their arguments exchanged.
var symmetric = map[string]bool{"bytes.Equal": true, "maps.Equal": true, "reflect.DeepEqual": true, "slices.Equal": true, "strings.EqualFold": true}

// swap exchanges two arguments of the same type that follow each other.
func (s *source) swap(call *ast.CallExpr, stack []ast.Node) {
	if v := s.info.Types[call.Fun]; v.IsType() || v.IsBuiltin() || symmetric[s.callee(call, nil)] {
		return
	}
	for i := range max(0, len(call.Args)-1) {
		x, y := call.Args[i], call.Args[i+1]
		a, b := s.textOf(x), s.textOf(y)
		same := types.Identical(s.info.TypeOf(x), s.info.TypeOf(y))
		constants := s.info.Types[x].Value != nil && s.info.Types[y].Value != nil
		if !same || a == b || constants || !s.pure(x) || !s.pure(y) || s.isLabel(call, i) {
			continue
		}
		m := s.add("swap", call, stack, fmt.Sprintf("%s(… %s, %s …)", s.textOf(call.Fun), b, a), "", "")
		pick := fmt.Sprintf("codeMutantPick(%d, ", m.id)
		m.wraps = []wrap{
			{s.offset(x.Pos()), s.offset(x.End()), pick + b + ", ", ")"},
			{s.offset(y.Pos()), s.offset(y.End()), pick + a + ", ", ")"},
		}
	}
}

// isLabel reports whether an argument and the next one are a format or a message before values of
// any type, or a constant among them, such as the name of an attribute.
func (s *source) isLabel(call *ast.CallExpr, i int) bool {
	f, ok := s.info.TypeOf(call.Fun).Underlying().(*types.Signature)
	if !ok || !f.Variadic() || i < f.Params().Len()-2 {
		return false
	}
	values, ok := f.Params().At(f.Params().Len() - 1).Type().(*types.Slice)
	constant := func(i int) bool { return s.info.Types[call.Args[i]].Value != nil }
	return ok && types.IsInterface(values.Elem()) && (i == f.Params().Len()-2 || constant(i) || constant(i+1))
}

// pure reports whether an expression may be evaluated twice.
func (s *source) pure(e ast.Expr) bool {
	ok := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			v := s.info.Types[n.Fun]
			ok = ok && (v.IsType() || v.IsBuiltin())
		case *ast.UnaryExpr:
			ok = ok && n.Op != token.ARROW && n.Op != token.AND
		case *ast.FuncLit, *ast.CompositeLit:
			ok = false
		}
		return ok
	})
	return ok
}

func isBasic(t types.Type, info types.BasicInfo) bool {
	if t == nil {
		return false // of the name of a package
	}
	kind, ok := t.Underlying().(*types.Basic)
	return ok && kind.Info()&info != 0
}
