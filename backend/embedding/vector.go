package embedding

import "math"

// A vector is a direction: its norm is 1. Its values are multiples of a 127th of the largest
// one, so that a backend keeps 8 bits of each, for an error of the cosine of less than 0.01.
//
// In main memory they are numbers of 32 bits all the same: a processor multiplies those four
// times as fast.
type vector []float32

// direction returns the direction of v, whose norm is not 0.
func direction(v []float32) vector {
	length := norm(v)
	largest := 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(float64(x)))
	}
	values := make([]int8, len(v))
	for i, x := range v {
		values[i] = int8(math.Round(float64(x) / largest * 127))
	}
	return unpack(float32(largest/length/127), values)
}

// pack returns the vector as a backend keeps it: each value is a number of steps.
func (v vector) pack() (step float32, values []int8) {
	for _, x := range v {
		step = max(step, x/127, -x/127)
	}
	values = make([]int8, len(v))
	for i, x := range v {
		values[i] = int8(math.Round(float64(x / step)))
	}
	return step, values
}

// unpack is the reverse of pack.
func unpack(step float32, values []int8) vector {
	v := make(vector, len(values))
	for i, x := range values {
		v[i] = step * float32(x)
	}
	return v
}

// cosine returns the cosine of the angle between vectors of the same length: 1 for the same
// direction. Four sums at a time keep a processor busy.
func cosine(a, b vector) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 8 && len(b) >= 8 {
		x, y := (*[8]float32)(a), (*[8]float32)(b)
		s0 += x[0]*y[0] + x[4]*y[4]
		s1 += x[1]*y[1] + x[5]*y[5]
		s2 += x[2]*y[2] + x[6]*y[6]
		s3 += x[3]*y[3] + x[7]*y[7]
		a, b = a[8:], b[8:]
	}
	for i := range min(len(a), len(b)) {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}
