// Package browser has the tests of the console in a browser: Chromium, by the DevTools protocol. It
// is a module of its own, so that its dependencies are in no program
// (docs/adr/0040-browser-tests.md). .ci/setup installs Chromium.
package browser
