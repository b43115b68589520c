package scrape

// Way is the lane to an address that may become another. It is built when it is
// first needed, and again when the address is another. It is not safe for
// concurrent use.
type Way struct {
	lane *Lane
	url  string
}

// To is the lane to an address, nil where that has none.
func (w *Way) To(url string, build func() *Lane) *Lane {
	if w.url != url {
		w.Close()
		w.url, w.lane = url, build()
	}
	return w.lane
}

// Close gives up the lane, if there is one.
func (w *Way) Close() {
	if w.lane != nil {
		w.lane.Close()
	}
}
