package sensitive

import (
	"iter"
	"math"
	"math/bits"
	"strings"
	"sync"
	"unicode/utf8"
)

// keywords finds words in a text, ignoring the case of ASCII letters. It looks at three
// consecutive bytes (a gram) at every second position of the text, in a bitmap of grams
// that fits into a processor's first cache. Only where the bitmap has the gram, words are
// compared. For each word, the bitmap has the rarest of its grams at even offsets and the
// rarest at odd ones: wherever the word begins, one of them is at an even position.
type keywords struct {
	words []string
	grams bitmap // of all words

	longer  *bitmap                        // of words of two bytes or more; grams if there are no others
	ranks   [len(bitmap{})]uint16          // bits of longer in the words of bits before
	lists   []gramList                     // for each bit of longer
	entries []gramEntry                    // of the lists
	single  [2][1 << classBits][]gramEntry // place in the gram and class → words of one byte
}

// A bitmap is a set of grams.
type bitmap [1 << (3*classBits - 6)]uint64

// at returns the bit of the gram of three classes, and other bits above it.
func (m *bitmap) at(first, second, third uint32) uint64 {
	return m[(first<<classBits|second)%uint32(len(m))] >> (third & 63)
}

func gramOf(first, second, third uint32) uint32 {
	return first<<(2*classBits) | second<<classBits | third
}

// A gramList lists the words that may have a gram.
type gramList struct {
	first, end int32       // entries
	after      byteClasses // of the bytes that can follow the gram
}

type gramEntry struct {
	word   int32
	offset int32 // of the gram in the word; -1: the gram begins before it
}

// A keyword is a word to look for. Where other bytes around it mean that nothing can be
// found, it may be left out.
type keyword struct {
	text   string        // lower case and not empty
	before byteClasses   // of the bytes that can stand before it
	at     []byteClasses // of the bytes that can stand at its start and after; beyond: any
}

// classBits is how many bits of a gram a byte takes.
const classBits = 6

// byteClassOf divides bytes into 64 classes: letters regardless of case, pairs of digits,
// signs that keywords have, all other signs, and twenty of bytes outside ASCII.
var byteClassOf = func() (classes [256]uint8) {
	next := uint8(1) // 0: other signs, and what is beyond the end of the text
	for c := byte('a'); c <= 'z'; c++ {
		classes[c], classes[c-'a'+'A'] = next, next
		next++
	}
	for c := byte('0'); c <= '9'; c++ {
		classes[c] = next
		next += c & 1
	}
	for _, c := range []byte("-_ .:$/=+~%\n") {
		classes[c] = next
		next++
	}
	for c := utf8.RuneSelf; c < len(classes); c++ {
		classes[c] = next + uint8(c)%(1<<classBits-next)
	}
	return classes
}()

// byteClasses is a set of classes of bytes, as bits.
type byteClasses uint64

const anyByte byteClasses = math.MaxUint64

// byteClasses returns the classes of the bytes in c.
func (c *class) byteClasses() (set byteClasses) {
	for b, n := range byteClassOf {
		if c.has(byte(b)) {
			set |= 1 << n
		}
	}
	return set
}

// all returns the classes in the set.
func (set byteClasses) all() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for ; set != 0; set &= set - 1 {
			if !yield(uint32(bits.TrailingZeros64(uint64(set)))) {
				return
			}
		}
	}
}

// share estimates which part of the bytes of notes is in the set. It is only used to choose
// among grams.
func (set byteClasses) share() (sum float64) {
	for n := range set.all() {
		sum += byteShares[n]
	}
	return sum
}

// byteShares estimates how frequent each class of bytes is in notes.
var byteShares = func() (shares [1 << classBits]float64) {
	for n := range shares {
		shares[n] = 0.002
	}
	share := 0.09
	for _, c := range []byte("etaoinsrhldcumfpgwybvkxjqz") { // the most frequent first
		shares[byteClassOf[c]] = share
		share *= 0.88
	}
	for _, c := range []byte("02468.-:\n,") {
		shares[byteClassOf[c]] = 0.01
	}
	shares[byteClassOf[' ']] = 0.16
	return shares
}()

// commonGrams are sequences of three letters that are in many English words, the most
// frequent first.
var commonGrams = ranked(`ing ion ent tio est tes ate con ers ter ted res ver tor rea ect com sta ati pro sto the ons ore age nte ess red che act int str tin her ort
	nce ser all ist enc der ite ack ead oun ste men ive ten and for use end ove eve ace ble ces ine ide tra ass cha ain par pla are rep rec rit
	lea tri wor omp not han por cti ord ins ind ere rin ear ost ope ase ame eco und per hin nts tat ile ete les ode ies sec rat ret old cre ont
	ref min pen lin ang ses run erv one key art din out mem app nge ire des cal emo nds ken ice ext let ans abl ure sti ant ach ele unt ome mar
	man ose ote pac ook nti ren pas wri cke edi bac cat tur lis eat ran pre rac sho oke low ded fil iti gra ert eme our loc dit sts ves thi lic
	eas sen mat cri tho ner ock nam sio que gin scr exp ges pti son rou pos rie den too lat dat ens own ori rve aut its har err dec ple wer tte
	ail del mod mes lie nes rte era rem nne nst mit ool lit ena ill cou ica ory rip ade mpa tch ith tem uth hes tex ake fer oth ari tre ssi ave
	epl nde ond can lac tic cte sed ult nal hed cod lle orm rch tal dis imp tar led ned sse mpo she rge onf ast ard ask rot tim ign ust pat arc
	mov mpl pri ong ppe met eck ash omm cto kin get hos fin nin mor ues ber doc thr lan ngs ler mbe hec jec dir sum ork cle sur val cry bas loo
	ipt tru tok cor ien rts chi gen ery ume whe llo sea med oin set eal ity lde anc ric acc log cla ark ryp ypt equ ked ecr hor ern ise ger cli
	ndo rev war ute cts new eam att cur hol now ell nch sel ndi unc spa ght ays igh fol ffe urn add ved ali ann cop ish pte tai hou rse lon ron
	ged rel wit rsi ene api mma ize ath nta eed rro ary ets elo ime win cks has pli sin imi ial gre pts ike ree mai sig ept cer sid ows hen clo
	ese iss ven ota ale arg esc ara lar cce put way epe ink rom ata ole dle bel sit hat mis sha ntr cut ini mas poi pea emp emb row nfi fai req
	kno lim rap atc mea rce amp ram exc ude ras def hea ict als htt ttp exi ous tel eth spe owe epa etr eed las att acc inc num abl tab tal tly tot sum ali
	cau lai unl umb`)

// ranked returns a function for the ranks of words, from 1, which are computed on the first call.
func ranked(words string) func() map[string]int {
	return sync.OnceValue(func() map[string]int {
		ranks := map[string]int{}
		for w := range strings.FieldsSeq(words) {
			ranks[w] = len(ranks) + 1
		}
		return ranks
	})
}

// commonness returns how much more frequent a gram is in notes than its bytes suggest.
func commonness(gram string) float64 {
	if rank := commonGrams()[gram]; rank > 0 {
		return 10 + 1000/float64(rank+10)
	}
	if strings.IndexByte(gram, ' ') >= 0 {
		return 6
	}
	return 1
}

// newKeywords returns a finder for words, which are lower case and not empty.
func newKeywords(words []string) *keywords {
	all := make([]keyword, len(words))
	for i, w := range words {
		all[i] = keyword{text: w, before: anyByte}
	}
	return newKeywordFinder(all)
}

func newKeywordFinder(words []keyword) *keywords {
	k := &keywords{}
	k.longer = &k.grams
	grams := map[uint32][]gramEntry{}
	after := map[uint32]byteClasses{}
	for i, w := range words {
		k.words = append(k.words, w.text)
		for parity := range 2 {
			offset := w.rarestGram(parity)
			entry := gramEntry{int32(i), int32(offset)}
			if len(w.text) == 1 {
				list := &k.single[-offset][byteClassOf[w.text[0]]]
				*list = append(*list, entry)
				continue
			}
			for gram, follows := range w.gramsAt(offset) {
				grams[gram] = append(grams[gram], entry)
				after[gram] |= follows
			}
		}
	}
	for gram := range grams {
		k.grams[gram>>6] |= 1 << (gram & 63)
	}
	for i, set := range k.grams {
		k.ranks[i] = uint16(len(k.lists))
		for low := range byteClasses(set).all() {
			gram := uint32(i)<<6 | low
			first := len(k.entries)
			k.entries = append(k.entries, grams[gram]...)
			k.lists = append(k.lists, gramList{int32(first), int32(len(k.entries)), after[gram]})
		}
	}
	k.addSingle(words)
	return k
}

// addSingle adds the grams of words of one byte.
func (k *keywords) addSingle(words []keyword) {
	for _, w := range words {
		if len(w.text) > 1 {
			continue
		}
		if k.longer == &k.grams {
			longer := k.grams
			k.longer = &longer
		}
		for parity := range 2 {
			for gram := range w.gramsAt(w.rarestGram(parity)) {
				k.grams[gram>>6] |= 1 << (gram & 63)
			}
		}
	}
}

// bytesAt returns the classes of the bytes that can stand at an offset from the start of w.
func (w *keyword) bytesAt(offset int) byteClasses {
	set := anyByte
	switch {
	case offset < 0:
		return w.before
	case offset < len(w.at):
		set = w.at[offset]
	}
	if offset < len(w.text) {
		set &= 1 << byteClassOf[w.text[offset]]
	}
	return set
}

// rarestGram returns the offset of the rarest gram of w among those at even (parity 0) or
// odd (parity 1) offsets.
func (w *keyword) rarestGram(parity int) (offset int) {
	least := math.Inf(1)
	for o := -parity; o < len(w.text); o += 2 {
		share := w.bytesAt(o).share() * w.bytesAt(o+1).share() * w.bytesAt(o+2).share()
		if o >= 0 && o+3 <= len(w.text) {
			share *= commonness(w.text[o : o+3])
		}
		if share < least {
			least, offset = share, o
		}
	}
	return offset
}

// gramsAt returns the grams that can stand at an offset of w, each with the classes of the
// bytes that can follow it.
func (w *keyword) gramsAt(offset int) iter.Seq2[uint32, byteClasses] {
	var sets [4]byteClasses
	for i := range sets {
		if sets[i] = w.bytesAt(offset + i); offset+i >= len(w.text) && sets[i]>>byteClassOf['\n']&1 != 0 {
			sets[i] |= 1 // the end of the text
		}
	}
	return func(yield func(uint32, byteClasses) bool) {
		for a := range sets[0].all() {
			for b := range sets[1].all() {
				for c := range sets[2].all() {
					if !yield(a<<(2*classBits)|b<<classBits|c, sets[3]) {
						return
					}
				}
			}
		}
	}
}

// find calls found for each occurrence of a word in text, nearly in order.
func (k *keywords) find(text string, found func(word int32, start int)) {
	n := len(text)
	if n == 0 {
		return
	}
	grams, classes := &k.grams, &byteClassOf
	first := uint32(classes[text[0]])
	i := 0
	for ; i+8 < n; i += 8 { // four grams at once: hardly one of them is in the bitmap
		b := text[i+1 : i+9]
		c1, c2, c3, c4 := uint32(classes[b[0]]), uint32(classes[b[1]]), uint32(classes[b[2]]), uint32(classes[b[3]])
		c5, c6, c7, c8 := uint32(classes[b[4]]), uint32(classes[b[5]]), uint32(classes[b[6]]), uint32(classes[b[7]])
		hit0, hit1 := grams.at(first, c1, c2), grams.at(c2, c3, c4)
		hit2, hit3 := grams.at(c4, c5, c6), grams.at(c6, c7, c8)
		if (hit0|hit1|hit2|hit3)&1 != 0 {
			if hit0&1 != 0 {
				k.compare(text, i, gramOf(first, c1, c2), found)
			}
			if hit1&1 != 0 {
				k.compare(text, i+2, gramOf(c2, c3, c4), found)
			}
			if hit2&1 != 0 {
				k.compare(text, i+4, gramOf(c4, c5, c6), found)
			}
			if hit3&1 != 0 {
				k.compare(text, i+6, gramOf(c6, c7, c8), found)
			}
		}
		first = c8
	}
	for ; i < n; i += 2 {
		if first, second, third := gramAt(text, i); grams.at(first, second, third)&1 != 0 {
			k.compare(text, i, gramOf(first, second, third), found)
		}
	}
}

// gramAt returns the classes of three bytes of text; what is beyond its end is of class 0.
func gramAt(text string, i int) (first, second, third uint32) {
	if i+2 < len(text) {
		return uint32(byteClassOf[text[i]]), uint32(byteClassOf[text[i+1]]), uint32(byteClassOf[text[i+2]])
	}
	if i+1 < len(text) {
		second = uint32(byteClassOf[text[i+1]])
	}
	return uint32(byteClassOf[text[i]]), second, 0
}

// compare calls found for the words in text that have a gram, which is at i.
func (k *keywords) compare(text string, i int, gram uint32, found func(word int32, start int)) {
	if set := k.longer[gram>>classBits]; set>>(gram&63)&1 != 0 {
		list := &k.lists[int(k.ranks[gram>>classBits])+bits.OnesCount64(set&(1<<(gram&63)-1))]
		after := uint8(0)
		if i+3 < len(text) {
			after = byteClassOf[text[i+3]]
		}
		if list.after>>after&1 != 0 {
			for _, e := range k.entries[list.first:list.end] {
				if start := i - int(e.offset); k.hasWord(text, start, e.word) {
					found(e.word, start)
				}
			}
		}
	}
	if k.longer == &k.grams {
		return
	}
	for place := range k.single {
		for _, e := range k.single[place][gram>>((2-place)*classBits)%(1<<classBits)] {
			if k.hasWord(text, i+place, e.word) {
				found(e.word, i+place)
			}
		}
	}
}

// hasWord reports whether a word is in text at start.
func (k *keywords) hasWord(text string, start int, word int32) bool {
	w := k.words[word]
	if start < 0 || len(w) > len(text)-start {
		return false
	}
	for i := range len(w) {
		if c := text[start+i]; c != w[i] && lower(c) != w[i] {
			return false
		}
	}
	return true
}

// in reports whether text contains one of the words.
func (k *keywords) in(text string) bool {
	in := false
	k.find(text, func(int32, int) { in = true })
	return in
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
