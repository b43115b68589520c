package simulate

import (
	"math"
	"strconv"
)

// appendCpp writes v as prometheus-cpp 1.0 does: up to 16 significant digits,
// an exponent from 1e16 on and below 1e-4, and "Nan" for not-a-number.
func appendCpp(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "Nan"...)
	case math.IsInf(v, 1):
		return append(dst, "+Inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-Inf"...)
	case v == math.Trunc(v) && math.Abs(v) < 1e15 && (v != 0 || !math.Signbit(v)):
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return strconv.AppendFloat(dst, v, 'g', 16, 64)
}

// appendPython writes v as Python's prometheus_client does: the shortest text
// that reads back, with ".0" on whole numbers and an exponent from 1e6 on.
func appendPython(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "+Inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-Inf"...)
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	for _, c := range dst[start:] {
		if c == '.' || c == 'e' {
			return dst
		}
	}
	return append(dst, ".0"...)
}

// appendPythonOld is appendPython of prometheus_client up to 2024, which writes
// three exponent digits (NIM 1.x: 1.15891634176e+011).
func appendPythonOld(dst []byte, v float64) []byte {
	start := len(dst)
	dst = appendPython(dst, v)
	for i := start; i+1 < len(dst); i++ {
		if dst[i] == 'e' && dst[i+1] == '+' {
			dst = append(dst[:i+2], append([]byte{'0'}, dst[i+2:]...)...)
			break
		}
	}
	return dst
}

// appendRust writes v as the Rust prometheus crate does: shortest decimal text,
// never an exponent, no ".0".
func appendRust(dst []byte, v float64) []byte {
	if math.IsNaN(v) {
		return append(dst, "NaN"...)
	}
	if math.IsInf(v, 1) {
		return append(dst, "+Inf"...)
	}
	return strconv.AppendFloat(dst, v, 'f', -1, 64)
}
