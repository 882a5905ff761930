package performatives

import (
	"encoding/json"
	"fmt"
	"strings"
)

// TaskStatus is the outcome of a task that was carried out. It is written in
// lower case and read in any (addenda §2).
type TaskStatus string

// The outcomes. StatusFailure means that the work was carried out with a negative
// result; work that could not be carried out ends with a [Failure].
const (
	StatusSuccess TaskStatus = "success"
	StatusPartial TaskStatus = "partial_success"
	StatusFailure TaskStatus = "failure"
)

// Valid reports whether s is one of the outcomes.
func (s TaskStatus) Valid() bool {
	return s == StatusSuccess || s == StatusPartial || s == StatusFailure
}

// UnmarshalJSON reads a string in any case.
func (s *TaskStatus) UnmarshalJSON(b []byte) error {
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	*s = TaskStatus(strings.ToLower(text))
	return nil
}

// InformResult is the content of INFORM_RESULT: the outcome of a task that was
// accepted (acl §4.3). It answers the TASK_REQUEST, never the TASK_ACCEPT.
type InformResult struct {
	Status    TaskStatus `json:"task_status"` // required
	Summary   string     `json:"result_summary"`
	Details   Content    `json:"result_details"` // an object, or empty; its members depend on the task
	Artifacts []Artifact `json:"artifacts"`
	Extra     Members    `json:"-"`
}

// Act returns [ActInformResult].
func (InformResult) Act() Performative { return ActInformResult }

// Validate checks that the status is one of the three outcomes, and that Details is an
// object that can be written as JSON.
func (r InformResult) Validate() error {
	if !r.Status.Valid() {
		return invalid("task_status", "success, partial_success or failure", fmt.Sprintf("%.32q", string(r.Status)))
	}
	return requireObject("result_details", r.Details)
}

// RequestForUser returns the question of a worker that needs more input: the member
// request_for_user of Details, when the status is partial_success. The initiator may
// answer it by a new TASK_REQUEST in the same conversation (addenda §3). It is empty
// when the worker needs nothing.
func (r InformResult) RequestForUser() string {
	if r.Status != StatusPartial {
		return ""
	}
	d, err := Decode[struct {
		Request string `json:"request_for_user"`
	}](r.Details)
	if err != nil {
		return ""
	}
	return d.Request
}

// Artifact is a file, log or other resource that a task made or changed.
type Artifact struct {
	Type    string  `json:"type"` // such as "file" or "log"
	Path    string  `json:"path"`
	Content string  `json:"content"`
	Extra   Members `json:"-"`
}
