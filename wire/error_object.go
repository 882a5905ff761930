package wire

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"
)

// ErrorObject is the error object of the wire specification (Error Response Format). ERROR
// frames, envelopes and HTTP responses carry it.
type ErrorObject struct {
	Code    string        `json:"code"` // one of the Standard Error Codes of the wire specification
	Message string        `json:"message"`
	Details *ErrorDetails `json:"details,omitempty"`
}

// ErrorDetails holds additional data about rate limits and invalid fields.
type ErrorDetails struct {
	Limit      int    `json:"limit,omitempty"`       // messages
	Window     string `json:"window,omitempty"`      // such as 1m
	RetryAfter int    `json:"retry_after,omitempty"` // seconds, rounded up
	Field      string `json:"field,omitempty"`       // name of the invalid message field
}

// ErrorObjectOf returns the error object that a peer receives for err: the code and text of
// [AsRefusal], with details for a rate limit or an invalid field.
func ErrorObjectOf(err error) ErrorObject {
	r := AsRefusal(err)
	o := ErrorObject{Code: ErrorCodes.Of(r.Code), Message: publicText(r)}
	if r.Field != "" {
		o.Details = &ErrorDetails{Field: r.Field}
	}
	var limit *LimitError
	if errors.As(err, &limit) {
		o.Details = &ErrorDetails{
			Limit: limit.Limit.Messages, Window: window(limit.Limit.Window), RetryAfter: int(math.Ceil(limit.RetryAfter.Seconds())),
		}
	}
	return o
}

// JSON returns the object as JSON.
func (o ErrorObject) JSON() []byte {
	b, err := json.Marshal(o)
	if err != nil {
		panic("wire: an ErrorObject does not marshal: " + err.Error())
	}
	return b
}

// window formats a duration as the wire specification does: 1m rather than 1m0s.
func window(d time.Duration) string {
	switch {
	case d%time.Hour == 0:
		return itoa(d/time.Hour) + "h"
	case d%time.Minute == 0:
		return itoa(d/time.Minute) + "m"
	}
	return d.String()
}

func itoa(d time.Duration) string { return strconv.FormatInt(int64(d), 10) }
