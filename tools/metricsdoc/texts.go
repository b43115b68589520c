package main

import _ "embed" // For the texts.

// Texts between the tables, each of which begins with its heading.
var (
	//go:embed text/head.md
	head string
	//go:embed text/sources.md
	sourcesHead string
	//go:embed text/exporter.md
	ownHead string
	//go:embed text/groups.md
	groupsHead string
	//go:embed text/window_gauges.md
	windowGauges string
	//go:embed text/panels.md
	lostPanels string
	//go:embed text/checks.md
	checks string
	//go:embed text/unknown.md
	unknown string
	//go:embed text/aliases.md
	aliasesHead string
	//go:embed text/servers.md
	serversHead string
	//go:embed text/releases.md
	releasesHead string
)

// notesText says what a reader of a number should know beyond its HELP text, see [readNotes].
//
//go:embed text/notes.md
var notesText string
