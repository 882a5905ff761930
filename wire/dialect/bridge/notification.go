package bridge

import (
	"cmp"
	"strings"

	"github.com/ribosome-agents/ribosome/internal/jsonscan"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire/dialect/internal/exchange"
)

// The members of the payload of a notification (bridge, Notification Flow).
const (
	notificationEvent = "event_type"
	notificationData  = "data"
)

// The event types that this dialect gives a meaning.
const (
	eventInform = "inform" // the data is the content of an INFORM of an agent that knows no event types
	eventCancel = "cancel" // withdraws the request that the correlation_id names (extension)

	eventProgress = "progress" // of the request that the correlation_id names (extension)
)

// notification reads a NotificationMessage: an INFORM, or an act that its metadata names.
func (d *decoder) notification(m [][]byte, rest performatives.Members) {
	event, data := m[0], m[1]
	name := jsonscan.Text(event)
	withdraws := name == eventCancel && d.correlation != "" && d.out.MessageType == ""
	switch {
	case d.act != 0:
	case withdraws:
		d.act = performatives.ActCancel
	case d.out.MessageType == "" && name == eventProgress && d.session != nil && d.session.progressed(d):
		d.act = performatives.ActStatusUpdate
	}
	if d.other(performatives.ActInform) {
		if name != eventFor(d.out.MessageType, cmp.Or(d.act, performatives.ActInform)) {
			exchange.Keep(&rest, notificationEvent, event)
		}
		d.typed(cmp.Or(d.act, performatives.ActInform), data, rest)
		return
	}
	d.out.Performative = performatives.ActInform
	if name != eventInform || rest != nil || jsonscan.IsNull(data) {
		data = d.shape.payload
	}
	if data != nil {
		d.out.Payload = performatives.Raw(data)
	}
}

// eventFor returns the event type of a notification that is no INFORM of the specification: the
// application's message type, or the name of the act.
func eventFor(messageType string, act performatives.Performative) string {
	switch {
	case messageType != "":
		return messageType
	case act == performatives.ActStatusUpdate:
		return eventProgress
	}
	return strings.ToLower(act.String())
}

// notification writes a NotificationMessage whose payload is the data of an event.
func (w *writer) notification() {
	m, rest := w.Message, w.restOf()
	switch v := rest[notificationEvent]; {
	case m.Performative() == performatives.ActInform && m.MessageType() == "":
		w.Text(notificationEvent, eventInform)
		w.Raw(notificationData, w.Payload)
		return
	case jsonscan.Is(v, '"'):
		w.Raw(notificationEvent, v)
	default:
		w.Text(notificationEvent, eventFor(m.MessageType(), m.Performative()))
	}
	w.member(notificationData)
	w.Sorted(rest, notificationEvent, notificationData)
}

// isEvent reports whether the content of an INFORM, which it marshals, is the payload of a
// notification.
func (w *writer) isEvent() bool {
	if w.Message.Performative() != performatives.ActInform || w.Message.MessageType() != "" {
		return false
	}
	w.Marshal(w.Message.Payload())
	var event, data []byte
	others := false
	jsonscan.Read(w.Payload, func(string, []byte) { others = true }, jsonscan.Find(notificationEvent, &event), jsonscan.Find(notificationData, &data))
	name := jsonscan.Text(event)
	if name == "" || !jsonscan.IsNone(data) && data[0] != '{' {
		return false
	}
	return name != eventInform || others || jsonscan.IsNull(data)
}
