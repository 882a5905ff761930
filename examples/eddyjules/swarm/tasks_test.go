package swarm_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/query"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm"
	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
	"github.com/ribosome-agents/ribosome/performatives"
)

// askJules delegates a task of an editor to Jules.
func (s *fixture) askJules(task string, snippet any, opts ...codons.Option) (performatives.InformResult, error) {
	return delegation.Delegate(s.ctx, s.user, swarm.JulesID, performatives.TaskRequest{
		TaskType: task, Parameters: performatives.ContentOf(snippet),
	}, opts...)
}

func TestNoRefactoring(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	for name, tt := range map[string]struct {
		snippet           swarm.Snippet
		summary, analysis string
	}{
		"another language": {swarm.Snippet{Code: "let x = 1", Language: "JavaScript"}, "Only Python is refactored here.", ""},
		"language of IDE":  {swarm.Snippet{Code: "let x = 1", LanguageOfIDE: "javascript"}, "Only Python is refactored here.", ""},
		"broken":           {swarm.Snippet{Code: "def f(:\n"}, "The code is not understood.", "line 1: "},
		"nothing to do":    {swarm.Snippet{Code: "x = 1\n"}, "No refactoring that keeps the behaviour of this code is known here.", ""},
		"not safe": {
			swarm.Snippet{Code: "def f(l, lines):\n    for l in lines:\n        print(l)\n", Language: "Python3"},
			"No refactoring that keeps the behaviour of this code is known here.", "line 2: the variable l is not renamed: it is a parameter",
		},
	} {
		r, err := s.askJules(swarm.TaskRefactor, tt.snippet, codons.WithOntology(performatives.OntologyRefactorRequest))
		if err != nil || r.Status != performatives.StatusFailure || r.Summary != tt.summary {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
		d, err := performatives.Decode[swarm.Refactoring](r.Details)
		if err != nil || d.OriginalSnippet != tt.snippet.Code || d.Suggestions == nil || len(d.Suggestions) > 0 || !strings.HasPrefix(d.Analysis, tt.analysis) {
			t.Errorf("%s: got %+v, %v", name, d, err)
		}
	}
	_, err := s.askJules(swarm.TaskRefactor, swarm.Snippet{Code: strings.Repeat("#", pydebug.MaxPart+1)})
	wantEnd(t, err, "failed", performatives.CodeInvalidPayload)
	for _, parameters := range []any{map[string]any{}, swarm.Snippet{}, map[string]any{"code_snippet": 3}} {
		_, err := s.askJules(swarm.TaskRefactor, parameters)
		wantEnd(t, err, "not_understood", performatives.CodeInvalidPayload)
		if !strings.Contains(err.Error(), "code_snippet") {
			t.Errorf("%v: got %v", parameters, err)
		}
	}
}

func TestRefactoringNamesTheFile(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	const code = "def f(lines):\n    for l in lines:\n        print(l)\n"
	for name, want := range map[string]string{"": "snippet.py", `C:\a\b.py`: "b.py", "x\ny": "snippet.py"} {
		r, err := s.askJules("REFACTOR-code snippet", swarm.Snippet{Code: code, FileName: name})
		if err != nil {
			t.Fatal(err)
		}
		d, err := performatives.Decode[swarm.Refactoring](r.Details)
		if err != nil || len(d.Suggestions) != 1 || d.Suggestions[0].Line != 2 || !strings.HasPrefix(d.Suggestions[0].Diff, "--- a/"+want+"\n+++ b/"+want+"\n@@") {
			t.Errorf("%q: got %+v, %v", name, d, err)
		}
	}
}

func TestNoExplanation(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	for summary, snippet := range map[string]swarm.Snippet{
		"Only Python is explained here.": {Code: "let x = 1", Language: "go"},
		"The code is not understood.":    {Code: "f("},
	} {
		r, err := s.askJules(swarm.TaskExplain, snippet)
		if err != nil || r.Status != performatives.StatusFailure || r.Summary != summary {
			t.Errorf("got %+v, %v; want %s", r, err, summary)
		}
	}
	_, err := s.askJules(swarm.TaskExplain, swarm.Snippet{Code: strings.Repeat("#", pydebug.MaxPart+1)})
	wantEnd(t, err, "failed", performatives.CodeInvalidPayload)
}

// Editors of the variant of addenda §3 call the refactoring by another name, and ask Eddy for
// documentation, which Jules writes.
func TestTasksOfEditors(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	snippet := performatives.ContentOf(swarm.Snippet{Code: "def f(rows):\n    out = []\n    for x in rows:\n        out.append(x)\n    return out", LanguageOfIDE: "python"})
	r, err := delegation.Delegate(s.ctx, s.user, swarm.JulesID, performatives.TaskRequest{TaskType: swarm.TaskSuggest, Parameters: snippet})
	if err != nil || r.Summary != "Refactoring suggestions provided." {
		t.Errorf("got %+v, %v", r, err)
	}
	r, err = delegation.Delegate(s.ctx, s.user, swarm.EddyID, performatives.TaskRequest{TaskType: swarm.TaskDocument, Parameters: snippet})
	if err != nil || r.Summary != "The code has 1 function and 0 classes." {
		t.Errorf("got %+v, %v", r, err)
	}
	_, err = delegation.Delegate(s.ctx, s.user, swarm.EddyID, performatives.TaskRequest{TaskType: swarm.TaskDocument})
	wantEnd(t, err, "not_understood", performatives.CodeInvalidPayload)
}

// The code of debug_code may be called as editors call it.
func TestDebugSnippet(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	whole := sample()
	for _, to := range []performatives.AgentID{swarm.EddyID, swarm.JulesID} {
		r, err := delegation.Delegate(s.ctx, s.user, to, debugCode(map[string]string{"code_snippet": whole.Code, "error_log": whole.Traceback}))
		if err != nil || r.Status != performatives.StatusSuccess || finding(t, r).OriginalCode != whole.Code {
			t.Errorf("%s: got %+v, %v", to, r, err)
		}
		r, err = delegation.Delegate(s.ctx, s.user, to, debugCode(swarm.Problem{Traceback: whole.Traceback}),
			delegation.WithInput(func(context.Context, performatives.InformResult) (performatives.TaskRequest, bool) {
				return debugCode(swarm.Problem{Snippet: whole.Code}), true
			}))
		if err != nil || r.Status != performatives.StatusSuccess {
			t.Errorf("%s: got %+v, %v", to, r, err)
		}
	}
}

func TestQueryIf(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	type object = map[string]any
	for _, tt := range []struct {
		condition any
		want      bool
		field     string // of the refusal; empty for an answer
	}{
		{"has_capacity", true, ""},
		{object{"has_capacity": true}, true, ""},
		{object{"has_capacity": false}, false, ""},
		{object{"skill": "unit-testing"}, true, ""},
		{object{"skill": "Cooking"}, false, ""},
		{object{"skills": []string{"Python", "debugging"}}, true, ""},
		{object{"skills": []string{"Python", "Cooking"}}, false, ""},
		{object{"task_type": "explain_code"}, true, ""},
		{object{"task_type": "make_tea"}, false, ""},
		{object{"has_capacity": true, "skill": "Go", "task_type": swarm.TaskRefactor}, true, ""},
		{object{"has_capacity": true, "skill": "Cooking"}, false, ""},
		{"it rains", false, `"it rains"`},
		{object{"weather": "rain"}, false, `"weather"`},
		{object{}, false, "got"},
		{7, false, "another value"},
		{object{"skill": 7}, false, "skill"},
	} {
		got, err := query.If(s.ctx, s.user, swarm.JulesID, tt.condition)
		if tt.field == "" {
			if err != nil || got != tt.want {
				t.Errorf("%v: got %t, %v", tt.condition, got, err)
			}
			continue
		}
		end, code := "not_understood", performatives.CodeInvalidPayload
		if _, statement := tt.condition.(string); statement {
			end, code = "refused", performatives.CodeCannotDecide
		}
		wantEnd(t, err, end, code)
		if !strings.Contains(err.Error(), tt.field) {
			t.Errorf("%v: got %v", tt.condition, err)
		}
	}
}

func TestQueryRef(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	skills, err := query.Ref[[]string](s.ctx, s.user, swarm.JulesID, "skills")
	if err != nil || !slices.Contains(skills, "Code Review") {
		t.Errorf("skills: %q, %v", skills, err)
	}
	tasks, err := query.Ref[[]string](s.ctx, s.user, swarm.JulesID, "task_types")
	if diff := cmp.Diff([]string{swarm.ActionExecute, swarm.TaskDebugCode, swarm.TaskRefactor, swarm.TaskSuggest, swarm.TaskExplain}, tasks); err != nil || diff != "" {
		t.Errorf("task_types: %v (-want +got):\n%s", err, diff)
	}
	ontologies, err := query.Ref[[]string](s.ctx, s.user, swarm.JulesID, "ontologies")
	if err != nil || !slices.Contains(ontologies, performatives.OntologyDebugRequest) {
		t.Errorf("ontologies: %q, %v", ontologies, err)
	}
	_, err = query.Ref[any](s.ctx, s.user, swarm.JulesID, "weather")
	wantEnd(t, err, "refused", performatives.CodeUnknownReference)
}

func TestCapacity(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	b, working, why := blocking()
	s.spawn("Busy", &swarm.Jules{Brain: b, Limit: 1})
	capacity := func(want swarm.Capacity) {
		t.Helper()
		got, err := query.Ref[swarm.Capacity](s.ctx, s.user, "Busy", "capacity")
		if err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		free, err := query.If(s.ctx, s.user, "Busy", "has_capacity")
		if err != nil || free != (want.Free > 0) {
			t.Errorf("has_capacity: %t, %v", free, err)
		}
	}
	capacity(swarm.Capacity{MaxTasks: 1, Free: 1})
	d, err := delegation.Start(s.ctx, s.user, "Busy", debugCode(sample()))
	if err != nil {
		t.Fatal(err)
	}
	<-working
	capacity(swarm.Capacity{MaxTasks: 1, UnderWay: 1})
	_, err = delegation.Delegate(s.ctx, s.user, "Busy", debugCode(sample()))
	wantEnd(t, err, "rejected", performatives.CodeBusy)
	d.Cancel()
	if err := <-why; !errors.Is(err, codons.ErrCanceled) {
		t.Errorf("the work was stopped by %v", err)
	}
	if _, err := d.Wait(); err == nil { // the receipt comes after the end of the work
		t.Error("there is a result of what was cancelled")
	}
	capacity(swarm.Capacity{MaxTasks: 1, Free: 1})
}

func TestOntologiesOfTheSwarm(t *testing.T) {
	s := newFixture(t, swarm.Options{})
	for _, to := range []performatives.AgentID{swarm.EddyID, swarm.JulesID, swarm.ElizaID} {
		_, err := delegation.Delegate(s.ctx, s.user, to, debugCode(sample()), codons.WithOntology("elizaos:ontology:code/rust/debug_request"))
		wantEnd(t, err, "not_understood", performatives.CodeUnknownOntology)
	}
	for _, ontology := range []string{performatives.OntologyDebugRequest, "elizaos:coding", "elizaos:ide:debug_code", ""} {
		for _, to := range []performatives.AgentID{swarm.EddyID, swarm.JulesID} {
			if _, err := delegation.Delegate(s.ctx, s.user, to, debugCode(sample()), codons.WithOntology(ontology)); err != nil {
				t.Errorf("%s in %q: %v", to, ontology, err)
			}
		}
	}
}

// A path in place of code is read if it is below the code root; else the code is wanted (acl §4.1).
func TestCodeFiles(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	problem := sample()
	for _, file := range []string{filepath.Join(root, "scripts", "parse.py"), filepath.Join(outside, "secret.py")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o750), os.WriteFile(file, []byte(problem.Code), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	long := problem.Code + strings.Repeat("#", 1<<20)
	err := errors.Join(
		os.Symlink(filepath.Join(outside, "secret.py"), filepath.Join(root, "link.py")),
		os.Mkdir(filepath.Join(root, "dir.py"), 0o750), os.WriteFile(filepath.Join(root, "long.py"), []byte(long), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		root, path string
		read       bool
	}{
		{root, "scripts/parse.py", true},
		{root, filepath.Join(root, "scripts", "parse.py"), true},
		{root, filepath.Join(outside, "secret.py"), false},
		{root, "../" + filepath.Base(outside) + "/secret.py", false},
		{root, "link.py", false},
		{root, "dir.py", false},
		{root, "long.py", false},
		{root, "none.py", false},
		{"", filepath.Join(root, "scripts", "parse.py"), false},
	} {
		s := newFixture(t, swarm.Options{CodeRoot: tt.root})
		for _, to := range []performatives.AgentID{swarm.EddyID, swarm.JulesID} {
			r, err := delegation.Delegate(s.ctx, s.user, to, debugCode(swarm.Problem{Code: tt.path, Traceback: problem.Traceback}))
			if tt.read {
				if f := finding(t, r); err != nil || f.OriginalCode != problem.Code || f.FixedCode == "" {
					t.Errorf("%s: got %+v, %v", tt.path, r, err)
				}
				continue
			}
			wantEnd(t, err, "not_understood", performatives.CodeInvalidPayload)
			if !strings.Contains(err.Error(), "want the code itself") || tt.root != "" && strings.Contains(err.Error(), tt.root) {
				t.Errorf("%s: %v", tt.path, err)
			}
		}
	}
}
