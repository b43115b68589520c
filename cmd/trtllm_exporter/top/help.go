package top

// helpScreen explains the keys, and what the columns do not say by themselves.
func (m *model) helpScreen() []string {
	t := &detailText{width: m.width}
	t.head("Keys")
	for _, key := range [][2]string{
		{"↑ ↓ k j", "move; Page Up, Page Down, Home and End too"},
		{"Enter →", "open the replica; Esc goes back"},
		{"s S", "next and previous order: worst first, name, or a column"},
		{"/", "filter by text"},
		{"e", "only replicas with a problem"},
		{"Esc", "show all replicas again, or quit"},
		{"q", "quit"},
	} {
		t.text(Fit(key[0], 10, false), key[1])
	}
	t.head("Columns")
	for _, column := range [][2]string{
		{"RUNNING", "32+12/48: 32 run and 12 wait for a slot, of 48 that the server accepts at once; 48/48 is full"},
		{"–", "unknown: open the replica to see why"},
		{"≠", "a version other than most of the pool's"},
	} {
		t.text(Fit(column[0], 10, false), column[1])
	}
	lines := t.lines[1:]
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	return append(lines[:max(m.height-1, 1)], style(faint, "any key goes back"))
}
