package assess

// Runbooks returns the entries of the runbook that verdicts may name.
func Runbooks() []string {
	names := []string{unmetRunbook, canaryRunbook}
	for _, c := range consequences() {
		if c.runbook != "" {
			names = append(names, c.runbook)
		}
	}
	return names
}

// Severities returns the severity of each state.
func Severities() map[State]Severity {
	all := make(map[State]Severity)
	for _, c := range consequences() {
		all[c.state] = c.severity
	}
	return all
}
