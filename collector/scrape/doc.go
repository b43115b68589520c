// Package scrape asks one replica for one page: it owns the HTTP client of a
// pool with its limits, credentials, TLS and dial rules, and the closed list of
// reasons why a scrape fails. It must not know what a page says.
package scrape
