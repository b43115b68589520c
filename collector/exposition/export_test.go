package exposition

// The bounds of what is kept of a page.
const (
	Ordinary   = ordinary
	Remembered = remembered
)
