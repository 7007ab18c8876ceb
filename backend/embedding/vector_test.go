package embedding

import (
	"fmt"
	"runtime"
	"testing"

	"memento"
	"memento/backend"
	"memento/test/cputime"
	"memento/test/embedservice"
)

// What a backend keeps for sections comes back as it was; anything else is refused, and does
// not panic.
func FuzzDecode(f *testing.F) {
	x := newIndex(true)
	x.add(textKey{1}, direction([]float32{1, -2, 3}))
	e := &entry{sections: []section{{key: textKey{1}}, {key: textKey{2}}}, cut: true}
	x.set("m", e)
	f.Add(backend.EncodeVectors(e.encode()))
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, b []byte) {
		vectors := backend.DecodeVectors(b)
		if vectors == nil {
			return
		}
		x := newIndex(true)
		x.set("m", x.decode(backend.MemoryVectors{Memory: "m", Vectors: vectors}))
		if err := backend.CheckVectors("m", []backend.MemoryVectors{{Vectors: vectors}}); err != nil {
			t.Error(err)
		}
		again := backend.DecodeVectors(backend.EncodeVectors(x.memories["m"].encode()))
		if len(again) != len(vectors) {
			t.Errorf("%d sections become %d", len(vectors), len(again))
		}
	})
}

// The 8 bits of a dimension change a cosine by less than a hundredth.
func TestDirection(t *testing.T) {
	texts := []string{"The car of the surgeon", "An automobile", "The invoice begins yesterday", "Something different entirely"}
	for _, a := range texts {
		for _, b := range texts {
			u, v := embedservice.Vector(a), embedservice.Vector(b)
			var exact float64
			for i := range u {
				exact += float64(u[i]) * float64(v[i])
			}
			exact /= norm(u) * norm(v)
			if got := float64(cosine(direction(u), direction(v))); got < exact-0.01 || got > exact+0.01 {
				t.Errorf("%q and %q: %v instead of %v", a, b, got, exact)
			}
		}
	}
}

// BenchmarkNearest compares a query with all vectors of a store, and says how much main memory
// these take.
func BenchmarkNearest(b *testing.B) {
	for _, dimension := range []int{384, 768, 1024, 1536, 3072} {
		for _, n := range []int{1_000, 10_000, 100_000} {
			if 4*n*dimension > 512<<20 {
				continue // a store with more is searched by words alone
			}
			b.Run(fmt.Sprintf("%d×%d", n, dimension), func(b *testing.B) { benchmarkNearest(b, n, dimension) })
		}
	}
}

func benchmarkNearest(b *testing.B, n, dimension int) {
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	x := newIndex(false)
	random := func(seed uint32) vector {
		v := make([]float32, dimension)
		for i := range v {
			seed = seed*1664525 + 1013904223
			v[i] = float32(int32(seed))
		}
		return direction(v)
	}
	for i := range uint32(n) {
		key := textKey{byte(i), byte(i >> 8), byte(i >> 16)}
		x.add(key, random(i))
		x.set(memento.MemoryID(key[:3]), &entry{path: memento.Path("/" + string(key[:3])), sections: []section{{key: key}}, cut: true})
	}
	taken := heap() - before
	query := random(1 << 31)
	x.nearest(query, nil, depth)
	b.ResetTimer()
	used := cputime.Least(b.N, 0, func() { x.nearest(query, nil, depth) })
	b.ReportMetric(float64(used.Microseconds())/1000, "least-cpu-ms")
	b.ReportMetric(float64(taken)/(1<<20), "MB")
}
