package main

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// conclude says what to run next.
func (r *report) conclude(f *doctorFlags) {
	if len(f.urls) == 0 {
		r.Next = []string{f.nextOfWalk(r)}
		return
	}
	var all, failing, flags []string
	elsewhere := false
	for i := range r.Servers {
		s := &r.Servers[i]
		all = append(all, s.URL)
		if s.pageless {
			failing, elsewhere = append(failing, s.elsewhere()), elsewhere || s.elsewhere() != s.URL
			if f.file == "" && s.Problem != nil && s.Problem.Flags != "" && !slices.Contains(flags, s.Problem.Flags) {
				flags = append(flags, s.Problem.Flags)
			}
		}
	}
	switch {
	case len(failing) > 0:
		r.Next = []string{f.again(append(flags, failing...))}
		r.again = len(flags) == 0 && !elsewhere
	case f.file != "":
		r.Next = []string{program + " --config.file " + f.file}
	case f.access.given() && len(all) == 1:
		r.Next = []string{program + " --config.file " + program + ".yml"}
		if u, err := url.Parse(all[0]); err == nil {
			r.File = f.access.document(u.Scheme, u.Host)
		}
	default:
		r.Next = []string{program + " --target " + strings.Join(all, " --target ")}
	}
	if r.missing > 0 && r.pageless == 0 {
		r.Next = append(r.Next, f.again(all))
	}
}

// again is the command that looks at these addresses with the same flags.
func (f *doctorFlags) again(urls []string) string {
	words := []string{program, "doctor"}
	flag := func(name, value string) {
		if value != "" {
			words = append(words, "--"+name, value)
		}
	}
	flag("config.file", f.file)
	flag("pool-id", f.poolID)
	for _, text := range f.access.texts() {
		flag(text.name, *text.into)
	}
	if f.access.insecure {
		words = append(words, "--tls.insecure")
	}
	if f.apiPort != 0 {
		flag("api-port", strconv.Itoa(f.apiPort))
	}
	if f.apiPath != "" {
		flag("api-path", f.apiPath)
	}
	return strings.Join(append(words, urls...), " ")
}
