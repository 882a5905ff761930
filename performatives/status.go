package performatives

import "fmt"

// StatusUpdate is the content of STATUS_UPDATE: how far the work has come. acl
// has no such payload; the members are rossnet's (addenda §4).
type StatusUpdate struct {
	Progress    *float64 `json:"progress_percentage"` // 0 to 100; nil = not known
	Description string   `json:"status_description"`
	Results     Content  `json:"intermediate_results"`
	Extra       Members  `json:"-"`
}

// Act returns [ActStatusUpdate].
func (StatusUpdate) Act() Performative { return ActStatusUpdate }

// Validate checks the range of Progress.
func (s StatusUpdate) Validate() error {
	if s.Progress != nil && !(*s.Progress >= 0 && *s.Progress <= 100) {
		return invalid("progress_percentage", "0 to 100", fmt.Sprint(*s.Progress))
	}
	return nil
}

// MarshalJSON writes the fields that are set, then Extra.
func (s StatusUpdate) MarshalJSON() ([]byte, error) { return marshalMembers(&s, s.Extra) }

// UnmarshalJSON reads an object and keeps what no field stands for in Extra.
func (s *StatusUpdate) UnmarshalJSON(b []byte) (err error) {
	s.Extra, err = unmarshalMembers(b, s)
	return err
}
