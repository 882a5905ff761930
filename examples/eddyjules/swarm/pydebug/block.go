package pydebug

import "strings"

// blockParser builds the tree of statements from the tokens.
type blockParser struct {
	src     string
	tokens  []Token
	root    []*Stmt
	stack   []openBlock
	problem *SyntaxError
}

// openBlock is a compound statement whose body is being read, and the column of
// its header.
type openBlock struct {
	column int
	head   *Stmt
}

// parseBlocks returns the statements of the module and the first syntax error.
func parseBlocks(src string, tokens []Token) ([]*Stmt, *SyntaxError) {
	p := &blockParser{src: src, tokens: tokens}
	first := 0
	for i, t := range tokens {
		if t.Kind == TokenNewline {
			p.logicalLine(first, i)
			first = i + 1
		}
	}
	p.pop(-1)
	link(&p.root, nil)
	return p.root, p.problem
}

// link sets the parent, the siblings and the index of all statements of a block.
func link(block *[]*Stmt, parent *Stmt) {
	for i, s := range *block {
		s.Parent, s.siblings, s.index = parent, block, i
		link(&s.Body, s)
	}
}

func (p *blockParser) fail(line int, what string) {
	if p.problem == nil {
		p.problem = &SyntaxError{line, what}
	}
}

// column returns the column after indent. As in Python, a tab extends to the next
// multiple of eight.
func column(indent string) int {
	n := 0
	for i := range len(indent) {
		if indent[i] == '\t' {
			n += 8 - n%8
		} else {
			n++
		}
	}
	return n
}

// lineIndent returns the indentation of the line that contains offset.
func lineIndent(src string, offset int) string {
	start := lineStart(src, offset)
	line := strings.TrimPrefix(src[start:offset], "\ufeff")
	return line[:len(line)-len(strings.TrimLeft(line, " \t\f"))]
}

func lineStart(src string, offset int) int {
	return strings.LastIndexAny(src[:offset], "\r\n") + 1
}

// logicalLine adds the statements in tokens[first:last].
func (p *blockParser) logicalLine(first, last int) {
	if first >= last {
		return
	}
	indent := lineIndent(p.src, p.tokens[first].Start)
	p.closeBlocks(column(indent), p.tokens[first].Line)
	for startsLine := true; first < last; startsLine = false {
		end := p.statementEnd(first, last)
		if end == first {
			p.fail(p.tokens[first].Line, "a ';' without a statement")
			first++
			continue
		}
		s := newStmt(p.src, p.tokens, first, end)
		s.Indent, s.StartsLine = indent, startsLine
		p.add(s)
		first = end
		if end < last && p.text(end) == ";" {
			first++
		}
		if compound[s.Keyword] && p.opens(end) {
			p.open(s, column(indent))
		}
		s.alone = startsLine && first >= last
	}
}

func (p *blockParser) text(i int) string { return p.tokens[i].Text }

// opens reports whether the statement before tokens[end] ends in a colon.
func (p *blockParser) opens(end int) bool { return p.text(end-1) == ":" }

// statementEnd returns the index after the statement at first. A semicolon or the
// colon of a header ends it; the colon belongs to the statement.
func (p *blockParser) statementEnd(first, last int) int {
	isCompound := compound[statementKeyword(p.src, p.tokens, first, last)]
	lambdas := 0
	for i := first; i < last; i++ {
		t := p.tokens[i]
		if t.Kind != TokenOp && t.Kind != TokenName {
			continue
		}
		if t.match > i && t.match < last {
			i = t.match
			continue
		}
		switch p.text(i) {
		case ";":
			return i
		case "lambda":
			lambdas++
		case ":":
			if lambdas > 0 {
				lambdas--
			} else if isCompound {
				return i + 1
			}
		}
	}
	return last
}

// closeBlocks closes the blocks that end before a line with this column.
func (p *blockParser) closeBlocks(column, line int) {
	p.pop(column)
	if siblings := *p.block(); len(siblings) > 0 {
		if column != columnOf(siblings[0]) {
			p.fail(line, "an indentation that fits no block")
		}
		return
	}
	if len(p.stack) == 0 && column > 0 {
		p.fail(line, "an unexpected indentation")
	}
}

func columnOf(s *Stmt) int { return column(s.Indent) }

// pop closes the blocks whose header is at column or to the right of it.
func (p *blockParser) pop(column int) {
	for n := len(p.stack); n > 0 && p.stack[n-1].column >= column; n-- {
		if head := p.stack[n-1].head; len(head.Body) == 0 {
			p.fail(head.Line, "'"+head.Keyword+"' without a body")
		}
		p.stack = p.stack[:n-1]
	}
}

// block returns the list to which the next statement is added.
func (p *blockParser) block() *[]*Stmt {
	if n := len(p.stack); n > 0 {
		return &p.stack[n-1].head.Body
	}
	return &p.root
}

func (p *blockParser) add(s *Stmt) {
	block := p.block()
	*block = append(*block, s)
	if compound[s.Keyword] && p.text(s.Last-1) != ":" {
		p.fail(s.Line, "'"+s.Keyword+"' without its ':'")
	}
}

// open makes s the block to which the following statements are added.
func (p *blockParser) open(s *Stmt, column int) {
	if len(p.stack) >= maxNesting {
		p.fail(s.Line, "too many nested blocks")
		return
	}
	p.stack = append(p.stack, openBlock{column, s})
}
