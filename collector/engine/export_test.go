package engine

// IterationCounter is exported for tests.
type IterationCounter = iterationCounter

// Agree is exported for tests.
func Agree(e Engine, p *Page, f *Facts) Trust { return agree(e, p, f) }
