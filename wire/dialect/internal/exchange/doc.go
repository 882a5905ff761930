// Package exchange has the parts that the dialects have in common: the frame of a message, its
// first error, its token, the requests that wait for an answer, and CANCELs that came too early.
// A dialect composes them with its types, its table of acts and its exceptions; it writes failures
// itself, by its codec and its table of codes. None of them calls back into a dialect, save
// [Pending].Removed.
package exchange
