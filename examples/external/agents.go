package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/performatives"
)

// localAgents returns the agents of the node itself. The agents outside delegate parts
// of their tasks to them.
func localAgents() map[performatives.AgentID]func() actors.Agent {
	return map[performatives.AgentID]func() actors.Agent{
		"Lexicon":    func() actors.Agent { return lexicon{} },
		"Arithmetic": func() actors.Agent { return arithmetic{} },
	}
}

// lexicon is an agent with a list of stop words: words that occur in every English
// text.
type lexicon struct{}

var stopWords = strings.Fields(`a about after all an and any are as at be because been before but by can could did do does for from
		had has have he her here him his how i if in into is it its just like me more my no not now of on only or other our out over
		said she so some such than that the their them then there these they this those to too up very was we were what when where
		which who why will with would you your`)

// Describe returns the capabilities for discovery.
func (lexicon) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"English"}, Actions: []performatives.Action{{
		Name: "stop_words", Description: "Says which of some words are in every text.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"words":{"type":"array","items":{"type":"string"}}},"required":["words"]}`),
	}}}
}

// ConsiderTask accepts a task of the agent's one type.
func (lexicon) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	return accept(t, "stop_words")
}

// PerformTask returns the stop words among the words.
func (lexicon) PerformTask(_ context.Context, t delegation.Task) (performatives.InformResult, error) {
	in, err := performatives.Decode[struct {
		Words []string `json:"words"`
	}](t.Parameters)
	if err != nil {
		return performatives.InformResult{}, err
	}
	found := []string{}
	for i, w := range in.Words {
		if slices.Contains(stopWords, strings.ToLower(w)) {
			found = append(found, w)
		}
		if 2*i/len(in.Words) != 2*(i+1)/len(in.Words) {
			if err := t.Progress(float64(100*(i+1)/len(in.Words)), fmt.Sprintf("%d words are looked up", i+1)); err != nil {
				return performatives.InformResult{}, err
			}
		}
	}
	return success(fmt.Sprintf("%d of %d words", len(found), len(in.Words)), map[string]any{"stop_words": found}), nil
}

// arithmetic is an agent that tests numbers for primality.
type arithmetic struct{}

// maxDigits bounds the length of a number, and so the time of one test.
const maxDigits = 1000

// Describe returns the capabilities for discovery.
func (arithmetic) Describe() performatives.Capabilities {
	return performatives.Capabilities{Topics: []string{"mathematics"}, Actions: []performatives.Action{{
		Name: "is_prime", Description: "Says which of some numbers, written in decimal, are prime.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"numbers":{"type":"array","items":{"type":"string","pattern":"^[0-9]{1,1000}$"}}},"required":["numbers"]}`),
	}}}
}

// ConsiderTask accepts a task of the agent's one type.
func (arithmetic) ConsiderTask(_ context.Context, t delegation.Task) delegation.Decision {
	return accept(t, "is_prime")
}

// PerformTask tests the numbers, one after the other.
func (arithmetic) PerformTask(ctx context.Context, t delegation.Task) (performatives.InformResult, error) {
	in, err := performatives.Decode[struct {
		Numbers []string `json:"numbers"`
	}](t.Parameters)
	if err != nil {
		return performatives.InformResult{}, err
	}
	primes := []string{}
	for i, text := range in.Numbers {
		n, ok := new(big.Int).SetString(text, 10)
		if !ok || len(text) > maxDigits {
			return performatives.InformResult{}, &performatives.Refusal{
				Code: performatives.CodeFailed, Text: fmt.Sprintf("numbers[%d]: want a number of at most %d digits", i, maxDigits),
			}
		}
		is := "is not prime"
		if n.ProbablyPrime(20) {
			primes, is = append(primes, text), "is prime"
		}
		if err := t.Progress(float64(100*(i+1)/len(in.Numbers)), text+" "+is); err != nil {
			return performatives.InformResult{}, err
		}
		if ctx.Err() != nil {
			return performatives.InformResult{}, context.Cause(ctx)
		}
	}
	return success(fmt.Sprintf("%d of %d numbers are prime", len(primes), len(in.Numbers)), map[string]any{"primes": primes}), nil
}

// accept accepts a task of the given type and rejects any other.
func accept(t delegation.Task, taskType string) delegation.Decision {
	if t.TaskType != taskType {
		return delegation.Reject(performatives.CodeIncapable, "the only task here is "+taskType)
	}
	return delegation.Accept()
}

func success(summary string, details any) performatives.InformResult {
	return performatives.InformResult{Status: performatives.StatusSuccess, Summary: summary, Details: performatives.ContentOf(details)}
}
