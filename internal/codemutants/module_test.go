package codemutants

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// module is a copy of the module under test. The files of its packages have all mutants at once,
// each behind a switch, so that the tests of a package are compiled once for all of them.
type module struct {
	root     string
	path     string // the import path
	packages []*listed
	exports  map[string]string // the files with the exported types, by import path
	types    types.Importer
}

// listed is a package, as go list describes it.
type listed struct {
	ImportPath, Name, Dir, Export string
	GoFiles, Imports              []string
	TestGoFiles, XTestGoFiles     []string
	DepOnly                       bool
	Module                        *struct{ Path string }
}

// switches is a file of each package with mutants: the name of the package and its folder are put
// in. By variables of the environment it switches one mutant on, or writes down the mutants which
// tests reach. The limit of memory is for mutants that append forever.
const switches = `package %s

import (
	"os"
	"strconv"
	"syscall"
)

const codeMutantFolder = %q

// The mutants that are switched on, or have not been reached yet; and the file for those reached.
var codeMutants, codeMutantRecord = codeMutantInit()

func codeMutantInit() (all *[1 << 16]bool, record *os.File) {
	all = new([1 << 16]bool)
	if name := os.Getenv("` + recordVariable + `"); name != "" {
		record, _ = os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		for id := range all {
			all[id] = true
		}
	}
	on := os.Getenv("` + onVariable + `")
	for id := range all {
		if on != "" && on == codeMutantFolder+":"+strconv.Itoa(id) {
			all[id] = true
			_ = syscall.Setrlimit(syscall.RLIMIT_DATA, &syscall.Rlimit{Cur: 1 << 30, Max: 1 << 30})
		}
	}
	return all, record
}

func codeMutantOn(id uint16) bool { return codeMutants[id] && codeMutantIsOn(id) }

func codeMutantIsOn(id uint16) bool {
	if codeMutantRecord == nil {
		return true
	}
	codeMutants[id] = false
	_, _ = codeMutantRecord.WriteString(codeMutantFolder + ":" + strconv.Itoa(int(id)) + "\n")
	return false
}

func codeMutantPick[T any](id uint16, changed, original T) T {
	if codeMutantOn(id) {
		return changed
	}
	return original
}

func codeMutantZero[T any]() (zero T) { return zero }
`

const (
	onVariable     = "RIBOSOME_CODE_MUTANT"
	recordVariable = "RIBOSOME_CODE_MUTANT_RECORD"
)

// newModule copies the module at from to a folder, and lists the packages that match the patterns.
func newModule(ctx context.Context, to, from string, patterns []string) (*module, error) {
	m := &module{root: to, exports: map[string]string{}}
	m.types = importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(m.exports[path]) })
	if err := os.CopyFS(to, tree{os.DirFS(from)}); err != nil {
		return nil, err
	}
	text, err := m.goCommand(ctx, append([]string{"list", "-deps", "-export", "-json", "os", "strconv", "syscall"}, patterns...)...)
	if err != nil {
		return nil, err
	}
	for in := json.NewDecoder(strings.NewReader(text)); ; {
		var p listed
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		m.exports[p.ImportPath] = p.Export
		if !p.DepOnly && p.Module != nil {
			m.path = p.Module.Path
			m.packages = append(m.packages, &p)
		}
	}
	return m, nil
}

// tree is the files of a module without its repository and its binaries.
type tree struct{ fs.FS }

func (t tree) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := fs.ReadDir(t.FS, name)
	return slices.DeleteFunc(all, func(d fs.DirEntry) bool {
		return d.Name() == ".git" || name == "." && d.Name() == "bin" || !d.IsDir() && !d.Type().IsRegular()
	}), err
}

// command runs a command in a folder of the copy, with more variables of the environment. It
// returns the output, and with an error also what the command said about it.
func (m *module) command(ctx context.Context, folder string, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	cmd.WaitDelay = waitDelay
	// Paths play no part in the build cache (-trimpath). The race detector would take most of the
	// time.
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "PWD="+folder)
	cmd.Env = append(cmd.Env, env...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	if err != nil {
		out.Write(said.Bytes())
	}
	return out.String(), err
}

// goCommand runs the go command at the root of the copy.
func (m *module) goCommand(ctx context.Context, args ...string) (string, error) {
	text, err := m.command(ctx, m.root, []string{"GOGC=400"}, "go", args...) // the compiler takes a third less time
	if err != nil {
		err = fmt.Errorf("go %s: %w\n%s", args[0], err, text)
	}
	return text, err
}

// folder returns where a package is, from the root of the module.
func (m *module) folder(p *listed) string {
	return cmp.Or(strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, m.path), "/"), ".")
}

// addSwitches writes the files of a package with its mutants, and returns those that compile. A
// package for tests has none.
func (m *module) addSwitches(p *listed) ([]*mutant, error) {
	if slices.Contains(p.Imports, "testing") {
		return nil, nil
	}
	set := token.NewFileSet()
	var sources []*source
	var files []*ast.File
	var last uint16
	for _, name := range p.GoFiles {
		text, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		s := &source{folder: m.folder(p), path: path.Join(m.folder(p), name), text: string(text), set: set, last: &last}
		if s.syntax, err = parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return nil, err
		}
		sources, files = append(sources, s), append(files, s.syntax)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	if all := m.check(p, set, files, info); len(all) > 0 {
		return nil, all[0]
	}
	for _, s := range sources {
		if s.info = info; !ast.IsGenerated(s.syntax) {
			s.find()
		}
	}
	if err := m.dropUncompiled(p, sources); err != nil {
		return nil, err
	}
	if last == 0 {
		return nil, nil
	}
	if err := os.WriteFile(filepath.Join(p.Dir, "code_mutants.go"), m.switches(p), 0o600); err != nil {
		return nil, err
	}
	var mutants []*mutant
	for i, s := range sources {
		text, _ := s.switched()
		if err := os.WriteFile(filepath.Join(p.Dir, p.GoFiles[i]), []byte(text), 0o600); err != nil {
			return nil, err
		}
		mutants = append(mutants, s.mutants...)
	}
	return mutants, nil
}

// switches returns the file with the switches of a package.
func (m *module) switches(p *listed) []byte { return fmt.Appendf(nil, switches, p.Name, m.folder(p)) }

// check returns the errors of the types of a package.
func (m *module) check(p *listed, set *token.FileSet, files []*ast.File, info *types.Info) (all []types.Error) {
	config := types.Config{
		Importer: m.types,
		Error: func(err error) {
			if found, ok := errors.AsType[types.Error](err); ok {
				all = append(all, found)
			}
		},
	}
	_, _ = config.Check(p.ImportPath, set, files, info) // the errors are in all
	return all
}

// dropUncompiled removes the mutants with which the files do not compile.
func (m *module) dropUncompiled(p *listed, sources []*source) error {
	for {
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, "code_mutants.go", m.switches(p), parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files := []*ast.File{file}
		spans := map[string][]span{}
		for i, s := range sources {
			name := p.GoFiles[i]
			text, made := s.switched()
			file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files, spans[name] = append(files, file), made
		}
		found := m.check(p, set, files, nil)
		if len(found) == 0 {
			return nil
		}
		bad := map[*mutant]bool{}
		for _, e := range found {
			at := set.Position(e.Pos)
			around := slices.DeleteFunc(slices.Clone(spans[at.Filename]), func(s span) bool { return at.Offset < s.begin || s.end <= at.Offset })
			if len(around) > 0 { // the shortest one
				bad[slices.MinFunc(around, func(a, b span) int { return (a.end - a.begin) - (b.end - b.begin) }).by] = true
			}
		}
		if len(bad) == 0 {
			return fmt.Errorf("the switched files of %s do not compile: %w", p.ImportPath, found[0])
		}
		for _, s := range sources {
			s.mutants = slices.DeleteFunc(s.mutants, func(m *mutant) bool { return bad[m] })
		}
	}
}

// span is the part of a switched file that a wrap of a mutant begins and ends.
type span struct {
	by         *mutant
	begin, end int
}

// switched returns the text of a file with its mutants, and where they are in it.
func (s *source) switched() (string, []span) {
	type edge struct {
		at, order int // at the same place, inner spans end first, and outer ones begin first
		text      string
	}
	var edges []edge
	spans := []span{{}} // the first one is of no mutant
	for _, m := range s.mutants {
		for _, w := range m.wraps {
			edges = append(edges, edge{w.begin, len(spans), w.prefix}, edge{w.end, -len(spans), w.suffix})
			spans = append(spans, span{by: m})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at-b.at, a.order-b.order) })
	var out strings.Builder
	at := 0
	for _, e := range edges {
		out.WriteString(s.text[at:e.at])
		at = e.at
		if e.order > 0 {
			spans[e.order].begin = out.Len()
		} else {
			spans[-e.order].end = out.Len() + len(e.text)
		}
		out.WriteString(e.text)
	}
	return out.String() + s.text[at:], spans
}
