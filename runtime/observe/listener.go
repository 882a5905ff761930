package observe

import (
	"sync"

	"github.com/ribosome-agents/ribosome/actors/events"
	"github.com/ribosome-agents/ribosome/runtime"
)

// listener takes the events of a node in batches, under a lock that it shares with the readers of
// the results.
type listener struct {
	events *events.Batches
	closed chan struct{} // closed by end
	close  sync.Once
	done   chan struct{} // closed when the goroutine has ended

	mu sync.Mutex
}

// listen begins to take the events that are published from now on, of which so many may wait. The
// functions of the columns are called under the lock.
func (l *listener) listen(node *runtime.Node, queue int, columns ...events.Column) {
	l.closed, l.done = make(chan struct{}), make(chan struct{})
	l.events = node.Events().SubscribeBatches(queue, columns...)
	go l.run()
}

// end ends the subscription, and returns when all queued events have been taken. Calling it again
// does nothing.
func (l *listener) end() {
	l.close.Do(func() {
		l.events.Close()
		close(l.closed)
	})
	<-l.done
}

func (l *listener) run() {
	defer close(l.done)
	for open := true; open; {
		select {
		case <-l.events.Ready:
		case <-l.closed:
			open = false
		}
		l.lock().Unlock()
	}
}

// lock takes the lock, and all events that have been published.
func (l *listener) lock() *sync.Mutex {
	l.mu.Lock()
	l.events.Handle()
	return &l.mu
}
