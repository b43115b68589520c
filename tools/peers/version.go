package main

import (
	"context"
	"debug/buildinfo"
	"os/exec"
	"path"
	"runtime/debug"
	"strings"
)

// says gives the version that a program states in its first line.
func says(program string) func(context.Context) string {
	return func(ctx context.Context) string {
		text, err := exec.CommandContext(ctx, program, "--version").CombinedOutput() //nolint:gosec // the program that is measured.
		if err != nil {
			return ""
		}
		first, _, _ := strings.Cut(string(text), "\n")
		first, _, _ = strings.Cut(first, " (")
		return first
	}
}

// built gives the version of the module that a program was built from.
func built(program, module string) func(context.Context) string {
	return func(context.Context) string {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return ""
		}
		for _, m := range append(info.Deps, &info.Main) {
			if m.Path == module {
				return m.Version
			}
		}
		return ""
	}
}

// libraries are the versions of what the ordinary way is written with.
func libraries(context.Context) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var all []string
	for _, m := range info.Deps {
		if name := path.Base(m.Path); strings.HasPrefix(m.Path, "github.com/prometheus/") && (name == "client_golang" || name == "common") {
			all = append(all, name+" "+m.Version)
		}
	}
	return strings.Join(all, ", ")
}
