// Rag answers a question from the documents of a folder, by the agents of the Agentic RAG
// specification: the IngestionAgent reads and divides the documents, the RetrievalAgent indexes and
// searches them, the LLMResponseAgent answers from the retrieved passages, and System coordinates
// the three.
//
//	go run . "How long does a refund take?"
//	go run . --docs ~/notes --index ~/.cache/notes --type pdf "Who signed the lease?"
//	go run . --ws 127.0.0.1:8443    # hosts the agents, for peers that speak the specification
//
// It is a module of its own, so that programs which import Ribosome do not get its dependencies.
// The README has the details.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/examples/program"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

const name = "rag"

func main() {
	if os.Getenv(childVariable) != "" {
		os.Exit(readPDFAsChild(os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(run(context.Background(), os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// run is main with the context, the arguments, the environment and the streams as parameters.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	o, err := parse(args)
	if err != nil {
		return program.Refuse(name, usage, err, stdout, stderr)
	}
	m, err := modelFrom(getenv)
	if err != nil {
		return program.Refuse(name, usage, err, stdout, stderr)
	}
	ctx, stop := program.UntilInterrupted(ctx)
	defer stop()
	if o.ws+o.tcp != "" {
		if err := o.serve(ctx, m, stdout, stderr); err != nil {
			program.Complain(stderr, name, err)
			return program.ExitFailed
		}
		return program.ExitDone
	}
	answered, err := o.answer(ctx, m, stdout, stderr)
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
func (o *options) answer(ctx context.Context, m *model, stdout, stderr io.Writer) (answered bool, err error) {
	x, err := openIndex(o.index)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, x.close()) }()
	node, err := start(ctx, x, m, "")
	if err != nil {
		return false, err
	}
	defer program.StopNode(node)
	if err := node.Spawn(ctx, agentSystem, newSystem); err != nil {
		return false, err
	}
	t := follow(node)
	defer t.stop()

	root := performatives.ConversationID("rag-conversation-" + strings.ToLower(rand.Text()[:8]))
	got, err := o.ask(ctx, node, root, stderr)
	if err == nil {
		err = got.write(stdout)
	}
	if o.trace {
		t.stop()
		if _, failed := fmt.Fprintln(stdout, "\nTrace:"); failed != nil {
			return false, failed
		}
		err = errors.Join(err, t.write(stdout, root))
	}
	return got.Response != nil && got.Response.Response != nothingFound, err
}

// start starts a node with the agents but System. IngestionAgent reads no other folder than only,
// unless that is empty. The caller stops the node.
func start(ctx context.Context, x *index, m *model, only string) (*runtime.Node, error) {
	node, err := runtime.New(runtime.Options{Name: name})
	if err != nil {
		return nil, err
	}
	for id, create := range map[performatives.AgentID]func() actors.Agent{
		agentIngestion: func() actors.Agent { return newIngestionAgent(only) },
		agentRetrieval: func() actors.Agent { return newRetrievalAgent(x) },
		agentResponse:  func() actors.Agent { return newResponseAgent(x.analyzer, m) },
	} {
		if err := node.Spawn(ctx, id, create); err != nil {
			program.StopNode(node)
			return nil, err
		}
	}
	return node, nil
}

// ask asks System, and prints the progress.
func (o *options) ask(ctx context.Context, node *runtime.Node, root performatives.ConversationID, stderr io.Writer) (answer, error) {
	within, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	progress := func(u performatives.StatusUpdate) {
		if !o.quiet {
			fmt.Fprintln(stderr, u.Description)
		}
	}
	r, err := delegation.Delegate(within, node, agentSystem,
		performatives.TaskRequest{TaskType: taskAnswer, Parameters: performatives.ContentOf(o.question)},
		codons.WithConversation(root), delegation.WithProgress(progress))
	var end *codons.EndError
	switch {
	case ctx.Err() != nil:
		return answer{}, errors.New("interrupted")
	case within.Err() != nil, errors.Is(err, performatives.CodeTimeout), errors.Is(err, performatives.CodeExpired): // an agent may notice its end first
		return answer{}, fmt.Errorf("not ready after %v; give it more --timeout", o.timeout)
	case errors.As(err, &end) && end.Refusal.Text != "":
		return answer{}, errors.New(end.Refusal.Text)
	case err != nil:
		return answer{}, err
	}
	got, err := performatives.Decode[answer](r.Details)
	if err == nil && got.Folder != nil && !o.quiet {
		got.Folder.write(stderr)
	}
	return got, err
}

// write prints what became of the folder, and why files were skipped.
func (r *folderReport) write(w io.Writer) {
	fmt.Fprintln(w, r.summary())
	const most = 20
	for i, s := range r.Skipped {
		if i == most {
			fmt.Fprintf(w, "  … and %d more\n", len(r.Skipped)-most)
			return
		}
		fmt.Fprintf(w, "  skipped %s: %s\n", s.File, program.OneLine(s.Reason))
	}
}

// write prints the answer and the passages that it is from.
func (a answer) write(w io.Writer) error {
	var b strings.Builder
	text, cited := nothingFound, map[int]bool{}
	if a.Response != nil {
		text = a.Response.Response
		for _, n := range a.Response.Cited {
			cited[n] = true
		}
	}
	fmt.Fprintln(&b, text)
	if found := a.Retrieved; found != nil {
		fmt.Fprintf(&b, "\n%s\n", found.summary())
		for i, h := range found.Hits {
			mark := "     "
			if cited[i+1] {
				mark = "cited"
			}
			fmt.Fprintf(&b, "  [%d]  %.2f  %s  %s\n", i+1, h.Similarity, mark, passage{h.Content, h.Source, h.Metadata}.cite())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// summary describes the result of a search: how many chunks have a word of the question, and which
// of its words no chunk has.
func (r *retrieved) summary() string {
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
