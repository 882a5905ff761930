package main

import (
	"context"
	"fmt"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// newSystem returns the coordinator: it has documents ingested, asks for passages, and for an
// answer from them.
func newSystem() actors.Agent {
	return worker{"questions about documents", map[string]task{
		taskAnswer: performs("Ingests a folder, and answers a question from its documents.", answerQuestion),
	}}
}

func answerQuestion(ctx context.Context, t delegation.Task, q question) (any, string, error) {
	base := t.Message.ConversationID()
	var got answer
	if q.Folder != "" {
		progress, stop := forward(t)
		defer stop()
		report, err := ask[folderReport](ctx, t.Agent, call{agentIngestion, taskFolder, thread("ing", base, 1), progress}, folder{q.Folder})
		if err != nil {
			return nil, "", err
		}
		got.Folder = &report
	}
	if q.Ask.Query == "" {
		return got, "The folder is ingested.", nil
	}
	found, err := ask[retrieved](ctx, t.Agent, call{agentRetrieval, taskRetrieval, thread("ret", base, 2), nil}, q.Ask)
	if err != nil {
		return nil, "", err
	}
	got.Retrieved = &found
	if len(found.Hits) == 0 {
		return got, nothingFound, nil
	}
	request := response{Question: q.Ask.Query}
	for _, h := range found.Hits {
		request.Passages = append(request.Passages, passage{h.Content, h.Source, h.Metadata})
	}
	text, err := ask[responded](ctx, t.Agent, call{agentResponse, taskResponse, thread("llm", base, 3), nil}, request)
	if err != nil {
		return nil, "", err
	}
	got.Response = &text
	return got, text.Response, nil
}

// forward returns the function progress, which sends a report of another task as a report of t. It
// does not wait: it drops reports that come faster than they can be sent. stop sends the queued
// reports, and returns when they are sent.
func forward(t delegation.Task) (progress func(performatives.StatusUpdate), stop func()) {
	const waiting = 64
	reports, end, ended := make(chan performatives.StatusUpdate, waiting), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case u := <-reports:
				_ = t.Report(u) // an error means that the task has ended
			case <-end:
				for range len(reports) {
					_ = t.Report(<-reports)
				}
				return
			}
		}
	}()
	progress = func(u performatives.StatusUpdate) {
		select {
		case reports <- u:
		default:
		}
	}
	return progress, func() { close(end); <-ended }
}

// cite returns where a passage is, for people: "handbook.md, line 12 (Refunds)".
func (p passage) cite() string {
	text := p.Source
	switch {
	case p.Metadata.Page > 0:
		text += fmt.Sprintf(", page %d", p.Metadata.Page)
	case p.Metadata.Line > 0:
		text += fmt.Sprintf(", line %d", p.Metadata.Line)
	}
	if p.Metadata.Section != "" {
		text += " (" + p.Metadata.Section + ")"
	}
	return text
}
