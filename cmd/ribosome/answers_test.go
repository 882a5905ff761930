package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// curious asks two questions, and returns the task of the last round.
type curious struct{}

func (curious) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"Curiosity"}}
}

func (curious) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

func (curious) PerformTask(ctx context.Context, t delegation.Task) (r performatives.InformResult, err error) {
	var last performatives.TaskRequest
	for _, question := range []string{"Which file?\nAnd where?", "Why?"} {
		if last, err = t.NeedInput(ctx, question); err != nil {
			return r, err
		}
	}
	return performatives.InformResult{Status: performatives.StatusSuccess, Details: performatives.ContentOf(last)}, nil
}

const (
	file    = `{"file":"a.go","n":9007199254740993}`
	because = `"Because <b>."`
	// known is the task of the last round, as its result shows it.
	known = `{"task_type":"explain","task_description":"Because <b>.","task_parameters":{"depth":1,"file":"a.go","n":9007199254740993}}`
)

// Answers from a file and from stdin, over each transport: one for each question.
func TestInput(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "answers", file+"\n"+because+"\n")
	n := hosts(t, "--no-auth")
	for scheme, url := range n.at {
		agent := "Curious-" + scheme
		joins(t, url, performatives.AgentID(agent), curious{})
		for name, stdin := range map[string]string{"answers": "", "-": file + because} {
			r := runsWith(t.Context(), stdin, "call", agent, "explain", "-d", `{"depth":1,"file":"b.go"}`, "--input", name, "--json", "-q", "--addr", url)
			var got ended
			if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || r.code != exitDone || got.Result == nil || !got.Result.Details.Equal(performatives.RawContent([]byte(known))) {
				t.Errorf("%s, %s: %v: got %+v, want %s", scheme, name, err, r, known)
			}
		}
	}
}

// A question without an answer is an error that quotes it and says how to answer. The partial
// result is printed.
func TestNoInput(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "answers", file)
	n := hosts(t, "--no-auth")
	url := n.at["tcp"]
	joins(t, url, "Curious", curious{})
	for name, tt := range map[string]struct {
		flags  []string
		reason string
	}{
		"none":    {nil, `Curious needs more ("Which file? And where?"); give the answer with --input FILE, or run it on a terminal`},
		"too few": {[]string{"--input", "answers"}, `Curious needs more ("Why?"); --input has no further answer; add one`},
		"JSON":    {[]string{"--json"}, `Curious needs more ("Which file? And where?"); give the answer with --input FILE, or run it on a terminal`},
	} {
		r := runs(t, append([]string{"call", "Curious", "explain", "-q", "--addr", url}, tt.flags...)...)
		if r.code != exitFailed || r.stderr != "ribosome: "+tt.reason+"\n" || !strings.Contains(r.stdout, "partial_success") {
			t.Errorf("%s: got %+v, want %s", name, r, tt.reason)
		}
		var got ended
		if name != "JSON" {
			continue
		}
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || got.Outcome != "partial_success" || got.Result == nil || got.Error == nil || got.Error.Text != tt.reason {
			t.Errorf("%v: got %+v", err, r)
		}
	}
}

// The loss of the worker ends the prompt, with the reason.
func TestPromptOfALostWorker(t *testing.T) {
	n := hosts(t, "--no-auth")
	url := n.at["tcp"]
	worker := joins(t, n.at["ws"], "Curious", curious{})
	p := asks(t, "call", "Curious", "explain", "-q", "--addr", url)
	p.shows(&p.stderr, "Curious asks:")
	if err := worker.uplink.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := `ribosome: Curious asked for more ("Which file? And where?"), and then Curious gave no result: the agent disconnected (disconnected); try again` + "\n"
	if got := p.wait(); got.code != exitFailed || !strings.HasSuffix(got.stderr, "\n"+want) {
		t.Errorf("got %+v, want %s", got, want)
	}
}

// person is a program that runs on a terminal.
type person struct {
	*running
	keyboard *io.PipeWriter
}

// asks runs a command on a terminal until the test ends.
func asks(t *testing.T, args ...string) person {
	t.Helper()
	cmd, err := parse(args, io.Discard, &sources{})
	if err != nil {
		t.Fatal(err)
	}
	in, keyboard := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, interrupt: cancel, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		code, line := ending(cmd.run(ctx, streams{in, &r.stdout, &r.stderr, true}))
		r.code = code
		_, _ = io.WriteString(&r.stderr, "ribosome: "+line+"\n")
	}()
	t.Cleanup(func() {
		_ = keyboard.Close()
		r.end()
	})
	return person{r, keyboard}
}

// types types text on the keyboard. It returns when the program has read all of it.
func (p person) types(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keyboard, text); err != nil {
		p.t.Fatal(err)
	}
}

// On a terminal, a person answers, and may correct an answer.
func TestPrompt(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFile(t, "answer.json", because)
	n := hosts(t, "--no-auth")
	url := n.at["grpc"]
	joins(t, url, "Curious", curious{})
	p := asks(t, "call", "Curious", "explain", "-d", `{"depth":1}`, "--json", "-q", "--addr", url)
	p.shows(&p.stderr, "Curious asks:\n  Which file?\n  And where?\n"+promptHelp+"\n> ")
	p.types("{\"file\":}\n")
	p.shows(&p.stderr, "the answer is not JSON: line 1, column 9: ")
	p.types("@nope\n")
	p.shows(&p.stderr, "nope: no such file or directory")
	p.types(file + "\n")
	p.shows(&p.stderr, "  Why?\n")
	p.types("@answer.json\n")
	got := p.wait()
	var e ended
	if err := json.Unmarshal([]byte(got.stdout), &e); err != nil || got.code != exitDone || !e.Result.Details.Equal(performatives.RawContent([]byte(known))) {
		t.Errorf("%v: got %+v, want %s", err, got, known)
	}
}

// A person who gives no answer ends the task, as an interrupt does.
func TestPromptWithoutAnswer(t *testing.T) {
	n := hosts(t, "--no-auth")
	url := n.at["tcp"]
	joins(t, url, "Curious", curious{})
	for reason, answer := range map[string]func(person){
		errNoAnswer.Error():    func(p person) { p.types("\n") },
		errInterrupted.Error(): func(p person) { p.interrupt() },
	} {
		p := asks(t, "call", "Curious", "explain", "-q", "--addr", url)
		p.shows(&p.stderr, "> ")
		answer(p)
		if got := p.wait(); got.code != exitFailed || !strings.Contains(got.stderr, `("Which file? And where?"); `+reason+"\n") {
			t.Errorf("got %+v, want %s", got, reason)
		}
	}
}

func TestInputUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string]string{
		"":              "answer 1: it is empty",
		"{}\n3":         "answer 2: it is neither an object nor a string",
		"\"a\"\n{\n]":   "answer 2: line 3, column 1: invalid character ']' looking for beginning of object key string",
		`""`:            "answer 1: it is empty",
		"{\"a\":1} tru": "answer 2: line 1, column 11: invalid character ' ' in literal true (expecting 'e')",
	} {
		writeFile(t, "answers", text)
		r := runs(t, "call", "a", "b", "--addr", "tcp://127.0.0.1:1", "--input", "answers")
		if want = "ribosome: --input answers: " + want + `; give one JSON object or string for each question, such as {"name":"value"}` + "\n"; r.code != exitUsage || r.stderr != want {
			t.Errorf("%q: got %+v, want %s", text, r, want)
		}
	}
	if r := runs(t, "call", "a", "b", "--addr", "tcp://127.0.0.1:1", "-d", "@-", "--input", "-"); r.code != exitUsage || !strings.Contains(r.stderr, "--data and --input both read stdin") {
		t.Errorf("got %+v", r)
	}
}
