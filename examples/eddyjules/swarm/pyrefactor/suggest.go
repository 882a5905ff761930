package pyrefactor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ribosome-agents/ribosome/examples/eddyjules/swarm/pydebug"
)

// Kind names a refactoring, as change_type of acl §6 carries it.
type Kind string

// The refactorings.
const (
	RenameVariable Kind = "rename_variable"
	IntroduceGuard Kind = "introduce_guard_clause"
	ExtractMethod  Kind = "extract_method"
)

// Suggestion is one change of a source, as acl §6 carries it.
type Suggestion struct {
	Kind        Kind    `json:"change_type"`
	Description string  `json:"description"`         // one sentence for the developer
	Diff        string  `json:"suggested_code_diff"` // unified, from the source to Code, for patch
	Confidence  float64 `json:"confidence"`
	Line        int     `json:"line"` // where the change begins, from 1 (extension)
	Code        string  `json:"-"`    // the whole changed source
}

// Result has the suggestions for a source. Each is a change of the source itself, not of another
// suggestion's Code.
type Result struct {
	Suggestions []Suggestion // in the order of their lines; at most [MaxSuggestions]
	Reasons     []string     // why other places were left as they are; at most [MaxSuggestions]
}

// MaxSuggestions bounds the suggestions and the reasons of one call.
const MaxSuggestions = 20

// Suggest returns the refactorings that are possible in a source. It may be a part of a file that
// is indented as a whole. name is the file name for the headers of the diffs. The error is
// one of [pydebug.ParsePart], or the cause of ctx.
func Suggest(ctx context.Context, name, code string) (Result, error) {
	w, err := newWork(code)
	if err != nil {
		return Result{}, err
	}
	if why := w.uncertain(); why != "" {
		return Result{Reasons: []string{why}}, nil
	}
	for _, st := range w.All {
		if ctx.Err() != nil {
			return Result{}, context.Cause(ctx)
		}
		switch st.Keyword {
		case "def":
			w.renames(st)
			w.guard(st)
			w.extract(st)
		case "for", "while":
			w.guard(st)
		}
	}
	return w.result(name)
}

// work is the analysis of one source.
type work struct {
	*pydebug.Module
	code    string       // the source as it was given
	keyword map[int]bool // the offsets of names of arguments in calls
	found   []found
	reasons []string
}

// found is a suggestion as edits of the module's source.
type found struct {
	kind        Kind
	line        int
	description string
	edits       []pydebug.Edit
	confidence  float64
}

func newWork(code string) (*work, error) {
	m, err := pydebug.ParsePart(code)
	if err != nil {
		return nil, err
	}
	w := &work{Module: m, code: code, keyword: map[int]bool{}}
	for _, st := range m.All {
		for _, e := range st.Exprs {
			e.Has(func(e *pydebug.Expr) bool {
				w.keyword[e.Start] = w.keyword[e.Start] || e.Kind == pydebug.ExprKeyword
				return false
			})
		}
	}
	return w, nil
}

// refuse records the reason for which a place is left as it is.
func (w *work) refuse(st *pydebug.Stmt, format string, args ...any) {
	if len(w.reasons) < MaxSuggestions {
		w.reasons = append(w.reasons, fmt.Sprintf("line %d: ", w.PartLine(st.Line))+fmt.Sprintf(format, args...))
	}
}

func (w *work) suggest(f found) {
	if len(w.found) < MaxSuggestions {
		w.found = append(w.found, f)
	}
}

func (w *work) result(name string) (Result, error) {
	r := Result{Reasons: w.reasons}
	for _, f := range w.found {
		changed, ok := w.Apply(f.edits)
		if !ok {
			return Result{}, fmt.Errorf("pyrefactor: the edits of %s overlap", f.kind)
		}
		changed = strings.TrimPrefix(changed, w.Header)
		r.Suggestions = append(r.Suggestions, Suggestion{
			Kind: f.kind, Line: w.PartLine(f.line), Description: f.description, Code: changed,
			Diff: pydebug.Diff(name, w.code, changed), Confidence: f.confidence,
		})
	}
	slices.SortStableFunc(r.Suggestions, func(a, b Suggestion) int { return cmp.Compare(a.Line, b.Line) })
	return r, nil
}
