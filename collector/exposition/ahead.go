package exposition

// ahead is how many refs are looked at together before their lines are written.
const ahead = 16

// lookAhead reads a byte of what each ref needs: its block, the place of its first
// value, that value, and the replica's own text. A page has a family of all targets
// after another, so none of it is in the processor's cache; read one after the
// other these are as many waits for memory, for each is behind the last, while those
// of several refs are waited for at the same time. The sum means nothing: it has the
// compiler keep the reads.
func (l *Layout) lookAhead(refs []ref, blocks []*Block) (sum byte) {
	if l.parts != nil {
		return 0
	}
	for i := range refs {
		r := &refs[i]
		if r.family < 0 {
			continue
		}
		b, s := blocks[r.block], l.shapes[r.block]
		if v := b.spans[s.at[s.families[r.family].first]]; int(v.start) < len(b.data) {
			sum += b.data[v.start]
		}
		if len(s.own) > 0 && s.own[0] != "" {
			sum += s.own[0][0]
		}
	}
	return sum
}
