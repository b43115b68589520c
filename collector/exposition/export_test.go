package exposition

// The bounds of what is kept of a page.
const (
	Ordinary   = ordinary
	Remembered = remembered
)

// Strict says which rule of OpenMetrics a page breaks.
func Strict(page string) error { return strict([]byte(page)) }
