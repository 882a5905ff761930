package bridge

import (
	"cmp"
	"math"
	"strconv"
	"time"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of the payload of a request (bridge, Request/Response Flow).
const (
	requestTool        = "tool_name"
	requestArguments   = "arguments"
	requestTimeout     = "timeout"
	requestDescription = "task_description" // extension
)

// request reads a ToolRequest: a task, or an application's message that opens one.
func (d *decoder) request(m [][]byte, rest performatives.Members) {
	tool, arguments, timeout, description := jsonscan.Text(m[0]), m[1], m[2], m[3]
	d.timeout(timeout)
	d.opening(tool)
	if d.out.MessageType != "" {
		exchange.Keep(&rest, requestDescription, description)
		d.typed(cmp.Or(d.act, performatives.ActTaskRequest), arguments, rest)
		return
	}
	task := performatives.TaskRequest{TaskType: tool, Description: jsonscan.Text(description), Extra: rest}
	if !jsonscan.IsNone(arguments) {
		task.Parameters = performatives.RawContent(arguments)
	}
	d.out.Payload = task
}

// opening decides whether a request has an application's message type: the one that its metadata
// names, else the one that is registered under the name of the tool (addenda §8).
func (d *decoder) opening(tool string) {
	if d.act != 0 && !exchange.Opening.Has(d.act) {
		d.Wrong("metadata.performative", "TASK_REQUEST or REQUEST, got %s", d.act.String())
	}
	switch act, known := d.codec.opts.Registry.MessageTypeAct(tool); {
	case d.out.MessageType == "" && known && exchange.Opening.Has(act):
		d.out.MessageType = tool
		d.act = act
	case d.out.MessageType == "" && d.act == performatives.ActRequest:
		d.out.MessageType = tool // a REQUEST has no other name for what it asks for
	case d.out.MessageType != "" && d.out.MessageType != tool:
		d.Wrong("metadata.message_type", "payload.tool_name, %.64q, got %.64q", tool, d.out.MessageType)
	case known && d.act == 0 && exchange.Opening.Has(act):
		d.act = act
	}
}

// maxTimeout is the longest timeout that is read and written: about 285 years. A longer one is no
// [time.Duration].
const maxTimeout = 9e9 // seconds

// timeout reads the seconds from the arrival to the deadline.
func (d *decoder) timeout(v []byte) {
	if jsonscan.IsNone(v) || d.Refusal != nil {
		return
	}
	seconds, _ := strconv.ParseFloat(string(v), 64) // aTimeout has checked it
	whole, part := math.Modf(seconds)               // a product of both would lose seconds of a long one
	d.out.ReplyBy = d.arrival().Add(time.Duration(whole)*time.Second + time.Duration(math.Ceil(part*1e9)))
	d.shape.timeout, d.shape.replyBy = string(v), d.out.ReplyBy
}

// request writes a ToolRequest.
func (w *writer) request() {
	if typed := w.Message.MessageType(); typed != "" {
		w.Text(requestTool, typed)
		w.member(requestArguments)
		w.timeout()
		w.Sorted(w.restOf(), requestTool, requestArguments, requestTimeout)
		return
	}
	task := exchange.Content[performatives.TaskRequest](&w.Builder, w.Message)
	w.Text(requestTool, task.TaskType)
	if task.Parameters.IsZero() {
		w.Raw(requestArguments, []byte("{}"))
	} else {
		exchange.PutContent(&w.Builder, requestArguments, task.Parameters)
	}
	w.timeout()
	w.OptionalText(requestDescription, task.Description)
	w.Sorted(task.Extra, requestTool, requestArguments, requestTimeout, requestDescription)
}

// timeout writes the time that is left for the request in whole seconds, rounded up: the field
// is a whole number in the text. A deadline beyond maxTimeout is written as that.
func (w *writer) timeout() {
	by := w.Message.ReplyBy()
	switch {
	case by.IsZero():
	case w.shape.timeout != "" && by.Equal(w.shape.replyBy):
		w.Raw(requestTimeout, []byte(w.shape.timeout))
	default:
		left := math.Ceil(by.Sub(w.codec.opts.Stamper.Stamp().Time).Seconds())
		w.Raw(requestTimeout, strconv.AppendInt(nil, int64(min(max(left, 1), maxTimeout)), 10))
	}
}
