package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ribosome-agents/ribosome/codons/approval"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// janitor is an agent that deletes files after an approval.
type janitor struct{ options }

func (*janitor) Describe() performatives.Capabilities {
	return performatives.Capabilities{Actions: []performatives.Action{{Name: "clean_up", Description: "frees space"}}}
}

func (*janitor) ConsiderTask(context.Context, delegation.Task) delegation.Decision {
	return delegation.Accept()
}

// PerformTask makes the files, asks for approval, and deletes the files if approved.
func (j *janitor) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	dir, err := os.MkdirTemp("", "approval-")
	if err != nil {
		return performatives.InformResult{}, refusal(err)
	}
	if !j.keep {
		defer os.RemoveAll(dir)
	}
	files, err := j.makeFiles(dir)
	if err != nil {
		return performatives.InformResult{}, refusal(err)
	}
	decision, err := j.ask(ctx, t, dir, files)
	if err != nil {
		return performatives.InformResult{}, err
	}
	if !decision.Approved {
		return j.report(performatives.StatusFailure, dir, "Nothing was deleted: "+reason(decision))
	}
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			return performatives.InformResult{}, refusal(err)
		}
	}
	return j.report(performatives.StatusSuccess, dir, fmt.Sprintf("Deleted %d files, as %s approved%s", len(files), decision.By, reasonSuffix(decision.Reason)))
}

// makeFiles makes the files and returns their names.
func (j *janitor) makeFiles(dir string) ([]string, error) {
	var files []string
	for i := range 3 {
		file := filepath.Join(dir, fmt.Sprintf("log-%d.txt", i+1))
		if err := os.WriteFile(file, []byte("something that nobody has read for years\n"), 0o600); err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}

// ask waits for the person's decision until the deadline of the flags. Its context is
// that of the task, so that a withdrawn task withdraws the question.
func (j *janitor) ask(ctx context.Context, t delegation.Task, dir string, files []string) (approval.Approval, error) {
	ctx, cancel := context.WithTimeout(ctx, j.deadline)
	defer cancel()
	return approval.Approve(ctx, t.Agent, personID, approval.Step{
		What: fmt.Sprintf("delete %d files in %s", len(files), dir),
		Why:  "nobody has read them for years",
		Data: performatives.ContentOf(files),
	}, approval.WithDefault(false))
}

// report returns a result with the number of files that are left in dir.
func (*janitor) report(s performatives.TaskStatus, dir, text string) (performatives.InformResult, error) {
	left, err := os.ReadDir(dir)
	if err != nil {
		return performatives.InformResult{}, refusal(err)
	}
	return performatives.InformResult{Status: s, Summary: fmt.Sprintf("%s. %d files left.", text, len(left))}, nil
}

func reason(d approval.Approval) string {
	if d.Default {
		return "no answer came in time, and that means no"
	}
	return string(d.By) + " said no" + reasonSuffix(d.Reason)
}

func reasonSuffix(why string) string {
	if why == "" {
		return ""
	}
	return " (" + why + ")"
}

// refusal wraps an error whose text the asker receives. A node sends the text of a
// Refusal to the asker, and that of no other error.
func refusal(err error) error {
	return &performatives.Refusal{Code: performatives.CodeFailed, Text: err.Error()}
}
