package swarm

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/ribosome-agents/ribosome/performatives"
)

// maxCodeFile is the longest file that is read in place of code, in bytes.
const maxCodeFile = 1 << 20

// isPath reports whether the code of a task is the path of a Python file (acl §4.1).
func isPath(code string) bool {
	return strings.HasSuffix(code, ".py") && !strings.ContainsFunc(code, unicode.IsSpace)
}

// readCode reads a file below root. Its path is relative to root or absolute. The error is a
// [*performatives.Refusal], which says nothing of other files.
func readCode(root, name string) (string, error) {
	const field = "task_parameters.code_to_debug"
	refusal := &performatives.Refusal{Code: performatives.CodeInvalidPayload, Field: field, Text: fmt.Sprintf("%s: want the code itself, got the path %.128q, and no file is read here", field, name)}
	if root == "" {
		return "", refusal
	}
	refusal.Text = fmt.Sprintf("%s: want the code itself, or the path of a file of at most 1 MiB in the code folder, got %.128q", field, name)
	if filepath.IsAbs(name) {
		if base, err := filepath.Abs(root); err == nil {
			name, _ = filepath.Rel(base, name) // an empty name is no file
		}
	}
	in, err := os.OpenRoot(root)
	if err != nil {
		return "", refusal
	}
	defer func() { _ = in.Close() }()
	if info, err := in.Stat(name); err != nil || !info.Mode().IsRegular() || info.Size() > maxCodeFile {
		return "", refusal
	}
	code, err := in.ReadFile(name)
	if err != nil {
		return "", refusal
	}
	return string(code), nil
}
