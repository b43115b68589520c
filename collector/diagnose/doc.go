// Package diagnose finds out why an address has no metrics page: what answers there instead,
// where the page is, and what to do. It sends each request once, since a user waits for the
// result. It must know neither kinds of servers by name nor how findings are printed. Begin
// reading at [Look].
package diagnose
