// Package scrape gets the pages of the servers of a pool. A [Fetcher] finds out where
// the page of a server is and which kind of server shows it; a [Client] asks for it:
// it owns the connections with their limits, credentials, TLS and dial rules, and the
// closed list of reasons why a scrape fails. Package lane is the fast way for many
// plain requests at once. Nothing here parses pages.
package scrape
