package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
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

// region returns the lines between the marks, without their common indentation.
// ok is false when there are no marks.
func region(text string) (code string, ok bool, err error) {
	var lines []string
	open, closed := false, false
	for line := range strings.Lines(text) {
		switch strings.TrimSpace(line) {
		case regionStart:
			if open || closed {
				return "", false, fmt.Errorf("a second %q", regionStart)
			}
			open = true
		case regionEnd:
			if !open {
				return "", false, fmt.Errorf("%q before %q", regionEnd, regionStart)
			}
			open, closed = false, true
		default:
			if open {
				lines = append(lines, line)
			}
		}
	}
	if open {
		return "", false, fmt.Errorf("%q has no %q", regionStart, regionEnd)
	}
	return dedent(lines), closed, nil
}

// dedent joins lines without the tabs that all of them start with, and without
// blank lines around them.
func dedent(lines []string) string {
	depth := -1
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if tabs := len(line) - len(strings.TrimLeft(line, "\t")); depth < 0 || tabs < depth {
			depth = tabs
		}
	}
	var b strings.Builder
	for _, line := range lines {
		if strings.TrimSpace(line) == "" {
			line = "\n"
		} else {
			line = line[depth:]
		}
		b.WriteString(line)
	}
	return strings.Trim(b.String(), "\n")
}

// render returns the text of the document name with code in its places, and the files
// whose regions it shows. Every place must have a region.
func render(name, text string, code map[string]string) (rendered string, shown []string, err error) {
	var b strings.Builder
	for rest := text; ; {
		before, after, ok := strings.Cut(rest, codeStart)
		b.WriteString(before)
		if !ok {
			return b.String(), shown, nil
		}
		file, after, ok := strings.Cut(after, markEnd)
		if !ok || strings.Contains(file, "\n") {
			return "", nil, fmt.Errorf("%s: %q is not closed", name, codeStart)
		}
		old, after, ok := strings.Cut(after, codeEnd)
		if !ok || strings.Contains(old, codeStart) {
			return "", nil, fmt.Errorf("%s: the code of %s has no %q", name, file, codeEnd)
		}
		text, ok := code[file]
		if !ok {
			return "", nil, fmt.Errorf("%s shows %s, which does not exist or has no region %q … %q", name, file, regionStart, regionEnd)
		}
		shown = append(shown, file)
		fmt.Fprintf(&b, "%s%s%s\n%sgo\n%s\n%s\n%s", codeStart, file, markEnd, fence, text, fence, codeEnd)
		rest = after
	}
}

// documents returns the names of the documents in the root, in docs/ and in its folders.
func documents(root fs.FS) ([]string, error) {
	var all []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names, err := fs.Glob(root, pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, names...)
	}
	return all, nil
}

// renderAll returns the rendered text of each document, by its name. Every region must
// have a place in one of them.
func renderAll(root fs.FS) (map[string]string, error) {
	code, err := regions(root)
	if err != nil {
		return nil, err
	}
	names, err := documents(root)
	if err != nil {
		return nil, err
	}
	unused, texts := maps.Clone(code), map[string]string{}
	for _, name := range names {
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
