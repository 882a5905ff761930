package codondoc

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// sources are the Go sources of a module and of what it imports.
type sources struct {
	root, module string // the folder of go.mod, and the module's path
	dir          string // the folder of package main
	packages     map[string][]*ast.File
	examples     map[string][]example // of the module, by their names; nil before they are read
}

var errNoModule = errors.New("no go.mod in this folder or above it")

// newSources returns the sources of the module around a folder.
func newSources(dir string) (*sources, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for root := dir; ; root = filepath.Dir(root) {
		text, err := os.ReadFile(filepath.Join(root, "go.mod"))
		switch {
		case err == nil:
			module, err := modulePath(string(text))
			return &sources{root: root, module: module, dir: dir, packages: map[string][]*ast.File{}}, err
		case !errors.Is(err, os.ErrNotExist):
			return nil, err
		case filepath.Dir(root) == root:
			return nil, fmt.Errorf("%s: %w", dir, errNoModule)
		}
	}
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+"?([^\s"]+)`)

// modulePath returns the module's path in the text of a go.mod.
func modulePath(text string) (string, error) {
	found := moduleLine.FindStringSubmatch(text)
	if found == nil {
		return "", errors.New("go.mod has no module line")
	}
	return found[1], nil
}

// files parses the files of a package, once.
func (s *sources) files(pkg string) ([]*ast.File, error) {
	if files, ok := s.packages[pkg]; ok {
		return files, nil
	}
	dir, err := s.folder(pkg)
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []*ast.File
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	s.packages[pkg] = files
	return files, nil
}

// folder returns the folder of a package.
func (s *sources) folder(pkg string) (string, error) {
	if pkg == "main" {
		return s.dir, nil
	}
	pkg = strings.TrimSuffix(pkg, "_test")
	if below, ok := strings.CutPrefix(pkg+"/", s.module+"/"); ok {
		return filepath.Join(s.root, filepath.FromSlash(below)), nil
	}
	// build.Import needs the GOROOT of this program, which it does not know if it was built with
	// -trimpath.
	list := exec.Command("go", "list", "-find", "-f", "{{.Dir}}", "--", pkg)
	list.Dir = s.root
	folder, err := list.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		err = errors.New(strings.TrimSpace(string(failed.Stderr)))
	}
	if err != nil {
		return "", fmt.Errorf("the sources of package %s: %w", pkg, err)
	}
	return strings.TrimSpace(string(folder)), nil
}

// documents reports whether the pages describe types of a package: all but those of the
// standard library, which has no dot in the first element of its paths.
func (s *sources) documents(pkg string) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return pkg == "main" || strings.Contains(first, ".") || strings.HasPrefix(pkg+"/", s.module+"/")
}
