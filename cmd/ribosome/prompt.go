package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ribosome-agents/ribosome/wire"
)

// prompt asks a person on a terminal for the answers to questions.
type prompt struct {
	agent string
	to    *printer
	in    *bufio.Reader
}

func newPrompt(agent string, std streams) *prompt {
	return &prompt{agent: agent, to: newPrinter(std.err), in: bufio.NewReader(std.in)}
}

const promptHelp = "(text, a JSON object of parameters, or @FILE with either in JSON; an empty line ends the task)"

// ask prints a question and reads lines until one is an answer. The error says that the person gave
// none, or that ctx has ended. A read of the terminal cannot be ended: its goroutine lasts until
// there is a line.
func (p *prompt) ask(ctx context.Context, question string) (json.RawMessage, error) {
	p.to.line(p.agent + " asks:")
	for line := range strings.Lines(question) {
		p.to.text("  " + clean(strings.TrimRight(line, "\r\n")) + "\n")
	}
	p.to.line(promptHelp)
	for {
		p.to.text("> ")
		line, err := p.line(ctx)
		if err != nil {
			return nil, err
		}
		answer, err := readAnswer(line)
		if err == nil {
			return answer, nil
		}
		p.to.line(err.Error())
	}
}

// line reads one line that is not empty.
func (p *prompt) line(ctx context.Context) (string, error) {
	lines := make(chan string, 1)
	go func() {
		text, _ := p.in.ReadString('\n') // at the end of the input, the text that there is
		lines <- text
	}()
	var text string
	err := errNoAnswer
	select {
	case text = <-lines:
	case <-ctx.Done():
		if err = errInterrupted; errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			err = errAnswerLate
		}
	}
	if !strings.HasSuffix(text, "\n") {
		p.to.text("\n") // the input has not ended the line of the prompt
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", err
	}
	return text, nil
}

// readAnswer returns the answer of a line: a JSON object, the value in a file (@FILE), or text.
func readAnswer(line string) (json.RawMessage, error) {
	if line[0] != '{' && line[0] != '@' {
		return json.Marshal(line)
	}
	answer, err := readJSON("the answer", line, strings.NewReader(""), wire.DefaultMaxFrame)
	if err == nil {
		if err = checkAnswer(answer); err != nil {
			err = fmt.Errorf("the answer: %w", err)
		}
	}
	return answer, err
}
