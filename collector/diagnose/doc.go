// Package diagnose finds out why an address has no page of metrics: what answers there
// instead, where the page of its server is, and what to do. It sends each request once,
// for a user who waits. It must not know kinds of servers by name, nor how findings are
// printed. Begin reading at Look.
package diagnose
