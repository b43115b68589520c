package derive

// Continue goes on where an earlier deriver of the same kind of server stopped, whose options may have been others:
// what it saw of the server's pages stays seen. Of requests of the exporter that were on their way nobody knows how
// they ended. The earlier deriver must not be used any more.
func (d *Deriver) Continue(earlier *Deriver) {
	opts, window := d.opts, d.processes.window
	*d = *earlier
	d.opts, d.processes.window = opts, window
	d.page, d.ranks, d.unmapped = nil, 0, nil // The next page makes the index and the window that the options say.
	for d.own.running > 0 {
		d.EndOwn("", false)
	}
}
