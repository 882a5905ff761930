package performatives

import "time"

// TaskRequest is the content of TASK_REQUEST: a task that the sender asks the
// receiver to perform (acl §4.1). Its priority is the message's.
type TaskRequest struct {
	TaskType    string  `json:"task_type"`        // required: the kind of task, such as "debug_code"
	Description string  `json:"task_description"` // for people
	Parameters  Content `json:"task_parameters"`  // an object, or empty; its members depend on TaskType
	Extra       Members `json:"-"`                // members without a field
}

// Act returns [ActTaskRequest].
func (TaskRequest) Act() Performative { return ActTaskRequest }

// Validate checks that there is a task type, and that Parameters is an object that can
// be written as JSON.
func (t TaskRequest) Validate() error {
	if t.TaskType == "" {
		return invalid("task_type", "a non-empty string", "nothing")
	}
	return requireObject("task_parameters", t.Parameters)
}

// TaskAccept is the content of TASK_ACCEPT: the task has been taken on (acl §4.2).
type TaskAccept struct {
	TaskID   string   `json:"task_id_assigned"`          // the worker's own id of the task
	Estimate Estimate `json:"estimated_completion_time"` // zero = none given
	Comments string   `json:"comments"`
	Extra    Members  `json:"-" status:"accepted"`
}

// Act returns [ActTaskAccept].
func (TaskAccept) Act() Performative { return ActTaskAccept }

// TaskReject is the content of TASK_REJECT: the task was never taken on (acl §4.5).
type TaskReject struct {
	ReasonCode Code          `json:"reason_code"` // such as [CodeBusy], [CodeIncapable], [CodeUnauthorized]
	ReasonText string        `json:"reason_text"`
	RetryAfter time.Duration `json:"retry_after_ms"` // see [Refusal]
	Extra      Members       `json:"-" status:"rejected"`
}

// Act returns [ActTaskReject].
func (TaskReject) Act() Performative { return ActTaskReject }
