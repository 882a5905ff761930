package actors

// taskQueue is a FIFO ring buffer of functions. The zero value is empty.
type taskQueue struct {
	ring []func() // length is a power of two
	head int      // index of the oldest function
	n    int
}

// keptTasks is the largest capacity that an empty queue keeps.
const keptTasks = 1024

func (q *taskQueue) empty() bool { return q.n == 0 }

func (q *taskQueue) push(fn func()) {
	if q.n == len(q.ring) {
		q.resize(max(16, 2*q.n))
	}
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = fn
	q.n++
}

// pop returns the oldest function, or nil.
func (q *taskQueue) pop() func() {
	if q.n == 0 {
		return nil
	}
	fn := q.ring[q.head]
	q.ring[q.head] = nil
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	if q.n == 0 && len(q.ring) > keptTasks {
		q.ring, q.head = nil, 0
	}
	return fn
}

// at returns a pointer to the i-th oldest function.
func (q *taskQueue) at(i int) *func() { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

func (q *taskQueue) resize(size int) {
	ring := make([]func(), size)
	for i := range q.n {
		ring[i] = *q.at(i)
	}
	q.ring, q.head = ring, 0
}
