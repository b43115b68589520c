// Package derive owns the exporter's own vocabulary, the llm_server_*
// families: the catalogue of their names, types, units, formulas and grades
// of accuracy, the window of values that rules look back over, and the rules
// themselves.
//
// Rules are functions of the values in the window alone, and declare which
// signals they need; what servers can feed a family follows from that. Time
// comes in with each page; the package reads no clock, does no I/O and knows no
// kind of server and no name that servers use: these are in package engine.
//
// A value is exported only when it can be trusted. A rule whose inputs
// are absent, not finite, cut off by a reset, a restart or a gap, or not yet
// known for long enough has no value, and its series is absent.
package derive
