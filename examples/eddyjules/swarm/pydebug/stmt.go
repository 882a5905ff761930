package pydebug

import "slices"

// stmt is one statement: for a compound statement, the header and the body.
type stmt struct {
	keyword     string // "if", "def", "return", …; empty for an expression or an assignment
	first, last int    // tokens[first:last], without the line ending
	start, end  int    // byte offsets
	line        int    // of the first token
	endLine     int    // of the last token
	indent      string // the white space in front of its logical line
	startsLine  bool   // it begins its logical line, so that a line can be inserted before it
	alone       bool   // it is the only statement of its logical line
	parent      *stmt  // the statement whose body it is in; nil at module level
	siblings    *[]*stmt
	index       int // in siblings
	body        []*stmt

	exact bool // every token was read as part of the structure; of a class or a decorator, nothing was checked

	op      string   // "=" or "+=" and so on, for an assignment
	targets []*node  // of an assignment, a for, a with, a del
	value   *node    // of an assignment, a return, a condition, an iterable
	exprs   []*node  // every expression of the header, including the targets
	names   []string // the names that it binds
}

// compound lists the keywords of statements with a body.
var compound = map[string]bool{
	"if": true, "elif": true, "else": true, "for": true, "while": true, "try": true,
	"except": true, "finally": true, "with": true, "def": true, "class": true, "match": true,
}

// isLoop reports whether s is a loop.
func (s *stmt) isLoop() bool { return s.keyword == "for" || s.keyword == "while" }

// after returns the statements of the same block that follow s.
func (s *stmt) after() []*stmt { return (*s.siblings)[s.index+1:] }

// previous returns the statement before s in its block, or nil.
func (s *stmt) previous() *stmt {
	if s.index == 0 {
		return nil
	}
	return (*s.siblings)[s.index-1]
}

// walk visits s and all statements in its body until visit returns false. It
// reports whether all were visited.
func (s *stmt) walk(visit func(*stmt) bool) bool {
	if !visit(s) {
		return false
	}
	for _, b := range s.body {
		if !b.walk(visit) {
			return false
		}
	}
	return true
}

// function returns the def that s runs in, or nil at module level.
func (s *stmt) function() *stmt {
	for p := s.parent; p != nil; p = p.parent {
		if p.keyword == "def" {
			return p
		}
	}
	return nil
}

// loop returns the innermost loop around s in the same function, or nil. The else
// of a loop is not part of the loop.
func (s *stmt) loop() *stmt {
	for p := s.parent; p != nil && p.keyword != "def" && p.keyword != "class"; p = p.parent {
		if p.isLoop() {
			return p
		}
	}
	return nil
}

// has reports whether any expression of s, without its body, satisfies test.
func (s *stmt) has(test func(*node) bool) bool {
	return slices.ContainsFunc(s.exprs, func(e *node) bool { return e.has(test) })
}

// hasDeep is has for s and its body.
func (s *stmt) hasDeep(test func(*node) bool) bool {
	return !s.walk(func(b *stmt) bool { return !b.has(test) })
}

// binds reports whether s, without its body, assigns name.
func (s *stmt) binds(name string) bool { return slices.Contains(s.names, name) }

// bindsDeep is binds for s and its body.
func (s *stmt) bindsDeep(name string) bool {
	return !s.walk(func(b *stmt) bool { return !b.binds(name) })
}
