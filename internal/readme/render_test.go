package readme

import (
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	regionStart = "// readme:start"
	regionEnd   = "// readme:end"

	codeStart = "<!-- code: " // then the file, then markEnd
	codeEnd   = "<!-- /code -->"
	markEnd   = " -->"

	ciMark = "<!-- ci -->" // the commands of the next code block are those of .ci/run
	fence  = "```"
)

// regions returns the marked region of each Go file below examples/ that has
// one, by the file's path. That of a test file is returned as a program.
func regions(root fs.FS) (map[string]string, error) {
	found := make(map[string]string)
	err := fs.WalkDir(root, "examples", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name == "examples":
			return fs.SkipAll
		case err != nil:
			return err
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		code, ok, err := region(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if ok && strings.HasSuffix(name, "_test.go") {
			code = asProgram(code)
		}
		if ok {
			found[name] = code
		}
		return nil
	})
	return found, err
}

var exampleFunc = regexp.MustCompile(`(?m)^func Example\w*\(\) \{`)

// asProgram returns the region of a test file as a program: its Example function becomes
// main.
func asProgram(code string) string {
	return "package main\n\n" + exampleFunc.ReplaceAllLiteralString(code, "func main() {")
}

var marked = regexp.MustCompile(`(?s)` + regionStart + `\n(.*)` + regionEnd)

// region returns the formatted code between the marks. ok is false when there are no marks.
func region(text string) (code string, ok bool, err error) {
	found := marked.FindStringSubmatch(text)
	switch starts, ends := strings.Count(text, regionStart), strings.Count(text, regionEnd); {
	case starts == 0 && ends == 0:
		return "", false, nil
	case starts != 1 || ends != 1 || found == nil:
		return "", false, fmt.Errorf("want one %q, and one %q after it", regionStart, regionEnd)
	}
	formatted, err := format.Source([]byte(strings.TrimSpace(found[1]))) // without the indentation of the first line
	return strings.TrimSpace(string(formatted)), true, err
}

var place = regexp.MustCompile(`(?s)` + codeStart + `([^\n]*?)` + markEnd + `(.*?)` + codeEnd)

// render returns the text of the document name with code in its places, and the files
// whose regions it shows. Every place must have a region.
func render(name, text string, code map[string]string) (rendered string, shown []string, err error) {
	found := place.FindAllStringSubmatchIndex(text, -1)
	if n := strings.Count(text, codeStart); n != len(found) {
		return "", nil, fmt.Errorf("%s: %d of %d %q have a %q and a %q", name, len(found), n, codeStart, markEnd, codeEnd)
	}
	var b strings.Builder
	at := 0
	for _, f := range found {
		file := text[f[2]:f[3]]
		program, ok := code[file]
		if !ok {
			return "", nil, fmt.Errorf("%s shows %s, which does not exist or has no region %q … %q", name, file, regionStart, regionEnd)
		}
		shown = append(shown, file)
		fmt.Fprintf(&b, "%s%s%s%s\n%sgo\n%s\n%s\n%s", text[at:f[0]], codeStart, file, markEnd, fence, program, fence, codeEnd)
		at = f[1]
	}
	return b.String() + text[at:], shown, nil
}

// documents returns the names of the documents in the root, in docs/ and in its folders.
func documents(root fs.FS) (all []string) {
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names, _ := fs.Glob(root, pattern) // the error is that of a wrong pattern
		all = append(all, names...)
	}
	return all
}

// renderAll returns the rendered text of each document, by its name. Every region must
// have a place in one of them.
func renderAll(root fs.FS) (map[string]string, error) {
	code, err := regions(root)
	if err != nil {
		return nil, err
	}
	unused, texts := maps.Clone(code), map[string]string{}
	for _, name := range documents(root) {
		old, err := fs.ReadFile(root, name)
		if err != nil {
			return nil, err
		}
		text, shown, err := render(name, string(old), code)
		if err != nil {
			return nil, err
		}
		texts[name] = text
		for _, file := range shown {
			delete(unused, file)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(unused)) {
		return nil, fmt.Errorf("no document has a %q for the region of %s", codeStart+file+markEnd, file)
	}
	return texts, nil
}

// commands returns the lines of the code blocks that follow ciMark.
func commands(readme string) []string {
	var list []string
	for i, part := range strings.Split(readme, ciMark) {
		if i == 0 {
			continue
		}
		_, block, _ := strings.Cut(part, fence)
		_, block, _ = strings.Cut(block, "\n") // the language
		block, _, _ = strings.Cut(block, fence)
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				list = append(list, line)
			}
		}
	}
	return list
}

// update rewrites the documents whose code differs from that of the examples.
func update(root string) error {
	texts, err := renderAll(os.DirFS(root))
	if err != nil {
		return err
	}
	for name, text := range texts {
		path := filepath.Join(root, name)
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if string(old) == text {
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
