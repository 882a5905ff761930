package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
)

const personID performatives.AgentID = "Person"

// person shows the requests for approval of a queue at the terminal, and answers them
// by the lines of the input.
type person struct {
	queue  *approval.Queue
	lines  <-chan string // closed at the end of the input
	screen *program.Output
}

// answerAll shows one request after the other until ctx ends.
func (p *person) answerAll(ctx context.Context) {
	for last := 0; ; {
		a, err := p.queue.Next(ctx, last)
		if err != nil {
			return
		}
		last = a.ID
		p.decide(a)
	}
}

// decide shows one request until a line answers it or it is withdrawn.
func (p *person) decide(a approval.Open) {
	fmt.Fprintf(p.screen, "%s wants to %s, because %s.\n%s", a.From, a.Step.What, a.Step.Why, listed(a.Step.Data))
	for {
		fmt.Fprintf(p.screen, "Approve? y or n, and a reason if you like (no answer within %v means no): ", time.Until(a.Until).Round(100*time.Millisecond))
		if p.screen.Err() != nil {
			_ = p.queue.Deny(a.ID, "the question could not be shown") // it fails only for a request that has ended
			return
		}
		select {
		case line, more := <-p.lines:
			if !more {
				fmt.Fprintln(p.screen)
				_ = p.queue.Deny(a.ID, "nobody is there to answer: the input has ended")
				return
			}
			if p.answer(a, line) {
				return
			}
		case <-a.Done:
			fmt.Fprintln(p.screen)
			return
		}
	}
}

// listed returns the files of a step, one on each line.
func listed(data performatives.Content) string {
	files, _ := performatives.Decode[[]string](data) // a step without files has none to list
	var b strings.Builder
	for _, file := range files {
		b.WriteString("  " + file + "\n")
	}
	return b.String()
}

// answer approves or denies the request by a line of input. It returns false if the
// line is neither y nor n.
func (p *person) answer(a approval.Open, line string) bool {
	word, why, _ := strings.Cut(strings.TrimSpace(line), " ")
	decide := p.queue.Deny
	switch strings.ToLower(strings.TrimRight(word, ",.:;")) {
	case "y", "yes":
		decide = p.queue.Approve
	case "n", "no", "":
	default:
		fmt.Fprintln(p.screen, "That is neither y nor n.")
		return false
	}
	if err := decide(a.ID, strings.TrimSpace(why)); err != nil {
		fmt.Fprintln(p.screen, "That came too late.")
	}
	return true
}

// lines returns a channel of the input's lines, which it closes at the end of the input
// or of ctx. A line that is read early answers the next request. A read that does not
// return ends with the process.
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
