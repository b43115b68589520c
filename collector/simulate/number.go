package simulate

import (
	"bytes"
	"math"
	"slices"
	"strconv"
)

// appendCpp appends v like prometheus-cpp: up to 16 significant digits, an
// exponent from 1e16 on and below 1e-4, and "Nan" for not-a-number.
func appendCpp(dst []byte, v float64) []byte {
	if math.IsNaN(v) {
		return append(dst, "Nan"...)
	}
	return strconv.AppendFloat(dst, v, 'g', 16, 64)
}

// appendPython appends v like Python's prometheus_client: the shortest text that parses
// back, with ".0" for whole numbers.
func appendPython(dst []byte, v float64) []byte {
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	if bytes.ContainsAny(dst[start:], ".eNI") {
		return dst
	}
	return append(dst, ".0"...)
}

// appendPythonOld appends v like prometheus_client up to 2024, with three exponent digits
// (NIM 1.x: 1.15891634176e+011).
func appendPythonOld(dst []byte, v float64) []byte {
	return append(dst, bytes.Replace(appendPython(nil, v), []byte("e+"), []byte("e+0"), 1)...)
}

// appendRust appends v like the Rust prometheus crate: the shortest decimal text without
// exponent or ".0".
func appendRust(dst []byte, v float64) []byte { return strconv.AppendFloat(dst, v, 'f', -1, 64) }

// histogram counts observations per bucket; counts has one more entry than
// bounds, for +Inf.
type histogram struct {
	bounds []float64
	counts []uint64
	sum    float64
	n      uint64
}

func newHistogram(bounds ...float64) *histogram {
	return &histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// The buckets of vLLM's histograms, which TensorRT-LLM uses too.

func firstTokenTimes() *histogram {
	return newHistogram(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560)
}

func tokenTimes() *histogram {
	return newHistogram(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80)
}

func requestTimes() *histogram {
	return newHistogram(0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680)
}

func (h *histogram) observe(v float64) { h.observeN(v, 1) }

// observeN adds n observations of the same value; a nil histogram ignores them.
func (h *histogram) observeN(v float64, n uint64) {
	if h == nil {
		return
	}
	i, _ := slices.BinarySearch(h.bounds, v)
	h.counts[i] += n
	h.sum += v * float64(n)
	h.n += n
}
