package codondoc

import (
	"fmt"
	"go/ast"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/codons/standard"
	"github.com/ribosome-agents/ribosome/performatives"
)

// usage writes what the caller of a codon needs: its messages, options, limits, and what cancels it
// and what its ends return.
func (p *page) usage(c *codons.Codon) error {
	if len(c.Table.Rows) == 0 {
		return nil
	}
	p.WriteString("\n## How to use it\n")
	p.payloads(c)
	if err := p.options(c); err != nil {
		return err
	}
	p.WriteString("\n### Deadline, cancel, limits\n\n- The deadline is that of the caller's context, or five minutes.\n")
	if slices.Contains(c.Table.Live, standard.StateCancelling) {
		p.WriteString("- To cancel, end the caller's context. The responder's work ends, and the call returns when the receipt says that nothing runs any more.\n")
	}
	if slices.ContainsFunc(c.Table.Jobs, func(j machine.Job) bool { return j.Role == machine.Responder }) {
		p.WriteString("- An agent that implements `codons.TaskLimiter` says how many of its jobs may run at a time; further requests are refused as `busy`.\n")
	}
	p.WriteString("\n### What the caller gets\n\n| the initiator ends | the caller gets |\n|---|---|\n")
	if success, ok := c.Table.Success(); ok {
		fmt.Fprintf(p, "| %s | the result |\n", success.Initiator)
	}
	for _, e := range ends(c.Table, machine.Initiator) {
		fmt.Fprintf(p, "| %s | %s |\n", e.state, cell(c.Outcome(e.state)))
	}
	return nil
}

// options writes the options of a call that are the codon's own.
func (p *page) options(c *codons.Codon) error {
	p.WriteString("\n### Options of a call\n")
	var own []*ast.FuncDecl
	if pkg := p.packageOf(c); pkg != "" {
		files, err := p.src.files(pkg)
		if err != nil {
			return err
		}
		own = optionsOf(files)
	}
	if len(own) > 0 {
		p.WriteString("\n| option | what it does |\n|---|---|\n")
	}
	for _, f := range own {
		fmt.Fprintf(p, "| `%s` | %s |\n", f.Name.Name, firstSentence(prose(f.Doc.Text())))
	}
	p.WriteString("\nEvery codon takes the options of package `codons`, such as `WithBudget`, `WithGrace`, `WithPriority`, `WithRetry` and `WithTimer`.\n")
	return nil
}

// firstSentence returns the first sentence of a comment for a cell, without its full stop.
func firstSentence(text string) string {
	first, _, _ := strings.Cut(strings.Join(strings.Fields(text), " ")+" ", ". ")
	return cell(strings.TrimSuffix(first, "."))
}

// packageOf returns the path of the package that has a codon's example, else that of its message
// types, empty for none.
func (p *page) packageOf(c *codons.Codon) string {
	if e, err := p.src.example(c.Example); err == nil {
		return e.path
	}
	for _, name := range slices.Sorted(maps.Keys(c.Messages)) {
		if pkg := c.Messages[name].Payload.PkgPath(); p.src.documents(pkg) && pkg != "main" {
			return strings.TrimSuffix(pkg, "_test")
		}
	}
	return ""
}

// optionsOf returns the exported functions of a package that return a codons.Option, by name.
func optionsOf(files []*ast.File) (all []*ast.FuncDecl) {
	for _, file := range files {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Results == nil || len(f.Type.Results.List) != 1 {
				continue
			}
			result, ok := f.Type.Results.List[0].Type.(*ast.SelectorExpr)
			if ok && result.Sel.Name == "Option" && fmt.Sprint(result.X) == "codons" {
				all = append(all, f)
			}
		}
	}
	slices.SortFunc(all, func(a, b *ast.FuncDecl) int { return strings.Compare(a.Name.Name, b.Name.Name) })
	return all
}

// named returns the text of a table with the application's message types in place of acts: of an
// act and a tag, and of an act that has one message type.
func named(c *codons.Codon, text string) string {
	types := map[performatives.Performative][]string{}
	for _, name := range slices.Sorted(maps.Keys(c.Messages)) {
		m := c.Messages[name]
		types[m.Act] = append(types[m.Act], name)
		tagged := regexp.MustCompile(regexp.QuoteMeta(m.Act.String()+" ("+name+")") + `( #\d+)?`) // the number counts the act
		text = tagged.ReplaceAllString(text, name)
	}
	for act, names := range types {
		if len(names) == 1 {
			alone := regexp.MustCompile(`\b` + act.String() + `\b( \()?`)
			text = alone.ReplaceAllStringFunc(text, func(found string) string {
				if strings.HasSuffix(found, "(") {
					return found // with another tag, such as the receipt
				}
				return names[0]
			})
		}
	}
	return text
}
