package engine

// IterationCounter is exported for tests.
type IterationCounter = iterationCounter

// Remembered returns the number of rows that would be recognized.
func (c *iterationCounter) Remembered() int { return len(c.hashes) }

// Agree is exported for tests.
func Agree(e Engine, p *Page, f *Facts) Trust { return agree(e, p, f) }
