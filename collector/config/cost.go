package config

import (
	"errors"
	"regexp"
)

// Cost is what a replica costs while it exists, whether it works or not, as declared.
type Cost struct {
	// ReplicaHour is the cost of one replica for an hour.
	ReplicaHour float64 `yaml:"replica_hour"`
	// Currency is a code of ISO 4217, like EUR.
	Currency string `yaml:"currency"`
}

// currencyCode matches a code of ISO 4217.
var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

// Validate returns an error for each key that is missing or wrong.
func (c *Cost) Validate() error {
	if c == nil {
		return nil
	}
	var errs keyErrors
	errs.addIf(!(c.ReplicaHour > 0 && c.ReplicaHour < 1e9), "replica_hour: must be above 0 and below a billion; write "+
		"what a replica costs for an hour, like 12.5")
	errs.addIf(c.Currency == "", "currency: is required; write three capital letters, like EUR")
	errs.addIf(c.Currency != "" && !currencyCode.MatchString(c.Currency),
		"currency: %q is not a currency; write three capital letters, like EUR", c.Currency)
	return errors.Join(errs...)
}
