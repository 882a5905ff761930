package saga

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/ribosome-agents/ribosome/actors"
	"github.com/ribosome-agents/ribosome/codons"
	"github.com/ribosome-agents/ribosome/performatives"
)

// errGoexit is the error of a step that called runtime.Goexit.
var errGoexit = errors.New("saga: the step ended its goroutine")

// begin starts a job on a goroutine of its own. The job calls the journal first.
func (r *run) begin(job string) {
	i := r.number()
	step := r.saga.Steps[i-1]
	if job == jobDo(i) {
		ctx, cancel := context.WithCancel(r.ctx)
		r.cancels[job] = cancel
		r.beginDo(ctx, step, i)
		return
	}
	ctx, cancel := context.WithTimeout(codons.Detach(r.ctx), step.undoTime())
	r.cancels[job] = cancel
	r.beginUndo(ctx, step, i)
}

// work runs a job and reports its outcome: ended, when the job calls runtime.Goexit.
func (r *run) work(ended outcome, job func() outcome) {
	r.party.Self().System().Work(func() {
		o, began := ended, time.Now()
		defer func() {
			if o.err != nil {
				r.solo.Failed(r.ctx, r.saga.Steps[o.step-1].Name, time.Since(began), o.err)
			}
			r.outcomes <- o
		}()
		o = job()
	})
}

func (r *run) beginDo(ctx context.Context, step Step, i int) {
	earlier, record := r.results(), r.solo.Record()
	r.work(outcome{command: commandUnknown(i), step: i, err: errGoexit}, func() outcome {
		err := r.saga.tell(ctx, record)
		if err == nil && ctx.Err() != nil { // Do was not called yet
			err = actors.EndOf(r.ctx)
		}
		if err != nil {
			return outcome{command: commandFailed(i), step: i, err: err}
		}
		return step.do(ctx, earlier, i)
	})
}

// do calls Do once.
func (s Step) do(ctx context.Context, earlier map[string]any, i int) outcome {
	done, err := caught(func() (any, error) { return s.Do(ctx, earlier) })
	switch {
	case err == nil && !s.returns(done):
		err = fmt.Errorf("saga: want a %T as the result of step %s, got a %T", s.Result, s.Name, done)
		return outcome{command: commandUnknown(i), step: i, err: err}
	case err == nil:
		return outcome{command: commandDone(i), step: i, data: done}
	case s.unknown(err):
		return outcome{command: commandUnknown(i), step: i, err: err}
	}
	return outcome{command: commandFailed(i), step: i, err: err}
}

// returns reports whether a result is of the type of Result.
func (s Step) returns(done any) bool {
	return s.Result == nil || done == nil || reflect.TypeOf(done) == reflect.TypeOf(s.Result)
}

// read returns a result with the type of Result, also when it was read from JSON.
func (s Step) read(done any) (any, error) {
	raw, ok := done.(performatives.Raw)
	if !ok || s.returns(done) {
		return done, nil
	}
	v := reflect.New(reflect.TypeOf(s.Result))
	if err := performatives.Unmarshal(raw, v.Interface()); err != nil {
		return nil, fmt.Errorf("saga: the result of step %s: %w", s.Name, err)
	}
	return v.Elem().Interface(), nil
}

// unknown reports whether a step that failed with err may have been done. A step that
// panicked may, and so may one whose Unknown panics.
func (s Step) unknown(err error) bool {
	var panicked *actors.PanicError
	if s.Unknown == nil || errors.As(err, &panicked) {
		return StepUnknown(err)
	}
	unknown, failed := caught(func() (any, error) { return s.Unknown(err), nil })
	return failed != nil || unknown == true
}

func (r *run) beginUndo(ctx context.Context, step Step, i int) {
	done, record := r.side.Results[step.Name], r.solo.Record()
	r.work(outcome{command: commandLost(i), step: i, err: errGoexit}, func() outcome {
		if err := r.saga.tell(ctx, record); err != nil {
			r.party.Self().Logger().Error("saga: the record was not journalled", "step", step.Name, "err", err)
		}
		if err := step.undo(ctx, done, r.party); err != nil {
			return outcome{command: commandLost(i), step: i, err: err}
		}
		return outcome{command: commandUndone(i), step: i}
	})
}

// undo calls Undo until it succeeds, until ctx ends, or until the agent that runs the saga
// has stopped.
func (s Step) undo(ctx context.Context, done any, p codons.Party) error {
	if s.Undo == nil {
		return nil
	}
	for n := 1; ; n++ {
		_, err := caught(func() (any, error) { return nil, s.Undo(ctx, done) })
		if err == nil {
			return nil
		}
		if errors.Is(err, actors.ErrStopped) || !s.Retry.Pause(ctx, p, err, performatives.MessageID(s.Name), n) {
			return err
		}
	}
}

// caught calls a function of the caller, and returns an error also for a panic.
func caught(call func() (any, error)) (v any, err error) {
	returned := false
	defer func() {
		if p := recover(); !returned {
			v, err = nil, &actors.PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	v, err = call()
	returned = true
	return v, err
}
