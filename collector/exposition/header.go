package exposition

// lengthOrder is the order in which the lengths of the codes of lengths come.
//
//nolint:gochecknoglobals // constant data.
var lengthOrder = [...]uint8{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}

const (
	// again repeats the length before, zeros and manyZeros are that many zeros.
	again, zeros, manyZeros = 16, 17, 18
	longestHeaderCode       = 7
)

// header writes what begins a block: the lengths of its codes.
type header struct {
	counts  [len(lengthOrder)]uint32
	lengths [len(lengthOrder)]uint8
	codes   [len(lengthOrder)]uint32
	// runs are lengths, with what repeats them in the higher byte.
	runs []uint16
}

// write begins a block whose codes of literals and lengths, and of distances, have
// these lengths.
func (h *header) write(w *bitWriter, code *huffman, lengths []uint8) {
	literals, distances := shorten(lengths[:literalSymbols], endSymbol+1), shorten(lengths[literalSymbols:], 1)
	h.counts = [len(lengthOrder)]uint32{}
	h.runs = h.runs[:0]
	h.add(literals)
	h.add(distances)
	h.counts[0], h.counts[manyZeros] = h.counts[0]+1, h.counts[manyZeros]+1
	code.lengths(h.counts[:], longestHeaderCode, h.lengths[:])
	codes(h.lengths[:], h.codes[:])
	n := len(lengthOrder)
	for n > 4 && h.lengths[lengthOrder[n-1]] == 0 {
		n--
	}
	w.put(2<<1, 3)
	w.put(uint64(len(literals)-endSymbol-1), 5)
	w.put(uint64(len(distances)-1), 5)
	w.put(uint64(n-4), 4)
	for _, symbol := range lengthOrder[:n] {
		w.put(uint64(h.lengths[symbol]), 3)
		w.flush()
	}
	for _, run := range h.runs {
		symbol := uint8(run)
		w.add(h.codes[symbol])
		switch symbol {
		case again:
			w.put(uint64(run>>8), 2)
		case zeros:
			w.put(uint64(run>>8), 3)
		case manyZeros:
			w.put(uint64(run>>8), 7)
		}
		w.flush()
	}
}

// shorten leaves out zeros at the end, but for so many lengths.
func shorten(lengths []uint8, least int) []uint8 {
	for len(lengths) > least && lengths[len(lengths)-1] == 0 {
		lengths = lengths[:len(lengths)-1]
	}
	return lengths
}

// add adds lengths as runs.
func (h *header) add(lengths []uint8) {
	for len(lengths) > 0 {
		same := 1
		for same < len(lengths) && lengths[same] == lengths[0] {
			same++
		}
		one := lengths[0]
		lengths = lengths[same:]
		if one > 0 {
			h.run(one, 0)
			same--
		}
		for same > 0 {
			same -= h.repeat(one, same)
		}
	}
}

// repeat adds a run of a length of which so many more are to come, and returns how
// many it is.
func (h *header) repeat(one uint8, same int) int {
	n := 1
	switch {
	case one > 0 && same >= 3:
		n = min(same, 6)
		h.run(again, n-3)
	case one == 0 && same >= 11:
		n = min(same, 138)
		h.run(manyZeros, n-11)
	case one == 0 && same >= 3:
		n = min(same, 10)
		h.run(zeros, n-3)
	default:
		h.run(one, 0)
	}
	return n
}

// run adds one run.
func (h *header) run(symbol uint8, further int) {
	h.counts[symbol]++
	h.runs = append(h.runs, uint16(symbol)|uint16(further)<<8)
}
