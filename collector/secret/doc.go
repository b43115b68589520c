// Package secret hides secrets in texts that others wrote. A server, a proxy or a source of targets may
// repeat the credentials that it was sent, in any spelling, and its texts reach logs, pages, documents
// and labels. A [Store] knows all secrets of the process; everything foreign passes through it once. It
// must not know who wrote a text or who reads it. Begin reading at Hide in store.go.
package secret
