package kit

import (
	"context"

	"github.com/ribosome-agents/ribosome/codons"
)

// Ongoing is a [codons.Pending] of any type.
type Ongoing struct {
	Cancel func()
	Wait   func() (any, error)
}

// Started returns a pending conversation as Ongoing.
func Started[T any](pending *codons.Pending[T], err error) (*Ongoing, error) {
	if err != nil {
		return nil, err
	}
	return &Ongoing{pending.Cancel, func() (any, error) {
		answer, err := pending.Wait()
		return answer, err
	}}, nil
}

// InBackground runs a function that waits on a goroutine of its own.
func InBackground[T any](ctx context.Context, do func(context.Context) (T, error)) (*Ongoing, error) {
	ctx, cancel := context.WithCancel(ctx)
	var answer T
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		answer, err = do(ctx)
	}()
	return &Ongoing{cancel, func() (any, error) {
		<-done
		cancel()
		return answer, err
	}}, nil
}
