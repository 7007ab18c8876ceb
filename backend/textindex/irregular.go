package textindex

import "strings"

// irregularForms are English words with irregular forms that no stemmer knows, each followed
// by them. People ask when somebody did go, and the answer says that she went. Forms that are
// function words are not here, nor is "said", which says little.
const irregularForms = `
	arise arose arisen; awake awoke awoken; bear bore borne born; beat beaten; become became; begin began begun;
	bend bent; bind bound; bite bit bitten; bleed bled; blow blew blown; break broke broken; breed bred;
	bring brought; build built; burn burnt; buy bought; catch caught; choose chose chosen; cling clung; come came;
	creep crept; deal dealt; dig dug; draw drew drawn; dream dreamt; drink drank drunk; drive drove driven;
	eat ate eaten; fall fell fallen; feed fed; feel felt; fight fought; find found; flee fled; fling flung;
	fly flew flown; forbid forbade forbidden; forget forgot forgotten; forgive forgave forgiven; freeze froze frozen;
	get got gotten; give gave given; go went gone goes; grind ground; grow grew grown; hang hung; hear heard;
	hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lay laid; lead led; lean leant; leap leapt;
	learn learnt; leave left; lend lent; lie lain lying; light lit; lose lost; make made; mean meant; meet met;
	pay paid; prove proven; ride rode ridden; ring rang rung; rise rose risen; run ran; see saw seen;
	seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot; show shown;
	shrink shrank shrunk; sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; smell smelt;
	speak spoke spoken; speed sped; spell spelt; spend spent; spill spilt; spin spun; spoil spoilt; spring sprang sprung;
	stand stood; steal stole stolen; stick stuck; sting stung; strike struck stricken; strive strove striven;
	swear swore sworn; sweep swept; swell swollen; swim swam swum; swing swung; take took taken; teach taught;
	tear tore torn; tell told; think thought; throw threw thrown; understand understood; wake woke woken;
	wear wore worn; weave wove woven; weep wept; win won; wind wound; withdraw withdrew withdrawn; write wrote written;
	child children; foot feet; goose geese; knife knives; leaf leaves; life lives;
	loaf loaves; man men; mouse mice; person people; shelf shelves; thief thieves; tooth teeth; wife wives; wolf wolves;
	woman women; criterion criteria; index indices; matrix matrices; phenomenon phenomena; vertex vertices`

// irregular has the words of irregular forms.
var irregular = func() map[string]string {
	all := map[string]string{}
	for line := range strings.SplitSeq(irregularForms, ";") {
		words := strings.Fields(line)
		for _, form := range words[1:] {
			all[form] = words[0]
		}
	}
	return all
}()
