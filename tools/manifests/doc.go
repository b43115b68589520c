// Package manifests tests deploy: every object is rendered and decoded strictly into the types
// of the program that reads it, so that a misspelled field fails here and not in a rollout.
// It must not know how the exporter works. It is a module of its own because those types are
// larger than the exporter.
package manifests
