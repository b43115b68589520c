// Package simulate owns the simulated fleet.
package simulate
