package library

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ribosome-agents/ribosome/internal/racetest"
)

// TestRulesInCode compares docs/rules-in-code.md with the tree: the functions and the tests that it
// names are there.
func TestRulesInCode(t *testing.T) {
	racetest.Skip(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "rules-in-code.md"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	functions := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)`)
	err = filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, name := range functions.FindAllStringSubmatch(string(text), -1) {
			declared[name[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`([A-Za-z.]+)`(:?)") // with a colon: a file or a package
	for _, row := range regexp.MustCompile(`(?m)^\| [A-Z].*\|$`).FindAllString(string(page), -1) {
		cells := strings.Split(row, " | ")
		if len(cells) != 4 {
			t.Errorf("want four cells: %s", row)
			continue
		}
		for _, name := range names.FindAllStringSubmatch(cells[1]+cells[3], -1) {
			if function := name[1][strings.LastIndexByte(name[1], '.')+1:]; name[2] == "" && function != "go" && !declared[function] {
				t.Errorf("there is no %s: %s", function, cells[0])
			}
		}
	}
}
