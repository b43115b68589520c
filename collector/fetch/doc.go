// Package fetch gets one page of a server: it finds out where the page is and
// which kind of server shows it, and asks for it. It works on a copy of what is
// known of the server and hands back what it found, so that it may run while
// everything else does. It parses nothing and knows no replica.
package fetch
