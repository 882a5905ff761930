// Package pyrefactor suggests refactorings of Python code that keep its behaviour (acl §6). It
// knows three, and executes nothing:
//
//   - [RenameVariable] gives a local variable with a name of one letter a name that says what it
//     holds.
//   - [IntroduceGuard] replaces an if around the rest of a function or a loop by a return or a
//     continue under the opposite condition.
//   - [ExtractMethod] makes a function of the longest block of a long function, which gets and
//     returns the variables that it shares with the rest.
//
// # Safety
//
// Each refactoring has conditions under which the changed code does the same as the original;
// without them it gives a reason instead of a suggestion. They are about local variables of
// functions whose whole source is there: code outside of the source cannot name these. Code that
// may read variables by name, such as by eval and locals, is refused as a whole. Not kept are what
// depends on the text itself (line numbers, a traceback's lines), the depth of the stack, and the
// name in the message of an UnboundLocalError.
//
// # Concurrency
//
// There is no shared state; every function may be called from any goroutine.
package pyrefactor
