package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/ribosome-agents/ribosome/performatives"
)

// progress prints the messages of a worker before its result, one line each.
type progress struct{ to *printer } // nil is quiet

func newProgress(w io.Writer, quiet bool) *progress {
	if quiet {
		return &progress{}
	}
	return &progress{newPrinter(w)}
}

// accepted prints that the worker has accepted the task.
func (p *progress) accepted(a performatives.TaskAccept) {
	line := "accepted"
	if !a.Estimate.IsZero() {
		line += fmt.Sprintf(", about %v", a.Estimate.Duration())
	}
	p.say(line, a.Comments)
}

// update prints the progress of the worker.
func (p *progress) update(u performatives.StatusUpdate) {
	line := "progress"
	if u.Progress != nil {
		line = fmt.Sprintf("%3.0f%%", *u.Progress)
	}
	p.say(line, u.Description)
}

func (p *progress) say(line, text string) {
	if p.to == nil {
		return
	}
	if text != "" {
		line += ": " + oneLine(text)
	}
	p.to.text(line + "\n")
}

// ended is the end of a call, as --json prints it.
type ended struct {
	Outcome string                      `json:"outcome"` // a task_status, or the terminal state without a result
	Result  *performatives.InformResult `json:"result"`
	Error   *problem                    `json:"error"`
}

// report prints the end of a call, and returns the error that ends the program.
func (c *callCmd) report(out *printer, l *link, r performatives.InformResult, why *problem) error {
	switch {
	case c.JSON && why != nil && r.Status == "":
		out.json(ended{Outcome: why.Outcome, Error: why})
	case c.JSON:
		out.json(ended{Outcome: string(r.Status), Result: &r, Error: why})
	case r.Status != "":
		out.text(resultText(r))
	}
	if why != nil {
		return why.failure()
	}
	if r.Status == performatives.StatusFailure {
		return failf("%s did the work, and its answer is no: %s", l.responder(c.Agent), r.Summary)
	}
	return out.end()
}

// resultText returns a result as text for people.
func resultText(r performatives.InformResult) string {
	var b strings.Builder
	b.WriteString(string(r.Status))
	if r.Summary != "" {
		b.WriteString(": " + strings.TrimRight(r.Summary, "\n"))
	}
	b.WriteString("\n")
	if need := r.RequestForUser(); need != "" {
		b.WriteString("\nneeded: " + strings.TrimRight(need, "\n") + "\n")
	}
	if !r.Details.IsZero() {
		b.WriteString("\n" + indented(r.Details) + "\n")
	}
	if len(r.Artifacts) > 0 {
		b.WriteString("\nartifacts:\n" + artifacts(r.Artifacts))
	}
	return b.String()
}

// indented returns content as indented JSON.
func indented(c performatives.Content) string {
	text, err := c.MarshalJSON()
	if err != nil {
		return "(details that cannot be shown)"
	}
	var b bytes.Buffer
	if err := json.Indent(&b, plainJSON(text), "", "  "); err != nil {
		return "(details that cannot be shown)"
	}
	return b.String()
}

// artifacts lists the artifacts of a task by name; --json prints their content.
func artifacts(all []performatives.Artifact) string {
	rows := make([][]string, len(all))
	for i, a := range all {
		name := a.Path
		if name == "" {
			name = "(without a name)"
		}
		rows[i] = []string{"  " + oneLine(name), oneLine(a.Type), fmt.Sprintf("%d characters", utf8.RuneCountInString(a.Content))}
	}
	return table(rows)
}
