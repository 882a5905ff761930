// Package overload shows what the product does at and above its capacity. It measures the capacity
// of a place for a kind of work by a closed loop. Then it offers multiples of it by an open loop,
// in which no request waits for an earlier one, and prints a row of a Markdown table for each load:
//
//	make overload OVERLOAD="-where local,tcp,node -kinds cpu,wait,mixed -loads 1,2,5,10 -time 20s"
//
// That writes the table of docs/performance.md. The following prints one only:
//
//	go test ./internal/overload -v -timeout 0 -run '^TestMeasure$' -measure -loads 1,2
//
// Each request has 1 s. The places are:
//
//   - local: the agents are in the process that asks, on one node.
//   - tcp: a program asks a node in another process, in acl over TCP.
//   - node: a node asks the agents of another node. A third one takes part in the cluster. Each
//     node is a process of its own.
//
// The kinds of work are:
//
//   - cpu: 5 ms of processor work. Its length is calibrated once, so it takes longer on a busy
//     machine.
//   - wait: a timer of 50 ms.
//   - mixed: cpu for one hot agent; nine quiet ones get 5 tasks a second each, in addition.
//   - tenthousand: 10,000 tasks in 2 s, to ten agents. Each waits 3 s, so that all are under way at
//     a time. The flags -time and -loads have no effect.
//
// The columns are:
//
//   - capacity: the median of five measurements. Of tenthousand it is the offered load.
//   - offered, goodput: tasks a second, and those whose result came in time and before the end of
//     the load. Those of the quiet agents count too.
//   - of capacity: the goodput as a part of the capacity, or of the offered load if that is less.
//   - busy, late, other, held, never: parts of the offered load. Late is told that the deadline has
//     passed, or told the result after it. Held was not sent: the mailbox of the asker or the
//     outbox of its connection was full, or its producers were blocked for 1 s. Never had no answer
//     within 6 s after the end.
//   - refusal: p99 of the time to an answer busy.
//   - told late: how many were told after their deadline, and p99 of the time after it.
//   - URGENT idle, URGENT hot: p50/p99 of a task that does nothing, each 50 ms, for an agent with
//     nothing else to do, and for the one with the load; and how many had no result within 5 s.
//   - quiet: the part of the quiet agents' tasks that had their result in time.
//   - memory: the peak of heap and stacks in the process of the agents, and the means of the first
//     and of the last quarter of the time.
//   - goroutines, handlers: the peaks of their numbers in that process.
//   - lost: how often a node declared another one dead.
//   - others: the part of the processors that other processes used. Look at it before you believe a
//     row. Only Linux tells.
package overload
