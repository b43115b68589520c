// Package deb tests that a clean Debian installs the package, starts the unit and scrapes a
// simulated fleet. `make e2e-deb` runs it with the build tag e2e_deb, as root.
package deb
