package engine

import "context"

// IterationCounter is exported for tests.
type IterationCounter = iterationCounter

// Agree is exported for tests.
func Agree(k *Kind, p *Page, f *Facts) Ternary { return agree(k, p, f) }

// Detect and the next two are those of the built-in kinds, for tests.
func Detect(ctx context.Context, client Client, address string, pages bool) Detection {
	return BuiltIn().Detect(ctx, client, address, pages)
}

// Recognize is exported for tests.
func Recognize(ctx context.Context, client Client, address string, body []byte) Detection {
	return BuiltIn().Recognize(ctx, client, address, body)
}

// FromPage is exported for tests.
func FromPage(body []byte) Detection { return BuiltIn().FromPage(body) }

// ReleasesIn returns the releases that a history gives the series with a name.
func ReleasesIn(h map[Releases][]string, name string) Releases {
	return history(h).with([]Meaning{{Name: name}})[0].Releases
}
