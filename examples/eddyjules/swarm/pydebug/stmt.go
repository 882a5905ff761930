package pydebug

import "slices"

// Stmt is one statement: of a compound statement, the header, with its body.
type Stmt struct {
	Keyword     string // "if", "def", "return", …; empty for an expression or an assignment
	First, Last int    // its tokens are Module.Tokens[First:Last], without the line ending
	Start, End  int    // byte offsets
	Line        int    // of the first token
	EndLine     int    // of the last token
	Indent      string // the white space in front of its logical line
	StartsLine  bool   // it begins its logical line, so that a line can be inserted before it
	alone       bool   // it is the only statement of its logical line
	Parent      *Stmt  // the statement whose body it is in; nil at module level
	siblings    *[]*Stmt
	index       int // in siblings
	Body        []*Stmt

	Op      string   // "=" or "+=" and so on, for an assignment
	Targets []*Expr  // of an assignment, a for, a with, a del
	Value   *Expr    // of an assignment, a return, a condition, an iterable
	Exprs   []*Expr  // every expression of the header, including the targets
	Names   []string // the names that it binds
}

// isLoop reports whether s is a loop.
func (s *Stmt) isLoop() bool { return s.Keyword == "for" || s.Keyword == "while" }

// After returns the statements of the same block that follow s.
func (s *Stmt) After() []*Stmt { return (*s.siblings)[s.index+1:] }

// Previous returns the statement before s in its block, or nil.
func (s *Stmt) Previous() *Stmt {
	if s.index == 0 {
		return nil
	}
	return (*s.siblings)[s.index-1]
}

// walk visits s and all statements in its body until visit returns false. It
// reports whether all were visited.
func (s *Stmt) walk(visit func(*Stmt) bool) bool {
	return visit(s) && !slices.ContainsFunc(s.Body, func(b *Stmt) bool { return !b.walk(visit) })
}

// Function returns the def that s runs in, or nil at module level and in the body of a class
// outside of any function. The statements of a class in a function run in that function.
func (s *Stmt) Function() *Stmt {
	for p := s.Parent; p != nil; p = p.Parent {
		if p.Keyword == "def" {
			return p
		}
	}
	return nil
}

// loop returns the innermost loop around s in the same function, or nil. The else
// of a loop is not part of the loop.
func (s *Stmt) loop() *Stmt {
	for p := s.Parent; p != nil && p.Keyword != "def" && p.Keyword != "class"; p = p.Parent {
		if p.isLoop() {
			return p
		}
	}
	return nil
}

// has reports whether any expression of s, without its body, satisfies test.
func (s *Stmt) has(test func(*Expr) bool) bool {
	return slices.ContainsFunc(s.Exprs, func(e *Expr) bool { return e.Has(test) })
}

// hasDeep is has for s and its body.
func (s *Stmt) hasDeep(test func(*Expr) bool) bool {
	return !s.walk(func(b *Stmt) bool { return !b.has(test) })
}

// binds reports whether s, without its body, assigns name.
func (s *Stmt) binds(name string) bool { return slices.Contains(s.Names, name) }

// bindsDeep is binds for s and its body.
func (s *Stmt) bindsDeep(name string) bool {
	return !s.walk(func(b *Stmt) bool { return !b.binds(name) })
}

// Within returns the statements in the body of s, with those in their bodies.
func (s *Stmt) Within() (all []*Stmt) {
	s.walk(func(b *Stmt) bool {
		all = append(all, b)
		return true
	})
	return all[1:]
}

// Deepest returns the last statement of s and its body.
func (s *Stmt) Deepest() *Stmt {
	for len(s.Body) > 0 {
		s = s.Body[len(s.Body)-1]
	}
	return s
}
