// Rag answers a question from the documents of a folder, by the agents of the Agentic RAG
// specification (package swarm). It is System: it has passages found and an answer written from
// them, and shows the conversations.
//
//	go run ./examples/rag "How long does a refund take?"
//	go run ./examples/rag --docs ~/notes --type pdf "Who signed the lease?"
//
// A node that hosts the agents for peers is ribosome node --swarm rag. The README has the details.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/examples/rag/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
	"github.com/ribosome-agents/ribosome/runtime/observe"
)

const name = "rag"

func main() {
	swarm.ReadPDFs()
	os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is main with the context, the arguments, the environment and the streams as parameters.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if err != nil {
		return program.Refuse(name, usage, err, stdout, stderr)
	}
	if o.swarm.Model, err = swarm.ModelFrom(getenv); err != nil {
		return program.Refuse(name, usage, err, stdout, stderr)
	}
	ctx, stop := program.UntilInterrupted(ctx)
	defer stop()
	answered, err := o.answer(ctx, stdout, stderr)
	switch {
	case err != nil:
		program.Complain(stderr, name, err)
	case answered:
		return program.ExitDone
	}
	return program.ExitFailed
}

// answer runs the agents, and prints the answer. It is false when the documents say nothing about
// the question.
func (o *options) answer(ctx context.Context, stdout, stderr io.Writer) (answered bool, err error) {
	node, err := runtime.New(runtime.Options{Name: string(swarm.SystemID)})
	if err != nil {
		return false, err
	}
	defer program.StopNode(node)
	recorder, err := observe.New(node, observe.Options{Conversations: 1 << 16, Messages: 1})
	if err != nil {
		return false, err
	}
	defer recorder.Close()

	root := "rag-conversation-" + strings.ToLower(rand.Text()[:8])
	got, err := o.ask(ctx, node, swarm.NewThread(performatives.ConversationID(root)), stderr)
	if err == nil {
		err = write(stdout, got)
	}
	if o.trace {
		recorder.Close()
		err = errors.Join(err, writeTrace(stdout, recorder, root))
	}
	return got.Response != swarm.NothingFound, err
}

// ask has the documents read, and asks the question. It prints the progress.
func (o *options) ask(ctx context.Context, node *runtime.Node, thread *swarm.Thread, stderr io.Writer) (got swarm.Answer, err error) {
	within, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	o.swarm.Thread, o.swarm.Told = thread, func(swarm.Report) {}
	if !o.quiet {
		o.swarm.Progress = func(_ float64, text string) error { fmt.Fprintln(stderr, text); return nil }
		o.swarm.Told = func(r swarm.Report) { report(stderr, r) }
	}
	if err = swarm.New(o.swarm).Spawn(within, node); err == nil {
		got, err = swarm.Ask(within, node, thread, o.query)
	}
	var end *codons.EndError
	switch {
	case ctx.Err() != nil:
		return got, errors.New("interrupted")
	case within.Err() != nil, errors.Is(err, performatives.CodeTimeout), errors.Is(err, performatives.CodeExpired): // an agent may notice its end first
		return got, fmt.Errorf("not ready after %v; give it more --timeout", o.timeout)
	case errors.As(err, &end) && end.Refusal.Text != "":
		return got, errors.New(end.Refusal.Text)
	}
	return got, err
}

// report prints what became of the folder, and why files were skipped.
func report(w io.Writer, r swarm.Report) {
	fmt.Fprintln(w, r.Summary())
	written := min(len(r.Skipped), 20)
	for _, s := range r.Skipped[:written] {
		fmt.Fprintf(w, "  skipped %s: %s\n", s.File, program.OneLine(s.Reason))
	}
	if more := len(r.Skipped) - written; more > 0 {
		fmt.Fprintf(w, "  … and %d more\n", more)
	}
}

// write prints the answer and the passages that it is from.
func write(w io.Writer, a swarm.Answer) error {
	var b strings.Builder
	cited := map[int]bool{}
	for _, n := range a.Cited {
		cited[n] = true
	}
	fmt.Fprintf(&b, "%s\n\n%s\n", a.Response, summary(a.Retrieved))
	for i, h := range a.Hits {
		mark := "     "
		if cited[i+1] {
			mark = "cited"
		}
		fmt.Fprintf(&b, "  [%d]  %.2f  %s  %s\n", i+1, h.Similarity, mark, cite(h))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cite returns where a hit is: "handbook.md, line 12 (Refunds)".
func cite(h swarm.Hit) string {
	text, at := h.Source, h.Metadata
	switch {
	case at.Page > 0:
		text += fmt.Sprintf(", page %d", at.Page)
	case at.Line > 0:
		text += fmt.Sprintf(", line %d", at.Line)
	}
	if at.Section != "" {
		text += " (" + at.Section + ")"
	}
	return text
}

// summary describes the result of a search: how many chunks have a word of the question, and which
// of its words no chunk has.
func summary(r swarm.Retrieved) string {
	switch {
	case r.Searched == 0:
		return "No document passes the filters."
	case r.Total == 0 && len(r.Missing) == 0:
		return "The question has no word to search for."
	}
	text := fmt.Sprintf("%d of %d chunks have a word of the question", r.Total, r.Searched)
	if r.Total > 0 {
		text += fmt.Sprintf(". The best with enough of it: %d", len(r.Hits))
	}
	if len(r.Missing) > 0 {
		text += ". None has: " + strings.Join(r.Missing, ", ")
	}
	return text + "."
}
