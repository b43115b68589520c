// Package diagnose owns what is said about an address that shows no page: what
// answers there instead, where the page of its server is, and what to do. It
// asks once, for a person who waits. It must not know any kind of server by
// name, nor how anything is printed.
package diagnose
