package wire

import (
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"time"
)

// ErrorObject is the error of wire's Error Response Format: what an ERROR frame, an
// envelope or an HTTP answer holds.
type ErrorObject struct {
	Code    string        `json:"code"` // of wire's Standard Error Codes
	Message string        `json:"message"`
	Details *ErrorDetails `json:"details,omitempty"`
}

// ErrorDetails say more about some errors.
type ErrorDetails struct {
	Limit      int    `json:"limit,omitempty"`       // messages
	Window     string `json:"window,omitempty"`      // such as 1m
	RetryAfter int    `json:"retry_after,omitempty"` // seconds, rounded up
	Field      string `json:"field,omitempty"`       // of the message that was wrong
}

// ErrorObjectOf returns what a peer is told of err: of one that is no refusal, that it
// is internal.
func ErrorObjectOf(err error) ErrorObject {
	r := AsRefusal(err)
	o := ErrorObject{Code: r.Code.Traits().Wire, Message: publicText(r)}
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

// window writes a length of time as wire does: 1m rather than 1m0s.
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
