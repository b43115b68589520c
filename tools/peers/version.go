package main

import (
	"debug/buildinfo"
	"path"
	"slices"
	"strings"
)

// built returns the versions of the modules that a program was built from, those of the
// named ones.
func built(program string, modules ...string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return ""
	}
	var versions []string
	for _, m := range append(info.Deps, &info.Main) {
		if slices.Contains(modules, m.Path) {
			versions = append(versions, path.Base(m.Path)+" "+m.Version)
		}
	}
	return strings.Join(versions, ", ")
}
