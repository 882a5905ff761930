package performatives

import "fmt"

// StatusUpdate is the content of STATUS_UPDATE, which reports progress. acl has no such
// payload; the members are those of rossnet (addenda §4).
type StatusUpdate struct {
	Progress    *float64 `json:"progress_percentage"` // 0 to 100; nil = not known
	Description string   `json:"status_description"`
	Results     Content  `json:"intermediate_results"` // an object, or empty
	Extra       Members  `json:"-"`
}

// Act returns [ActStatusUpdate].
func (StatusUpdate) Act() Performative { return ActStatusUpdate }

// Validate checks the range of Progress, and that Results is an object that can be
// written as JSON.
func (s StatusUpdate) Validate() error {
	if s.Progress != nil && !(*s.Progress >= 0 && *s.Progress <= 100) {
		return invalid("progress_percentage", "0 to 100", fmt.Sprint(*s.Progress))
	}
	return requireObject("intermediate_results", s.Results)
}
