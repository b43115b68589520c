// Package manifests checks what is in deploy: every object is rendered and
// decoded strictly into the types of the program that will read it, so that a
// misspelt field fails a test here and not a rollout there. It has a module of
// its own because those types are heavier than the exporter; it must not know
// how the exporter works.
package manifests
