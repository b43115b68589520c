// Package series makes the series about one replica that do not come from its
// page: what is known of it (state, health, models, iterations, canary), and how
// its scrapes went, as the exporter's own metrics.
//
// What a value means is said where it is made, in assess, api and canary; which
// families there are, in derive and own. Here they become blocks, whose shape is
// made again only when there are other series.
package series
