// Package scrape requests the metrics pages of the servers of a pool and calls their APIs. It
// owns the connections with their limits, credentials, TLS and dial rules, and the closed
// list of reasons why a scrape fails. It must neither parse pages nor know what they are used
// for. Begin reading at [Fetcher.Fetch], which locates the page of a server and determines
// its kind, at [Client.Scrape], which requests the page, and at [Diagnose], which finds out why
// an address has no page and where the page is.
package scrape
