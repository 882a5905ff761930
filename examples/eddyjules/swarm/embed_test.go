package swarm_test

// readme:start

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/runtime"
)

// Debugger fixes calls of raw_input, which Python 3 doesn't have. It passes all other
// problems to the built-in debugger.
type Debugger struct{ swarm.Offline }

// Debug implements [swarm.Debugger].
func (d Debugger) Debug(ctx context.Context, p swarm.Problem, report func(step string)) (performatives.InformResult, error) {
	if !strings.Contains(p.Traceback, "NameError: name 'raw_input'") {
		return d.Offline.Debug(ctx, p, report)
	}
	report("renaming raw_input")
	return performatives.InformResult{
		Status:  performatives.StatusSuccess,
		Summary: "raw_input is named input in Python 3.",
		Details: performatives.ContentOf(swarm.Finding{
			OriginalCode: p.Code,
			FixedCode:    strings.ReplaceAll(p.Code, "raw_input(", "input("),
		}),
	}, nil
}

// debug runs the swarm on a node and delegates a problem to Eddy.
func debug(ctx context.Context, p swarm.Problem) (f swarm.Finding, err error) {
	node, err := runtime.New(runtime.Options{Name: "embedder"})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, node.Stop(context.WithoutCancel(ctx))) }()
	swarms := runtime.Swarms{swarm.New(swarm.Options{Brain: Debugger{}})}
	if err := swarms.Host(ctx, node, swarm.Name); err != nil {
		return f, err
	}
	task := performatives.TaskRequest{TaskType: swarm.TaskDebugCode, Parameters: performatives.ContentOf(p)}
	result, err := node.Delegate(ctx, swarm.EddyID, task, delegation.WithProgress(func(u performatives.StatusUpdate) {
		fmt.Println("progress:", u.Description)
	}))
	if err != nil {
		return f, err
	}
	fmt.Printf("%s: %s\n", result.Status, result.Summary)
	return performatives.Decode[swarm.Finding](result.Details)
}

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	finding, err := debug(ctx, swarm.Problem{
		Code:      `print("Hello, " + raw_input("Your name? "))`,
		Traceback: "NameError: name 'raw_input' is not defined",
	})
	if err != nil {
		fmt.Println("no result:", err)
		return
	}
	fmt.Println(finding.FixedCode)
	// Output:
	// progress: renaming raw_input
	// success: raw_input is named input in Python 3.
	// print("Hello, " + input("Your name? "))
}

// readme:end
