package engine

// IterationCounter is exported for tests.
type IterationCounter = iterationCounter

// Agree is exported for tests.
func Agree(k *Kind, p *Page, f *Facts) Ternary { return agree(k, p, f) }
