// Package recent has what the dialects remember for a bounded time about requests: those that have
// ended, and the CANCELs of those that have not come yet. A CANCEL has a higher priority than its
// request, so that it may overtake it.
package recent
