package grpc

import (
	"cmp"
	"errors"
	"net/http"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ribosome-agents/ribosome/internal/sockets"
	"github.com/ribosome-agents/ribosome/performatives"
	"github.com/ribosome-agents/ribosome/wire"
)

// statusOf returns the status of a call that ended with err. Its code is the nearest to the
// HTTP equivalent of wire's Standard Error Codes. The text of an error that is no refusal
// stays secret.
func statusOf(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, wire.ErrClosed):
		return status.Error(codes.Unavailable, "the server stops")
	case errors.Is(err, wire.ErrTooMany):
		return status.Error(codes.ResourceExhausted, wire.AsRefusal(err).Text)
	}
	r := wire.AsRefusal(err)
	text := cmp.Or(r.Text, r.Code.Traits().Text)
	return status.Error(statusCode(r.Code), text)
}

func statusCode(c performatives.Code) codes.Code {
	switch wire.StatusOf(c) {
	case http.StatusBadRequest:
		return codes.InvalidArgument
	case http.StatusUnauthorized:
		return codes.Unauthenticated
	case http.StatusForbidden:
		return codes.PermissionDenied
	case http.StatusNotFound:
		return codes.NotFound
	case http.StatusTooManyRequests:
		return codes.ResourceExhausted
	case http.StatusServiceUnavailable:
		return codes.Unavailable
	}
	return codes.Internal
}

// refusalOf returns the refusal in the status of a call, or err itself if the status has
// none.
func refusalOf(err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	code, ok := map[codes.Code]performatives.Code{
		codes.Unauthenticated:   performatives.CodeUnauthorized,
		codes.PermissionDenied:  performatives.CodeForbidden,
		codes.ResourceExhausted: performatives.CodeRateLimited,
	}[s.Code()]
	if !ok {
		return errors.New(sockets.Clean(s.Message(), maxErrorText))
	}
	return &performatives.Refusal{Code: code, Text: sockets.Clean(s.Message(), maxErrorText)}
}
