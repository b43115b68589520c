// Package deb holds the test that a clean Debian installs the package, starts
// the unit and scrapes a simulated fleet. It is run by `make e2e-deb` with the
// build tag e2e_deb, as root.
package deb
