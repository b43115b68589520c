// Package scrape requests the metrics pages of the servers of a pool and calls their APIs. It
// owns the connections with their limits, credentials, TLS and dial rules, and the closed
// list of reasons why a scrape fails. It must neither parse pages nor know what they are used
// for. Begin reading at [Fetcher.Fetch], which locates the page of a server and determines
// its kind, and at [Client.Scrape], which requests the page.
package scrape
