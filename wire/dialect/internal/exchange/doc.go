// Package exchange has the parts that the dialects have in common: the envelope of a message as it is
// read and written, its first error, its token, the requests that wait for an answer, and for a
// bounded time those that have ended and the CANCELs of those that have not come yet.
// A dialect composes them with its types, its table of acts and its exceptions; it writes failures
// itself, by its codec and its table of codes. None of them calls back into a dialect, save by the
// functions that [Pending.Init] and [IndexOf] get.
package exchange
