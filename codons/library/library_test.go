package library

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/delegation"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

func TestEveryCodonIsDescribed(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Codons() {
		if names[c.Table.Name] {
			t.Errorf("two codons are called %q", c.Table.Name)
		}
		names[c.Table.Name] = true
	}
	for _, c := range Codons() {
		for _, missing := range missingFrom(c, names) {
			t.Errorf("%s: %s", c.Table.Name, missing)
		}
		if c.Example == "" { // that it exists is tested with the pages in docs/codons
			t.Errorf("%s: it names no example", c.Table.Name)
		}
	}
}

// missingFrom returns what a codon lacks, and what it has without use, in a library of
// codons with those names.
func missingFrom(c *codons.Codon, names map[string]bool) (missing []string) {
	fault := func(format string, args ...any) { missing = append(missing, fmt.Sprintf(format, args...)) }
	for what, text := range map[string]string{
		"name": c.Table.Name, "title": c.Table.Title, "purpose": c.Table.Purpose, "source": c.Table.Source,
	} {
		if text == "" {
			fault("it has no %s", what)
		}
	}
	for _, use := range c.Uses {
		if !names[use.Codon] {
			fault("it uses %q, which is not in the library", use.Codon)
		}
		if use.For == "" {
			fault("it does not say what it uses %q for", use.Codon)
		}
	}
	if len(c.Table.Rows) == 0 && len(c.Uses) == 0 {
		fault("it has no rows and uses no other codon")
	}
	if len(c.Table.Rows) == 0 && len(c.Uses) > 0 && c.Ends == "" {
		fault("it has no rows and does not say what ends the whole")
	}
	missing = append(missing, missingPayloads(c)...)
	missing = append(missing, missingTags(c)...)
	slices.Sort(missing)
	return missing
}

func missingPayloads(c *codons.Codon) (missing []string) {
	for _, act := range c.Acts() {
		if !slices.ContainsFunc(c.Sends(), func(p codons.Payload) bool { return p.Act == act }) {
			missing = append(missing, fmt.Sprintf("no payload says what %s carries", act))
		}
	}
	for _, p := range c.Payloads {
		switch {
		case p.Doc == "":
			missing = append(missing, fmt.Sprintf("the payload of %s says nothing", p.Act))
		case len(c.Table.Rows) > 0 && !slices.Contains(c.Acts(), p.Act):
			missing = append(missing, fmt.Sprintf("it never sends %s", p.Act))
		}
	}
	return missing
}

// missingTags reports a table that sends a tagged act while the codon has no Tag function,
// so that a [watch.Watch] could not tell the tagged message from another.
func missingTags(c *codons.Codon) []string {
	for _, r := range c.Table.Rows {
		for _, e := range r.Do {
			if e.Kind == machine.EffectSend && e.Name != "" && e.Name != standard.TagReceipt && c.Tag == nil {
				return []string{fmt.Sprintf("no Tag recognises %s", e)}
			}
		}
	}
	return nil
}

// TestMissingFrom finds each missing part.
func TestMissingFrom(t *testing.T) {
	c := &codons.Codon{Definition: delegation.Codon.Definition}
	c.Table.Purpose, c.Tag = "", nil
	c.Uses = []codons.Use{{Codon: "barter", For: "goods"}}
	c.Payloads = slices.Clone(c.Payloads[1:])
	c.Payloads[0].Doc = ""
	c.Payloads = append(c.Payloads, codons.Payload{Act: performatives.ActAgree, Doc: "x"})
	want := []string{
		"it has no purpose", "it never sends AGREE", `it uses "barter", which is not in the library`,
		"no Tag recognises send INFORM_RESULT (input)", "no payload says what TASK_REQUEST carries", "the payload of TASK_ACCEPT says nothing",
	}
	if d := cmp.Diff(want, missingFrom(c, nil)); d != "" {
		t.Error(d)
	}
	if got := missingFrom(&codons.Codon{Definition: codons.Definition{Table: machine.Table{Name: "a", Title: "A", Purpose: "p", Source: "s"}}}, nil); len(got) != 1 {
		t.Errorf("a codon without rows and uses: %q", got)
	}
}

// TestPayloadsNameTheirActs compares the act of each payload's type with that of the codon.
func TestPayloadsNameTheirActs(t *testing.T) {
	named := 0
	for _, c := range Codons() {
		for _, payload := range c.Payloads {
			if own, ok := payload.Type.(interface {
				Act() performatives.Performative
			}); ok {
				named++
				if own.Act() != payload.Act {
					t.Errorf("%s: %T is the payload of %s, not of %s", c.Name(), own, own.Act(), payload.Act)
				}
			}
		}
	}
	if named == 0 {
		t.Error("no payload names its act")
	}
}
