package engine

import "context"

// none is a server that was not recognised: its page is passed on, nothing is
// asked and nothing derived.
type none struct{}

// None returns the engine of servers that were not recognised.
func None() Engine { return none{} }

// Kind implements Engine.
func (none) Kind() Kind { return Unknown }

// MetricsPath implements Engine.
func (none) MetricsPath() string { return "/metrics" }

// APIPort implements Engine.
func (none) APIPort(metrics int) int { return metrics }

// EmptyPage implements Engine.
func (none) EmptyPage() bool { return false }

// Ask implements Engine.
func (none) Ask(context.Context, Asker, string, func(Facts)) Facts { return Facts{} }

// Meanings implements Engine.
func (none) Meanings() []Meaning { return nil }
