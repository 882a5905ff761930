package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
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
// one, by the file's path.
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
		if ok {
			found[name] = code
		}
		return nil
	})
	return found, err
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

// render returns the text of a README with code in its places. Every region
// must have a place and every place a region.
func render(readme string, code map[string]string) (string, error) {
	unused := maps.Clone(code)
	var b strings.Builder
	for rest := readme; ; {
		before, after, ok := strings.Cut(rest, codeStart)
		b.WriteString(before)
		if !ok {
			break
		}
		file, after, ok := strings.Cut(after, markEnd)
		if !ok || strings.Contains(file, "\n") {
			return "", fmt.Errorf("README.md: %q is not closed", codeStart)
		}
		old, after, ok := strings.Cut(after, codeEnd)
		if !ok || strings.Contains(old, codeStart) {
			return "", fmt.Errorf("README.md: the code of %s has no %q", file, codeEnd)
		}
		text, ok := code[file]
		if !ok {
			return "", fmt.Errorf("README.md shows %s, which is not there or has no region %q … %q", file, regionStart, regionEnd)
		}
		delete(unused, file)
		fmt.Fprintf(&b, "%s%s%s\n%sgo\n%s\n%s\n%s", codeStart, file, markEnd, fence, text, fence, codeEnd)
		rest = after
	}
	for _, file := range slices.Sorted(maps.Keys(unused)) {
		return "", fmt.Errorf("README.md has no %q for the region of %s", codeStart+file+markEnd, file)
	}
	return b.String(), nil
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
