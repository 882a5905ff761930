package performatives_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	p "github.com/ribosome-agents/ribosome/performatives"
)

func jules() p.Capabilities {
	return p.Capabilities{
		Topics: []string{"Python", "Unit Testing", "Version Control (Git)"},
		Actions: []p.Action{
			{
				Name: "EXECUTE_DELEGATED_CODING_TASK", Description: "Does a coding task.",
				InputSchema: []byte(`{"type":"object"}`), Examples: []p.Content{p.RawContent([]byte(`{}`))},
				Extra: p.Members{"cost": []byte(`1`)},
			},
		},
	}
}

func TestFoldCapability(t *testing.T) {
	tests := map[string]string{
		"Unit Testing": "unit testing", "unit_testing": "unit testing", "UNIT-TESTING": "unit testing",
		"  Go ": "go", "_go-": "go", "": "", "_": "", "C++": "c++",
	}
	for in, want := range tests {
		if got := p.FoldCapability(in); got != want {
			t.Errorf("FoldCapability(%q) = %q, want %q", in, got, want)
		}
	}
	names := rapid.StringOf(rapid.SampledFrom([]rune("aB _-\tİſ")))
	rapid.Check(t, func(t *rapid.T) {
		name := names.Draw(t, "name")
		if once := p.FoldCapability(name); p.FoldCapability(once) != once {
			t.Fatalf("%q folds to %q and then to %q", name, once, p.FoldCapability(once))
		}
	})
}

func TestMatch(t *testing.T) {
	c := jules()
	c.Topics = append(c.Topics, "python") // the same as Python
	tests := []struct {
		wanted, want []string
	}{
		{nil, nil},
		{[]string{"Rust"}, nil},
		{[]string{"unit-testing"}, []string{"Unit Testing"}},
		{[]string{"unit_testing", "UNIT TESTING", "Rust"}, []string{"Unit Testing"}},
		{[]string{"execute delegated coding task", "Unit Testing"}, []string{"EXECUTE_DELEGATED_CODING_TASK", "Unit Testing"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, c.Match(tt.wanted)); diff != "" {
			t.Errorf("Match(%q) (-want +got):\n%s", tt.wanted, diff)
		}
	}
	if a, ok := c.Action("Execute-Delegated-Coding-Task"); !ok || a.Name != "EXECUTE_DELEGATED_CODING_TASK" {
		t.Errorf("Action = %+v, %t", a, ok)
	}
	if _, ok := c.Action("Python"); ok {
		t.Error("a topic is taken for an action")
	}
}

// An agent has all of some names if each is one of its topics or actions, in any spelling.
func TestHasAll(t *testing.T) {
	c := p.Capabilities{Topics: []string{"Python", "debug_code"}, Actions: []p.Action{{Name: "Small-Talk"}}}
	for _, tt := range []struct {
		names []string
		want  bool
	}{
		{[]string{"debug code"}, true},
		{[]string{"DEBUG_CODE", "python", "small talk"}, true},
		{[]string{"python", "cooking"}, false},
		{[]string{"cooking"}, false},
		{nil, true},
	} {
		if got := c.HasAll(tt.names); got != tt.want {
			t.Errorf("%q: %t", tt.names, got)
		}
	}
}

func TestKnowsOntology(t *testing.T) {
	declares := p.Capabilities{Ontologies: []string{p.OntologyDebugRequest}}
	for _, tt := range []struct {
		c        p.Capabilities
		ontology string
		want     bool
	}{
		{declares, p.OntologyDebugRequest, true},
		{declares, "", true},
		{declares, "ex:music", false},
		{declares, p.OntologyDebugRequest + "/", false},
		{p.Capabilities{}, "ex:music", true},
	} {
		if got := tt.c.KnowsOntology(tt.ontology); got != tt.want {
			t.Errorf("%q of %q: got %t", tt.ontology, tt.c.Ontologies, got)
		}
	}
}

func TestSummaryHasOntologies(t *testing.T) {
	c := p.Capabilities{Ontologies: []string{"ex:music"}, Actions: []p.Action{{Name: "sing", Ontology: "ex:music"}}}
	answer, err := c.Answer(p.QueryCapabilities{Type: p.QuerySummary, Schemas: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Ontologies, answer.Capabilities.Ontologies); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	b, err := json.Marshal(answer)
	if want := `{"capabilities":{"topics":[],"actions":[{"name":"sing","ontology":"ex:music"}],"ontologies":["ex:music"]},"status":"success"}`; err != nil || !p.RawContent(b).Equal(p.RawContent([]byte(want))) {
		t.Errorf("got %s, %v", b, err)
	}
	answer.Capabilities.Ontologies[0] = "ex:weather"
	if c.Ontologies[0] != "ex:music" {
		t.Error("the answer shares the slice of the capabilities")
	}
}

func TestReadsLanguage(t *testing.T) {
	declares := p.Capabilities{Languages: []string{"application/json", "text/x-python"}}
	for language, want := range map[string]bool{
		"": true, "application/json": true, "Application/JSON; charset=utf-8": true, "text/x-python": true, "en": true, "de-AT": true, "zh-Hant-TW": true,
		"application/xml": false, "FIPA-SL": false, "prolog": false, "text/x-python3": false,
	} {
		if got := declares.ReadsLanguage(language); got != want {
			t.Errorf("%q: got %t", language, got)
		}
		if !(p.Capabilities{}).ReadsLanguage(language) {
			t.Errorf("%q is refused by an agent that declares no language", language)
		}
		e := p.Envelope{ID: "m", Sender: "Eddy", Timestamp: noon, Language: language, Payload: p.TaskRequest{TaskType: "review"}}
		r := declares.UnknownOntology("Jules", mustNew(t, e))
		if want != (r == nil) || r != nil && r.Code != p.CodeUnsupportedLanguage {
			t.Errorf("%q: the refusal is %v", language, r)
		}
	}
}
