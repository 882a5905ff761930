package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	examples "github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// answers answers the questions of a worker. Each answer makes the task of a further round: an
// object has parameters, which are added to those of the round before, and a string is the
// description.
type answers struct {
	task performatives.TaskRequest // of the latest round
	next func(ctx context.Context, question string) (json.RawMessage, error)

	mu     sync.Mutex // the call may end during a question
	failed error      // the reason for the latest question without an answer; nil if there was none
}

var (
	errNoInput   = errors.New("give the answer with --input FILE, or run it on a terminal")
	errInputUsed = errors.New("--input has no further answer; add one")
	errNoAnswer  = errors.New("no answer was given; run it again")

	errInterrupted = errors.New("interrupted before the answer; run it again")
	errAnswerLate  = errors.New("the deadline passed before the answer; run it again with a longer --deadline")
)

// answers returns the source of the answers of the flags: --input, or else the terminal, if there
// is one.
func (c *callCmd) answers(task performatives.TaskRequest, std streams) (*answers, error) {
	a := &answers{task: task}
	switch {
	case c.Input != "":
		all, err := readAnswers(c.Input, std.in)
		if err != nil {
			return nil, err
		}
		a.next = func(context.Context, string) (json.RawMessage, error) {
			if len(all) == 0 {
				return nil, errInputUsed
			}
			first := all[0]
			all = all[1:]
			return first, nil
		}
	case std.terminal:
		a.next = newPrompt(c.Agent, std).ask
	default:
		a.next = func(context.Context, string) (json.RawMessage, error) { return nil, errNoInput }
	}
	return a, nil
}

// readAnswers reads the JSON values of a file, or of stdin for -.
func readAnswers(name string, stdin io.Reader) (all []json.RawMessage, err error) {
	var text []byte
	if name == "-" {
		if text, err = readAll(stdin, wire.DefaultMaxFrame); err != nil {
			return nil, usagef("--input -: %v", err)
		}
	} else if text, err = readFile("--input", name, wire.DefaultMaxFrame); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	for rest := text; len(bytes.TrimSpace(rest)) > 0 || len(all) == 0; rest = text[dec.InputOffset():] {
		var value json.RawMessage
		if dec.Decode(&value) != nil {
			err = checkJSON(append(blank(text[:len(text)-len(rest)]), rest...)) // with the position of the error
		} else {
			err = checkAnswer(value)
		}
		if err != nil {
			return nil, usagef(`--input %s: answer %d: %v; give one JSON object or string for each question, such as {"name":"value"}`, shown(name), len(all)+1, err)
		}
		all = append(all, value)
	}
	return all, nil
}

// blank returns text with a space for each character except line breaks.
func blank(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return ' '
	}, text)
}

// checkAnswer returns an error for JSON that is neither an object nor a text.
func checkAnswer(value json.RawMessage) error {
	if err := checkJSON(value); err != nil {
		return err
	}
	var text string
	switch value = bytes.TrimSpace(value); {
	case value[0] == '{':
		return nil
	case json.Unmarshal(value, &text) != nil:
		return errors.New("it is neither an object nor a string")
	case text == "":
		return errors.New("it is empty")
	}
	return nil
}

// give returns the task of a further round, or false without an answer.
func (a *answers) give(ctx context.Context, r performatives.InformResult) (performatives.TaskRequest, bool) {
	answer, err := a.next(ctx, r.RequestForUser())
	if err == nil {
		err = a.add(answer)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.failed = err
	return a.task, err == nil
}

// add makes the task of a further round of an answer that checkAnswer accepts.
func (a *answers) add(answer json.RawMessage) error {
	if bytes.TrimSpace(answer)[0] != '{' {
		return json.Unmarshal(answer, &a.task.Description)
	}
	parameters, err := performatives.Decode[map[string]json.RawMessage](a.task.Parameters)
	if err != nil {
		return err
	}
	if parameters == nil {
		parameters = make(map[string]json.RawMessage)
	}
	if err := json.Unmarshal(answer, &parameters); err != nil { // it keeps the members that are there
		return err
	}
	text, err := json.Marshal(parameters)
	if err != nil {
		return err
	}
	a.task.Parameters = performatives.RawContent(text)
	return nil
}

// unanswered returns the error of a result that asks for input: the question, and why it has no
// answer. unserved is the reason why the worker did not continue after an answer.
func (a *answers) unanswered(l *link, agent, question string, unserved error) *problem {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := &problem{Outcome: string(performatives.StatusPartial)}
	who := l.responder(agent)
	quoted := `("` + oneLine(question) + `")`
	switch {
	case unserved != nil: // also in place of an answer
		why := l.explain(unserved, agent)
		p.Code, p.Text = why.Code, fmt.Sprintf("%s asked for more %s, and then %s", who, quoted, why.Text)
	case a.failed != nil:
		p.Text = fmt.Sprintf("%s needs more %s; %v", who, quoted, a.failed)
	default:
		p.Text = fmt.Sprintf("%s needs more %s; %v", who, quoted, errAnswerLate)
	}
	return p
}

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
		p.to.text("  " + examples.Clean(strings.TrimRight(line, "\r\n")) + "\n")
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
