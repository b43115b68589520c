package discovery

import "regexp"

// formOfTargets is what files and servers of targets hold.
const formOfTargets = `write a list like [ { "targets": ["10.0.0.1:8002"], "labels": {} } ]`

// foreign lists what decoders say about targets that have another form, with Go's types, and what
// it means.
//
//nolint:gochecknoglobals // constant data.
var foreign = []struct {
	pattern *regexp.Regexp
	meaning string
}{
	{
		regexp.MustCompile(`yaml: unmarshal errors: line (\d+): field (\S+) not found in type struct.*`),
		"line $1: unknown key $2; use targets and labels",
	},
	{
		regexp.MustCompile(`yaml: unmarshal errors: line (\d+): cannot unmarshal .* into \[\]string.*`),
		"line $1: targets must be a list of host:port",
	},
	{
		regexp.MustCompile(`yaml: unmarshal errors: line (\d+): cannot unmarshal .*`),
		"line $1: it does not have the form of targets; " + formOfTargets,
	},
	{
		regexp.MustCompile(`yaml: unknown anchor '.*' referenced`), // It may be a password, and is not repeated.
		"an alias (*) has no anchor (&) above it; put a text that begins with * in quotes",
	},
	{regexp.MustCompile(`json: unknown field ("\S+")`), "unknown key $1; use targets and labels"},
	{regexp.MustCompile(`json: cannot unmarshal .*`), "it does not have the form of targets; " + formOfTargets},
	{regexp.MustCompile(`^(invalid character .*)`), "it is not JSON ($1); " + formOfTargets},
}

// inWords replaces what a decoder says by what it means.
func inWords(text string) string {
	for _, f := range foreign {
		text = f.pattern.ReplaceAllString(text, f.meaning)
	}
	return text
}
