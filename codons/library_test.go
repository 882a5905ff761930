package codons

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons/machine"
	"github.com/ribosome-agents/ribosome/performatives"
)

func TestLibraryIsComplete(t *testing.T) {
	names := map[string]bool{}
	for _, c := range Library() {
		if names[c.Table.Name] {
			t.Errorf("two codons are called %q", c.Table.Name)
		}
		names[c.Table.Name] = true
	}
	functions := functionsOf(t)
	for _, c := range Library() {
		for _, missing := range missingFrom(c, names) {
			t.Errorf("%s: %s", c.Table.Name, missing)
		}
		if functions[c.Example] == nil {
			t.Errorf("%s: there is no example %q", c.Table.Name, c.Example)
		}
	}
}

// missingFrom says what is not there, or there in vain, in a codon of a library
// with those names.
func missingFrom(c Codon, names map[string]bool) (missing []string) {
	fault := func(format string, args ...any) { missing = append(missing, fmt.Sprintf(format, args...)) }
	for what, text := range map[string]string{
		"name": c.Table.Name, "title": c.Table.Title, "purpose": c.Table.Purpose, "source": c.Table.Source,
	} {
		if text == "" {
			fault("it has no %s", what)
		}
	}
	for _, name := range c.Uses {
		if !names[name] {
			fault("it uses %q, which is not in the library", name)
		}
	}
	if len(c.Table.Rows) == 0 && len(c.Uses) == 0 {
		fault("it has no rows and uses no other codon")
	}
	missing = append(missing, missingPayloads(c)...)
	missing = append(missing, missingTags(c)...)
	slices.Sort(missing)
	return missing
}

func missingPayloads(c Codon) (missing []string) {
	for _, act := range c.acts() {
		if payloadsOf(act, c.Sends()) == nil {
			missing = append(missing, fmt.Sprintf("no payload says what %s carries", act))
		}
	}
	for _, p := range c.Payloads {
		switch {
		case p.Doc == "":
			missing = append(missing, fmt.Sprintf("the payload of %s says nothing", p.Act))
		case len(c.Table.Rows) > 0 && !slices.Contains(c.acts(), p.Act):
			missing = append(missing, fmt.Sprintf("it never sends %s", p.Act))
		}
	}
	return missing
}

// missingTags finds a table with tags that a [Watch] could not tell.
func missingTags(c Codon) []string {
	for _, r := range c.Table.Rows {
		for _, e := range r.Do {
			if e.Kind == machine.EffectSend && e.Name != "" && e.Name != tagReceipt && c.Tag == nil {
				return []string{fmt.Sprintf("no Tag recognises %s", e)}
			}
		}
	}
	return nil
}

func TestMissingPartsAreFound(t *testing.T) {
	c := delegationCodon()
	c.Table.Purpose, c.Tag = "", nil
	c.Uses = []string{"barter"}
	c.Payloads = c.Payloads[1:]
	c.Payloads[0].Doc = ""
	c.Payloads = append(c.Payloads, Payload{Act: performatives.ActAgree, Doc: "x"})
	want := []string{
		"it has no purpose", "it never sends AGREE", `it uses "barter", which is not in the library`,
		"no Tag recognises send INFORM_RESULT (input)", "no payload says what TASK_REQUEST carries", "the payload of TASK_ACCEPT says nothing",
	}
	if d := cmp.Diff(want, missingFrom(c, nil)); d != "" {
		t.Error(d)
	}
	if got := missingFrom(Codon{Table: machine.Table{Name: "a", Title: "A", Purpose: "p", Source: "s"}}, nil); len(got) != 1 {
		t.Errorf("a codon of nothing: %q", got)
	}
}

// TestEveryTableIsInTheLibrary follows the sources: each exported function that
// makes a table, or leads many conversations, is called by one that makes a codon, and each of those
// by Library.
func TestEveryTableIsInTheLibrary(t *testing.T) {
	for _, name := range notInLibrary(functionsOf(t)) {
		t.Errorf("%s is not in Library", name)
	}
}

func notInLibrary(functions map[string]*ast.FuncDecl) (missing []string) {
	listed := map[string]bool{}
	for maker := range called(functions["Library"]) {
		if f := functions[maker]; f != nil {
			maps.Copy(listed, called(f))
			listed[maker] = true
		}
	}
	for name, f := range functions {
		makesTable := f.Name.IsExported() && (strings.HasSuffix(name, "Table") || strings.HasSuffix(name, "Coordination"))
		if (makesTable || returns(f, "Codon")) && !listed[name] {
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

func TestForgottenTablesAreFound(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", `package codons
		func Library() []Codon { return []Codon{known()} }
		func known() Codon { return Codon{Table: KnownTable()} }
		func forgotten() Codon { return Codon{Table: ForgottenTable()} }
		func KnownTable() machine.Table { return machine.Table{} }
		func ForgottenTable() machine.Table { return machine.Table{} }
		func LonelyCoordination() machine.Coordination { return machine.Coordination{} }
	`, 0)
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]*ast.FuncDecl{}
	addFunctions(functions, file)
	want := []string{"ForgottenTable", "LonelyCoordination", "forgotten"}
	if d := cmp.Diff(want, notInLibrary(functions)); d != "" {
		t.Error(d)
	}
}

// functionsOf returns the functions of this package and its tests by their names.
func functionsOf(t *testing.T) map[string]*ast.FuncDecl {
	t.Helper()
	paths, err := fs.Glob(os.DirFS("."), "*.go")
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]*ast.FuncDecl{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		addFunctions(functions, file)
	}
	return functions
}

func addFunctions(functions map[string]*ast.FuncDecl, file *ast.File) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			functions[f.Name.Name] = f
		}
	}
}

// called returns the names of the functions that f calls.
func called(f *ast.FuncDecl) map[string]bool {
	names := map[string]bool{}
	if f == nil {
		return names
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if name, ok := call.Fun.(*ast.Ident); ok {
				names[name.Name] = true
			}
		}
		return true
	})
	return names
}

// returns reports whether f returns one value of that type of the package.
func returns(f *ast.FuncDecl, name string) bool {
	if f.Type.Results == nil || len(f.Type.Results.List) != 1 {
		return false
	}
	result, ok := f.Type.Results.List[0].Type.(*ast.Ident)
	return ok && result.Name == name
}

// TestWhatTheCallerSees compares the words with the error.
func TestWhatTheCallerSees(t *testing.T) {
	system, err := actors.NewSystem(actors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = system.Stop(t.Context()) }()
	self, err := system.Spawn(t.Context(), actors.Spec{ID: "a", New: func() actors.Agent { return nobody{} }})
	if err != nil {
		t.Fatal(err)
	}
	for state, text := range seenEverywhere {
		c := conversation{self: self, correspondence: correspondence{machine: delegation, state: machine.Conversation{State: state}}}
		var end *EndError
		if err := c.endError(nil); !errors.As(err, &end) || !strings.Contains(text, "`"+string(end.Refusal.Code)+"`") {
			t.Errorf("%s: %v, but the caller is told of %s", state, err, text)
		}
	}
	c := Codon{Sees: map[machine.State]string{stateTimedOut: "a surprise"}}
	if c.Seen(stateTimedOut) != "a surprise" || c.Seen(stateCancelled) != seenEverywhere[stateCancelled] || c.Seen(stateRejected) != seenOfPeer {
		t.Error("a codon's own words come first")
	}
}

type nobody struct{}

func (nobody) Describe() performatives.Capabilities { return performatives.Capabilities{} }
