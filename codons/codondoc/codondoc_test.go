package codondoc

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
	"github.com/ribosome-agents/ribosome/internal/racetest"
	"github.com/ribosome-agents/ribosome/performatives"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

// wares is the payload of an offer.
type wares struct {
	Goods []string                   `json:"goods"` // the names of the goods
	By    performatives.Capabilities `json:"by"`
}

// barter is a codon of one exchange.
func barter() *codons.Codon {
	a, r := machine.Initiator, machine.Responder
	offer, yes := performatives.ActPropose, performatives.ActAcceptProposal
	return &codons.Codon{Definition: codons.Definition{
		Table: machine.Table{
			Name: "barter", Title: "Barter", Purpose: "One offers.", Source: "a market",
			Live: []machine.State{"offered"}, Terminal: []machine.State{"sold", "bought", "lost"},
			Timers: []machine.Timer{{Role: a, Name: "deadline", Doc: "the end of the day"}},
			Rows: []machine.Row{
				machine.For(a, machine.Idle).When(machine.Commanded("start")).Goto("offered", machine.Send(offer), machine.Arm("deadline")).Because("wares"),
				machine.For(a, "offered").When(machine.Receive(yes)).Goto("sold").Because("a price"),
				machine.For(a, "offered").When(machine.Receive(performatives.ActFailure)).Goto("lost").Because("no market"),
				machine.For(a, "offered").When(machine.Timeout("deadline")).Goto("lost").Because("night | rain"),
				machine.For(r, machine.Idle).When(machine.Receive(offer)).Goto("bought", machine.Send(yes)).Because("a need"),
				machine.For(r, machine.Idle).When(machine.Commanded("stop")).Goto("lost", machine.Send(performatives.ActFailure)).Because("no market"),
			},
			Agree: []machine.Pair{
				{Initiator: "lost", Responder: "bought", After: []machine.Cause{machine.At(a, machine.Timeout("deadline"))}, Note: "late"},
				{Initiator: "sold", Responder: "bought"},
				{Initiator: "lost", Responder: machine.Idle, After: []machine.Cause{machine.Lost()}, Note: "late"},
			},
		},
		Complete: true,
		Example:  "codondoc.ExampleMarkdown",
		Payloads: []codons.Payload{{Act: offer, Type: wares{}, Doc: "the wares"}, {Act: yes, Doc: "yes"}},
		Outcomes: map[machine.State]string{"lost": "nothing"},
	}}
}

// many is the rules of an initiator with many conversations.
type many struct{}

func (many) Markdown() string {
	return "# Barter with many\n\nA crowd.\n\n## The crowd\n\n```text\n# not a heading\n```\n"
}

func market() *codons.Codon {
	return &codons.Codon{Definition: codons.Definition{
		Table: machine.Table{Name: "market", Title: "Market", Purpose: "Many offer.", Source: "a town"},
		Uses:  []codons.Use{{Codon: "barter", For: "the goods: all"}, {Codon: "gossip", For: "the `news`. Daily"}}, Coordination: many{},
		Ends: "The sun sets",
	}}
}

func TestMarkdown(t *testing.T) {
	racetest.Skip(t)
	text, err := Markdown(barter())
	if err != nil {
		t.Fatal(err)
	}
	wantParts(t, text,
		"# Barter\n\nOne offers.\n\nProtocol: `barter`. Source: a market.\n\n## In Go\n\n```go\npackage main\n\nimport (\n",
		"\nfunc main() {\n",
		"}\n```\n\nOutput:\n\n```text\n# Review\n```\n",
		"## A conversation that goes well\n\n```mermaid\nsequenceDiagram\n",
		"receive ACCEPT_PROPOSAL<br/>offered → sold\n```\n\n## The tables\n\n<details>\n<summary>Each state, event and end of both sides</summary>\n\n### The initiator\n\n```mermaid\n",
		"| PROPOSE |  | initiator | [codondoc.wares](#codondocwares) | the wares |\n",
		"| ACCEPT_PROPOSAL |  | responder | none | yes |\n",
		"| FAILURE |  | responder | [performatives.Failure](#performativesfailure) | ",
		"| lost | receive FAILURE in offered: no market<br>timeout deadline in offered: night \\| rain | bought (only after timeout deadline of the initiator): late<br>idle (only after loss of a message): late |\n",
		"### What the caller gets\n\n| the initiator ends | the caller gets |\n|---|---|\n| sold | the result |\n| lost | nothing |\n",
		"| lost | command stop in idle: no market |  | send FAILURE |\n",
		"## Types of payloads\n",
		"### codondoc.wares\n\nwares is the payload of an offer.\n",
		"| `goods` | []`string` | the names of the goods |\n",
		"| `by` | [performatives.Capabilities](#performativescapabilities) |  |\n",
		"### performatives.Action\n", // of a field of Capabilities
	)
	if strings.Contains(text, "\n| sold | receive") {
		t.Error("success is among the failures")
	}
}

func TestWrite(t *testing.T) {
	racetest.Skip(t)
	dir := filepath.Join(t.TempDir(), "docs", "codons")
	if err := Write(dir, barter(), market()); err != nil {
		t.Fatal(err)
	}
	wantParts(t, read(t, dir, "barter.md"), mark+"# Barter\n", "[codondoc.wares](payloads.md#codondocwares)")
	wantParts(t, read(t, dir, "market.md"),
		mark+"# Market\n\nMany offer.\n\nName: `market`. Source: a town.\n\n## Made of\n\n",
		"| [Barter](barter.md) | the goods: all |\n| `gossip` | the `news`. Daily |\n",
		"    whole([\"Market\"])\n    whole -- \"the goods\" --> part1[\"Barter\"]\n    whole -- \"the news\" --> part2[\"gossip\"]\n",
		"\nWhat ends the whole: The sun sets.\n",
		"\n## Barter with many\n\nA crowd.\n\n### The crowd\n\n```text\n# not a heading\n```\n")
	wantParts(t, read(t, dir, "payloads.md"),
		mark+"# Types of payloads\n", "\n## codondoc.wares\n", "[performatives.Capabilities](#performativescapabilities)")
	wantParts(t, read(t, dir, "README.md"),
		mark+"# The codons\n", "| [Barter](barter.md) | `barter` | One offers. |\n", "[types of payloads](payloads.md)", "**Cancel.**")
	if err := Write(dir, barter()); err != nil || read(t, dir, "market.md") == "" {
		t.Errorf("a second Write: %v; want the page that it does not write to stay", err)
	}
}

func TestLinksLeadToHeadings(t *testing.T) {
	racetest.Skip(t)
	files, err := render(".", []*codons.Codon{barter(), market()})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		for _, part := range strings.Split(text, "](")[1:] {
			to, _, _ := strings.Cut(part, ")")
			file, heading, _ := strings.Cut(to, "#")
			if strings.Contains(to, "://") {
				continue
			}
			if file == "" {
				file = name
			}
			if target, ok := files[file]; !ok || heading != "" && !slices.Contains(anchors(target), heading) {
				t.Errorf("%s links to %s, which does not exist", name, to)
			}
		}
	}
}

// anchors returns the anchors of the headings of a page.
func anchors(text string) []string {
	var all []string
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if title := strings.TrimLeft(line, "#"); title != line && !code {
			all = append(all, anchor(strings.TrimSpace(title)))
		}
	}
	return all
}

func TestErrors(t *testing.T) {
	racetest.Skip(t)
	var fault *machine.RowError
	for name, tt := range map[string]struct {
		change func(*codons.Codon)
		is     func(error) bool
	}{
		"no such example":       {func(c *codons.Codon) { c.Example = "ExampleOfNothing" }, is(errNoExample)},
		"an ambiguous example":  {func(c *codons.Codon) { c.Example = "ExampleNew" }, is(errTwoExamples)},
		"the wrong package":     {func(c *codons.Codon) { c.Example = "tool.ExampleMarkdown" }, is(errNoExample)},
		"a fault in the table":  {func(c *codons.Codon) { c.Table.Rows[0].To = "limbo" }, func(err error) bool { return errors.As(err, &fault) }},
		"the name of a page":    {func(c *codons.Codon) { c.Table.Name = "payloads" }, is(errors.ErrUnsupported)},
		"a name with a folder":  {func(c *codons.Codon) { c.Table.Name = "../barter" }, is(errors.ErrUnsupported)},
		"the name of the index": {func(c *codons.Codon) { c.Table.Name = "README" }, is(errors.ErrUnsupported)},
	} {
		c := barter()
		tt.change(c)
		dir := t.TempDir()
		if err := Write(dir, market(), c); err == nil || !tt.is(err) || !strings.Contains(err.Error(), c.Name()) {
			t.Errorf("%s: %v", name, err)
		}
		if files, _ := os.ReadDir(dir); len(files) > 0 {
			t.Errorf("%s: %d files were written", name, len(files))
		}
	}
	if err := Write(t.TempDir(), barter(), barter()); err == nil || !strings.Contains(err.Error(), `"barter"`) {
		t.Errorf("two codons of a name: %v", err)
	}
}

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

// A payload type of another module is found in the module cache.
func TestTypeOfAnotherModule(t *testing.T) {
	racetest.Skip(t)
	c := barter()
	c.Payloads[0].Type = cmp.Options{}
	text, err := Markdown(c)
	if err != nil {
		t.Fatal(err)
	}
	wantParts(t, text, "### cmp.Options\n\nOptions is a list of `Option` values")
}

func TestMessageTypes(t *testing.T) {
	racetest.Skip(t)
	c := barter()
	c.Messages = codons.Messages{"OFFER": codons.Says[wares](performatives.ActPropose).With("the wares")}
	text, err := Markdown(c)
	if err != nil {
		t.Fatal(err)
	}
	wantParts(t, text, "| OFFER | PROPOSE | initiator | [codondoc.wares](#codondocwares) | the wares |\n", "idle --> offered: command start !OFFER\n")
}

// TestTaggedMessageTypes writes message types in place of their act and tag, with the comment of a
// payload as what it is for, and leaves other tags as they are.
func TestTaggedMessageTypes(t *testing.T) {
	racetest.Skip(t)
	c := barter()
	offer := performatives.ActPropose
	c.Messages = codons.Messages{"OFFER": codons.Says[wares](offer), "BID": codons.Says[wares](offer), "DEAL": codons.Says[wares](performatives.ActAcceptProposal)}
	c.Table.Rows[0].Do[0] = machine.SendTagged(offer, "OFFER")
	c.Table.Rows[4].On[0] = machine.ReceiveTagged(offer, "OFFER")
	c.Table.Rows = append(c.Table.Rows, machine.For(machine.Initiator, "offered").When(machine.ReceiveTagged(performatives.ActAcceptProposal, "later")).Stay(machine.Drop("late")).Because("a row"))
	text, err := Markdown(c)
	if err != nil {
		t.Fatal(err)
	}
	wantParts(t, text, "| OFFER | PROPOSE | initiator | [codondoc.wares](#codondocwares) | wares is the payload of an offer |\n",
		"command start !OFFER\n", "?OFFER !DEAL\n", "| receive DEAL | sold |", "receive ACCEPT_PROPOSAL (later)")
}

func TestPayloadWithoutATypeOfItsOwn(t *testing.T) {
	racetest.Skip(t)
	c := barter()
	c.Payloads[0].Type = map[string]int{}
	text, err := Markdown(c)
	if err != nil {
		t.Fatal(err)
	}
	wantParts(t, text, "| PROPOSE |  | initiator | `map[string]int` | the wares |\n")
}

func TestFolderOutsideOfAModule(t *testing.T) {
	if _, err := newSources(t.TempDir()); !errors.Is(err, errNoModule) {
		t.Errorf("got %v", err)
	}
}

func wantParts(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q", part)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
