package readme

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/ribosome-agents/ribosome/internal/leakcheck"
)

func TestMain(m *testing.M) { leakcheck.Main(m) }

const root = "../.."

var updates = flag.Bool("update", false, "copy the code of the examples into the documents")

func TestCodeOfDocumentsIsCompiledCode(t *testing.T) {
	if *updates {
		if err := update(root); err != nil {
			t.Fatal(err)
		}
	}
	texts, err := renderAll(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range texts {
		if read(t, name) != want {
			t.Errorf("the code in %s is not that of the examples; run make readme (or: go generate ./internal/readme)", name)
		}
	}
}

func TestReadmeCommandsAreWhatCIRuns(t *testing.T) {
	flags := regexp.MustCompile(`^GOFLAGS="\$GOFLAGS -race[^"]*" `)
	first := regexp.MustCompile(`^go test (\./\S+ )+\./\.\.\.$`) // some packages before the others: the same as without them
	var ran []string
	for line := range strings.Lines(read(t, ".ci/run")) {
		line = flags.ReplaceAllString(strings.TrimSpace(line), "")
		ran = append(ran, first.ReplaceAllString(line, "go test ./..."))
	}
	named := commands(read(t, "README.md"))
	for _, command := range named {
		if !slices.Contains(ran, command) {
			t.Errorf("README.md names %q, which is no line of .ci/run", command)
		}
	}
	for _, prefix := range []string{"go run ./examples/", "go test "} {
		if !slices.ContainsFunc(named, func(c string) bool { return strings.HasPrefix(c, prefix) }) {
			t.Errorf("README.md names no command %q… below %q", prefix, ciMark)
		}
	}
}

// code matches blocks and spans of code, in which "](" is no link.
var code = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")

// A relative link breaks when its target is renamed.
func TestLinksOfDocumentsExist(t *testing.T) {
	for _, name := range documents(os.DirFS(root)) {
		for _, part := range strings.Split(code.ReplaceAllString(read(t, name), ""), "](")[1:] {
			target, _, _ := strings.Cut(part, ")")
			target, _, _ = strings.Cut(target, "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(name), target)); err != nil {
				t.Errorf("%s links to %s: %v", name, target, err)
			}
		}
	}
}

func TestRegion(t *testing.T) {
	tests := []struct {
		name, text, want string
		none             bool
		err              string
	}{
		{name: "none", text: "package a\n", none: true},
		{name: "top level", text: "package a\n\n// readme:start\n\nfunc f() {\n\tg()\n}\n\n// readme:end\n", want: "func f() {\n\tg()\n}"},
		{name: "indented", text: "func f() {\n\t// readme:start\n\tg()\n\n\tif h {\n\t\ti()\n\t}\n\t// readme:end\n}\n", want: "g()\n\nif h {\n\ti()\n}"},
		{name: "no end", text: "// readme:start\n", err: "want one"},
		{name: "no start", text: "// readme:end\n", err: "want one"},
		{name: "twice", text: "// readme:start\n// readme:end\n// readme:start\n// readme:end\n", err: "want one"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok, err := region(tt.text)
			switch {
			case tt.err != "":
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want one with %q", err, tt.err)
				}
			case err != nil || ok == tt.none || got != tt.want:
				t.Errorf("region = %q, %v, %v; want %q", got, ok, err, tt.want)
			}
		})
	}
}

func TestRender(t *testing.T) {
	const place = "# Title\n\n<!-- code: examples/a/main.go -->\n```go\nold\n```\n<!-- /code -->\n\nrest\n"
	code := map[string]string{"examples/a/main.go": "new()"}

	got, shown, err := render("README.md", place, code)
	if want := strings.Replace(place, "old", "new()", 1); err != nil || got != want || !slices.Equal(shown, []string{"examples/a/main.go"}) {
		t.Errorf("render = %q, %q, %v; want %q", got, shown, err, want)
	}
	if again, _, err := render("README.md", got, code); err != nil || again != got {
		t.Errorf("a second render = %q, %v; want no change", again, err)
	}

	for name, tt := range map[string]struct {
		readme string
		code   map[string]string
	}{
		"place without region": {place, nil},
		"place without end":    {"<!-- code: examples/a/main.go -->\n", code},
		"mark without end":     {"<!-- code: examples/a/main.go\n", code},
		"place inside place":   {"<!-- code: examples/a/main.go -->\n" + place, code},
	} {
		if got, _, err := render("README.md", tt.readme, tt.code); err == nil {
			t.Errorf("%s: render = %q, want an error", name, got)
		}
	}
}

func TestRegionsFindsGoFilesOfExamples(t *testing.T) {
	marked := &fstest.MapFile{Data: []byte("// readme:start\nx\n// readme:end\n")}
	got, err := regions(fstest.MapFS{
		"examples/a/main.go":   marked,
		"examples/a/notes.md":  marked,
		"examples/b/main.go":   {Data: []byte("package main\n")},
		"internal/readme/x.go": marked,
	})
	if err != nil || len(got) != 1 || got["examples/a/main.go"] != "x" {
		t.Errorf("regions = %q, %v; want that of examples/a/main.go", got, err)
	}
	if got, err := regions(fstest.MapFS{"a.go": marked}); err != nil || len(got) != 0 {
		t.Errorf("without examples: regions = %q, %v; want none and no error", got, err)
	}
}

func TestRegionWithoutPlace(t *testing.T) {
	const region = "// readme:start\nx\n// readme:end\n"
	root := fstest.MapFS{"README.md": {}, "examples/a/main.go": {Data: []byte(region)}}
	if got, err := renderAll(root); err == nil {
		t.Errorf("renderAll = %q, want an error", got)
	}
	root["docs/a.md"] = &fstest.MapFile{Data: []byte("<!-- code: examples/a/main.go --><!-- /code -->")}
	if got, err := renderAll(root); err != nil || !strings.Contains(got["docs/a.md"], "```go\nx\n```") {
		t.Errorf("with a place in docs: renderAll = %q, %v", got, err)
	}
}

func TestRegionOfATestFileIsAProgram(t *testing.T) {
	got, err := regions(fstest.MapFS{"examples/a/a_test.go": {Data: []byte("package a_test\n// readme:start\nfunc ExampleNew() {\n}\n// readme:end\n")}})
	if want := "package main\n\nfunc main() {\n}"; err != nil || got["examples/a/a_test.go"] != want {
		t.Errorf("regions = %q, %v; want %q", got, err, want)
	}
}

func TestUpdate(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "examples/a/main.go", "// readme:start\nnew()\n// readme:end\n")
	write(t, dir, "README.md", "<!-- code: examples/a/main.go --><!-- /code -->\n")
	if err := update(dir); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil || !strings.Contains(string(got), "```go\nnew()\n```") {
		t.Errorf("README.md = %q, %v; want the code of the example", got, err)
	}
}

func TestCommands(t *testing.T) {
	const text = "```sh\nno\n```\n<!-- ci -->\n```sh\none\n# a comment\n\ntwo ./...\n```\n```sh\nnor this\n```\n"
	if got, want := commands(text), []string{"one", "two ./..."}; !slices.Equal(got, want) {
		t.Errorf("commands = %q, want %q", got, want)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
