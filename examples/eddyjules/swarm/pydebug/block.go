package pydebug

import "strings"

// blockParser builds the tree of statements from the tokens.
type blockParser struct {
	src     string
	tokens  []token
	root    []*stmt
	stack   []openBlock
	problem *syntaxProblem
}

// openBlock is a compound statement whose body is being read, and the column of
// its header.
type openBlock struct {
	column int
	head   *stmt
}

// parseBlocks returns the statements of the module and the first syntax error.
func parseBlocks(src string, tokens []token) ([]*stmt, *syntaxProblem) {
	p := &blockParser{src: src, tokens: tokens}
	first := 0
	for i, t := range tokens {
		if t.kind == tokenNewline {
			p.logicalLine(first, i)
			first = i + 1
		}
	}
	p.pop(-1)
	link(&p.root, nil)
	return p.root, p.problem
}

// link sets the parent, the siblings and the index of all statements of a block.
func link(block *[]*stmt, parent *stmt) {
	for i, s := range *block {
		s.parent, s.siblings, s.index = parent, block, i
		link(&s.body, s)
	}
}

func (p *blockParser) fail(line int, what string) {
	if p.problem == nil {
		p.problem = &syntaxProblem{line, what}
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
	indent := lineIndent(p.src, p.tokens[first].start)
	p.closeBlocks(column(indent), p.tokens[first].line)
	for startsLine := true; first < last; startsLine = false {
		end := p.statementEnd(first, last)
		if end == first {
			p.fail(p.tokens[first].line, "a ';' without a statement")
			first++
			continue
		}
		s := newStmt(p.src, p.tokens, first, end)
		s.indent, s.startsLine = indent, startsLine
		p.add(s)
		first = end
		if end < last && p.text(end) == ";" {
			first++
		}
		if compound[s.keyword] && p.opens(end) {
			p.open(s, column(indent))
		}
		s.alone = startsLine && first >= last
	}
}

func (p *blockParser) text(i int) string { return p.src[p.tokens[i].start:p.tokens[i].end] }

// opens reports whether the statement before tokens[end] ends in a colon.
func (p *blockParser) opens(end int) bool { return p.text(end-1) == ":" }

// statementEnd returns the index after the statement at first. A semicolon or the
// colon of a header ends it; the colon belongs to the statement.
func (p *blockParser) statementEnd(first, last int) int {
	isCompound := compound[statementKeyword(p.src, p.tokens, first, last)]
	lambdas := 0
	for i := first; i < last; i++ {
		t := p.tokens[i]
		if t.kind != tokenOp && t.kind != tokenName {
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

func columnOf(s *stmt) int { return column(s.indent) }

// pop closes the blocks whose header is at column or to the right of it.
func (p *blockParser) pop(column int) {
	for n := len(p.stack); n > 0 && p.stack[n-1].column >= column; n-- {
		if head := p.stack[n-1].head; len(head.body) == 0 {
			p.fail(head.line, "'"+head.keyword+"' without a body")
		}
		p.stack = p.stack[:n-1]
	}
}

// block returns the list to which the next statement is added.
func (p *blockParser) block() *[]*stmt {
	if n := len(p.stack); n > 0 {
		return &p.stack[n-1].head.body
	}
	return &p.root
}

func (p *blockParser) add(s *stmt) {
	block := p.block()
	*block = append(*block, s)
	if compound[s.keyword] && p.text(s.last-1) != ":" && s.keyword != "match" {
		p.fail(s.line, "'"+s.keyword+"' without its ':'")
	}
}

// open makes s the block to which the following statements are added.
func (p *blockParser) open(s *stmt, column int) {
	if len(p.stack) >= maxNesting {
		p.fail(s.line, "too many nested blocks")
		return
	}
	p.stack = append(p.stack, openBlock{column, s})
}
