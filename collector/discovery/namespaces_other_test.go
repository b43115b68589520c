//go:build !linux

package discovery_test

import (
	"errors"
	"os/exec"
)

func isolate(*exec.Cmd) error { return errors.New("linux only") }

func enterNamespaces() error { return errors.New("linux only") }
