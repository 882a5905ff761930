package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

const personID performatives.AgentID = "Person"

// person puts the questions of a queue to whoever sits at the terminal.
type person struct {
	queue  *codons.ApprovalQueue
	lines  <-chan string // closed at the end of the input
	screen *screen
}

// attend puts one question after the other until ctx ends.
func (p *person) attend(ctx context.Context) {
	for last := 0; ; {
		a, err := p.queue.Next(ctx, last)
		if err != nil {
			return
		}
		last = a.ID
		p.decide(a)
	}
}

// decide puts one question, until it is answered or no longer asked.
func (p *person) decide(a codons.OpenApproval) {
	p.screen.show("%s wants to %s, because %s.\n%s", a.From, a.Step.What, a.Step.Why, listed(a.Step.Data))
	for {
		p.screen.show("Approve? y or n, and a reason if you like (no answer within %v means no): ", time.Until(a.Until).Round(100*time.Millisecond))
		if p.screen.failed() {
			_ = p.queue.Deny(a.ID, "the question could not be shown") // or it is over anyway
			return
		}
		select {
		case line, more := <-p.lines:
			if !more {
				p.screen.show("\n")
				_ = p.queue.Deny(a.ID, "nobody is there to answer: the input has ended")
				return
			}
			if p.answer(a, line) {
				return
			}
		case <-a.Done:
			p.screen.show("\n")
			return
		}
	}
}

// shown is how many files a question lists.
const shown = 5

// listed is what a step is about, one to a line.
func listed(data performatives.Content) string {
	files, _ := performatives.Decode[[]string](data) // a step without files has none to list
	var b strings.Builder
	for i, file := range files {
		if i == shown {
			fmt.Fprintf(&b, "  … and %d more\n", len(files)-shown)
			break
		}
		b.WriteString("  " + file + "\n")
	}
	return b.String()
}

// answer decides as a line says, and reports whether it said anything.
func (p *person) answer(a codons.OpenApproval, line string) bool {
	word, why, _ := strings.Cut(strings.TrimSpace(line), " ")
	decide := p.queue.Deny
	switch strings.ToLower(strings.TrimRight(word, ",.:;")) {
	case "y", "yes":
		decide = p.queue.Approve
	case "n", "no", "":
	default:
		p.screen.show("That is neither y nor n.\n")
		return false
	}
	if err := decide(a.ID, strings.TrimSpace(why)); err != nil {
		p.screen.show("That came too late.\n")
	}
	return true
}

// lines reads lines until the input or ctx ends. What is read when nobody asks waits
// for the next question. A read that never returns ends with the process.
func lines(ctx context.Context, r io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(r); s.Scan(); {
			select {
			case lines <- s.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// screen is an output that several write to. Its first error is kept.
type screen struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

func (s *screen) show(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		_, s.err = fmt.Fprintf(s.w, format, args...)
	}
}

func (s *screen) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil
}
