package exposition

// WatchedKey is equal for shapes that have the same watched series, but for the GPUs
// that they are of. It keeps what such shapes have in common.
type WatchedKey struct {
	watched *[]watched
	// gpus are how many GPUs the watched series are of.
	gpus int
}

// WatchedKey is that of the shape; false for pages that are kept for themselves,
// and for those of more GPUs than have numbers.
func (s *Shape) WatchedKey() (WatchedKey, bool) {
	return WatchedKey{s.watched, len(s.shows)}, s.list.families != nil && len(s.shows) < mostOwn
}

// GPUs are the names of the GPUs that watched series are of, in their order. The
// slice is shared and only read.
func (s *Shape) GPUs() []string { return s.shows }
