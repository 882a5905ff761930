// Package exchange has the parts that the dialects have in common. Of a message these are the
// envelope that is read and written, its first error and its token. Of a session these are the
// requests that wait for an answer, those that have ended, and the CANCELs of those that have not
// come yet; the last two are kept for a bounded time. A dialect composes them with its types, its
// table of acts and its exceptions; it writes failures itself, by its codec and its table of codes.
// (WriteFault answers the refused frames of rag and rossnet, and the groups of codes that several
// tables share are here.) None of them calls back into a dialect, save by the functions that
// [Pending.Init] and [IndexOf] get.
package exchange
