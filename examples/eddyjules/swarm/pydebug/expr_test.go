package pydebug

import (
	"strings"
	"testing"
)

// shown returns the tree of n as text, with brackets around each node.
func shown(s *Module, n *Expr) string {
	if len(n.Kids) == 0 {
		return s.text(n)
	}
	var kids []string
	for _, kid := range n.Kids {
		kids = append(kids, shown(s, kid))
	}
	names := map[ExprKind]string{
		ExprSubscript: "sub", ExprCall: "call", ExprTernary: "if", ExprLambda: "lambda", ExprComp: "comp",
		ExprCompIn: "in", ExprCompIf: "where", ExprTuple: "tuple", ExprSlice: "slice", ExprKeyword: "kw",
		ExprFString: "f", ExprInterp: "{}", ExprParen: "paren", ExprList: "list", ExprDict: "dict",
		ExprPair: "pair", ExprSet: "set", ExprWalrus: ":=", ExprStar: "star", ExprNot: "not", ExprYield: "yield",
	}
	name := names[n.Kind]
	if name == "" {
		name = n.Op
	}
	return name + "(" + strings.Join(kids, " ") + ")"
}

func TestExpressions(t *testing.T) {
	tests := []struct{ src, want string }{
		{"a + b * c ** -d", "+(a *(b **(c -(d))))"},
		{"-a ** b - c", "-(-(**(a b)) c)"},
		{"not a in b or c and d", "or(not(in(a b)) and(c d))"},
		{"a not in b is not c", "is not(not in(a b) c)"},
		{"a if b else c if d else e", "if(a b if(c d e))"},
		{"x.y[1].z(2, k=3)[i, j:k]", "sub(call(z(sub(y(x) 1)) 2 kw(3)) tuple(i slice(j k)))"},
		{"[a[i] for i in x if i if j]", "comp(sub(a i) in(i x) where(i) where(j))"},
		{"{k: v for k, v in d.items()}", "comp(pair(k v) in(tuple(k v) call(items(d))))"},
		{"sum(x for y in z)", "call(sum comp(x in(y z)))"},
		{"lambda a, b=c[0]: a[1]", "lambda(sub(c 0) sub(a 1))"},
		{"(yield x), *y", "tuple(paren(yield(x)) star(y))"},
		{`f"{a[0]!r:{w}}" "b"`, "f({}(sub(a 0) {}(w)))"},
		{"(p := q)[0]", "sub(paren(:=(p q)) 0)"},
		{"{**a, 'b': c}, {d, e}, {}, ()", "tuple(dict(star(a) pair('b' c)) set(d e) {} ())"},
	}
	for _, tt := range tests {
		s, problem := parse(tt.src)
		if problem != nil || len(s.All) != 1 || s.All[0].Value == nil {
			t.Errorf("%s: %v", tt.src, problem)
			continue
		}
		if got := shown(s, s.All[0].Value); got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.src, got, tt.want)
		}
	}
}

func TestStatements(t *testing.T) {
	s, problem := parse("a, b = c = d\nx[0] += 1\nfor i, (j, *k) in e: f; g = 1\nwith o() as p, q as r:\n    pass\nimport os.path as op, sys\nfrom m import (n as w)\nasync def h(self, u=1, *v):\n    return (z := u)\n")
	if problem != nil {
		t.Fatal(problem)
	}
	want := map[string][]string{
		"":       {"a", "b", "c"},
		"for":    {"i", "j", "k"},
		"with":   {"p", "r"},
		"from":   {"n", "w"},
		"def":    {"h"},
		"return": {"z"},
	}
	seen := map[string]bool{}
	for _, st := range s.All {
		names, ok := want[st.Keyword]
		if !ok || seen[st.Keyword] {
			continue
		}
		seen[st.Keyword] = true
		if strings.Join(st.Names, " ") != strings.Join(names, " ") {
			t.Errorf("%s binds %q, want %q", st.Keyword, st.Names, names)
		}
	}
	if len(seen) != len(want) {
		t.Errorf("saw %v", seen)
	}
}
