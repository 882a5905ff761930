package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/internal/leakcheck"
	"github.com/ribosome-agents/ribosome/performatives"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const root = "../../.."

func TestPageIsUpToDate(t *testing.T) {
	want, err := render(root, codons.Library())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page(root))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/codons.md is not what the library says; run make generate (or: go generate ./codons/internal/docs) and look at the difference")
	}
}

func TestUpdateWritesThePage(t *testing.T) {
	elsewhere := t.TempDir()
	for _, folder := range []string{"codons", "performatives"} {
		if err := os.CopyFS(filepath.Join(elsewhere, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(elsewhere, "docs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := update(elsewhere); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(page(elsewhere)); err != nil || !strings.HasPrefix(string(text), "# The codons\n") {
		t.Errorf("%.80s, %v", text, err)
	}
}

// TestHeadingsAreOneOfAKind and the links lead to them.
func TestHeadingsAreOneOfAKind(t *testing.T) {
	text, err := render(root, codons.Library())
	if err != nil {
		t.Fatal(err)
	}
	var anchors []string
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if title := strings.TrimLeft(line, "#"); title != line && !code {
			anchors = append(anchors, "#"+anchor(strings.TrimSpace(title)))
		}
	}
	unique := slices.Compact(slices.Sorted(slices.Values(anchors)))
	if len(unique) != len(anchors) {
		t.Errorf("of %d headings %d differ", len(anchors), len(unique))
	}
	for _, part := range strings.Split(text, "](#")[1:] {
		if to, _, _ := strings.Cut(part, ")"); !slices.Contains(anchors, "#"+to) {
			t.Errorf("a link leads to #%s, where nothing is", to)
		}
	}
}

// barter is a codon of one exchange.
func barter() codons.Codon {
	a, r := machine.Initiator, machine.Responder
	offer, yes := performatives.ActPropose, performatives.ActAcceptProposal
	return codons.Codon{
		Table: machine.Table{
			Name: "barter", Title: "Barter", Purpose: "One offers.", Source: "a market",
			Live: []machine.State{"offered"}, Terminal: []machine.State{"sold", "bought", "lost"},
			Timers: []machine.Timer{{Role: a, Name: "deadline", Doc: "the end of the day"}},
			Rows: []machine.Row{
				machine.For(a, machine.Idle).When(machine.Command("start")).Goto("offered", machine.Send(offer), machine.Arm("deadline")).Because("wares"),
				machine.For(a, "offered").When(machine.Receive(yes)).Goto("sold").Because("a price"),
				machine.For(a, "offered").When(machine.Timeout("deadline")).Goto("lost").Because("night | rain"),
				machine.For(r, machine.Idle).When(machine.Receive(offer)).Goto("bought", machine.Send(yes)).Because("a need"),
				machine.For(r, machine.Idle).When(machine.Command("stop")).Goto("lost", machine.Send(performatives.ActFailure)).Because("no market"),
			},
			Agree: []machine.Pair{
				{Initiator: "sold", Responder: "bought"},
				{Initiator: "lost", Responder: "bought", Rough: true, Note: "late"},
				{Initiator: "lost", Responder: machine.Idle, Rough: true, Note: "late"},
			},
		},
		Example:  "ExampleDelegate",
		Payloads: []codons.Payload{{Act: offer, Type: performatives.Capabilities{}, Doc: "the wares"}, {Act: yes, Doc: "yes"}},
		Sees:     map[machine.State]string{"lost": "nothing"},
	}
}

// many leads many conversations.
type many struct{}

func (many) Markdown() string {
	return "# Barter with many\n\nA crowd.\n\n## The crowd\n\n```text\n# not a heading\n```\n"
}

func TestSectionOfACodon(t *testing.T) {
	c, market := barter(), codons.Codon{
		Table: machine.Table{Name: "market", Title: "Market", Purpose: "Many offer.", Source: "a town"},
		Uses:  []string{"barter"}, Coordination: many{}, Example: "ExampleDelegate",
	}
	text, err := render(root, []codons.Codon{c, market})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"- [Barter](#barter), `barter`\n",
		"## Barter\n\nOne offers.\n\nProtocol: `barter`. Source: a market.\n\n### Barter: in Go\n\n```go\n// debugger is an agent that debugs.\ntype debugger struct{}\n\nfunc (debugger) Describe()",
		"Topics: []string{\"Poetry\"}} }\n\nctx := context.Background()\n",
		"### Market: in Go\n\n```go\nctx := context.Background()\n", // the agents stand above
		"It prints\n\n```text\n50 %: reading the traceback\n",
		"### Barter: the initiator\n\n```mermaid\n",
		"| PROPOSE | initiator | [performatives.Capabilities](#performativescapabilities) | the wares |\n",
		"| ACCEPT_PROPOSAL | responder | none | yes |\n",
		"| FAILURE | responder | [performatives.Failure](#performativesfailure) | ",
		"| lost | timeout deadline in offered: night \\| rain | bought or idle (rough): late | nothing |\n",
		"| lost | command stop in idle: no market |  | send FAILURE |\n",
		"## Market\n\nMany offer.\n\nName: `market`. Source: a town.\n\nMade of: [Barter](#barter).\n",
		"### Barter with many\n\nA crowd.\n\n### Market: the crowd\n\n```text\n# not a heading\n```\n",
		"### performatives.Capabilities\n\nCapabilities is what an agent says it can do: what discovery sees.\n",
		"| `actions` | [][performatives.Action](#performativesaction) | tasks that it performs |\n",
		"### performatives.Action\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestAnExampleThatIsNotThere(t *testing.T) {
	c := barter()
	c.Example = "ExampleOfNothing"
	if _, err := render(root, []codons.Codon{c}); !errors.Is(err, errNoExample) {
		t.Errorf("got %v", err)
	}
}

func TestATypeOfSomebodyElse(t *testing.T) {
	c := barter()
	c.Payloads[0].Type = cmp.Options{}
	if _, err := render(root, []codons.Codon{c}); err == nil {
		t.Error("a type that has no source here is described")
	}
}
