package textindex

import (
	"math/bits"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Language is one that Snowball has a stemmer for.
type Language uint8

// The languages. Index files have these numbers, so their order must not change.
const (
	English Language = iota
	German
	French
	Spanish
	Italian
	Portuguese
	Dutch
	Swedish
	Norwegian
	Danish
	Finnish
	Hungarian
	Romanian
	Turkish
	Russian
	Arabic
	Tamil
	languages // how many there are
)

// A LanguageSet is a set of languages.
type LanguageSet uint32

// Has reports whether l is in the set.
func (s LanguageSet) Has(l Language) bool { return s&(1<<l) != 0 }

// With returns the set with l in it.
func (s LanguageSet) With(l Language) LanguageSet { return s | 1<<l }

// functionWords are words that most sentences of a language have, as forms: articles,
// pronouns, prepositions, auxiliary verbs. They tell the language of a text, and count
// little in a query.
var functionWords = [languages]string{
	English: `a about after all also am an and any are as at be because been before being but by can cannot could
		did do does doing done don for from had has have having he her here hers him his how i if in into is it its just
		ll me might more most must my no nor not of off on only or other our out over own re s shall she should so some
		such t than that the their them then there these they this those to too under until up upon us ve very was we
		were what when where which while who whom whose why will with would you your`,
	German: `aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein dem den der des dich
		die dies diese dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch fur gegen
		habe haben hat hatte hatten hier ich ihm ihn ihnen ihr ihre im in ist ja jede jeder jedes kann kein keine konnte
		man mein meine mich mir mit muss nach nicht noch nur ob oder ohne sein seine sich sie sind so soll sollte uber
		um und uns unser unter vom von vor wann war waren warum was weil welche welcher wenn wer werden wie wieder wir
		wird wo wurde wurden zu zum zur`,
	French: `a ai alors au aucun aussi autre aux avait avec avez avoir avons c ce cela ces cet cette ceux chez comme
		comment d dans de des donc dont du elle elles en entre es est et etaient etait ete etre eu fait il ils j je l la
		laquelle le lequel les leur leurs lui m ma mais me meme mes moi mon n ne nos notre nous on ont ou par pas plus
		pour pourquoi qu quand que quel quelle qui s sa sans se sera ses si son sont sous suis sur t ta te tes toi ton
		tous tout toute toutes tu un une vos votre vous y`,
	Spanish: `a al algo ante antes aquel aqui asi aunque cada como con cual cuales cuando cuanto de del desde donde
		dos durante e el ella ellas ellos en entre era eran es esa esas ese eso esos esta estaba estan estar estas este
		esto estos fue fueron ha habia han hasta hay la las le les lo los mas me mi mis mucho muy nada ni no nos
		nosotros o otra otro para pero por porque que quien quienes se sea ser si sin sobre son soy su sus tambien
		tanto te tiene todo todos tu tus un una uno unos usted y ya yo`,
	Italian: `a ad agli ai al alla alle allo anche avere c che chi ci come con cosa cui da dagli dai dal dalla dalle
		degli dei del della delle dello di dove e ed era erano essere fra gli ha hanno ho i il in io l la le lei li lo
		loro lui ma mi mia mio ne negli nei nel nella nelle noi non o per perche piu quale quando quanto quella quelle
		quelli quello questa queste questi questo se sei si sia sono sta stato su sua sue sugli sui sul sulla suo suoi
		ti tra tu tutti tutto un una uno voi`,
	Portuguese: `a ao aos aquela aquele as ate com como da das de dela dele delas deles depois do dos e ela elas ele
		eles em entre era eram essa essas esse esses esta estao estar estas estava este estes eu foi foram ha isso isto
		ja lhe mais mas me mesmo meu minha muito na nas nao nem no nos nossa nosso num numa o os ou para pela pelas
		pelo pelos por porque qual quando que quem se seja sem ser seu seus so sua suas tambem te tem tinha um uma
		umas uns voce voces`,
	Dutch: `aan al alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er
		ge geen geweest had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je kan kon kunnen maar me
		meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over reeds te tegen toch toen
		tot u uit van veel voor waar waarom wanneer want waren was wat we wel werd wezen wie wij wil worden zal ze zelf
		zich zij zijn zo zonder zou`,
	Swedish: `alla allt att av bara blev bli blir da de dem den denna deras dess det detta dig din dina du dar efter
		eller en er ett for fran ha hade han hans har henne hennes hon honom hur i inte jag kan kunde man med mellan men
		mig min mina mot mycket nagon nagot nar ni nu och om oss over pa sa samma sedan sig sin sina ska skulle som till
		under upp ut utan vad var vara varfor vart vem vi vid vilka vilken`,
	Norwegian: `alle at av bare ble bli blir da de deg dei deim dem den denne der dere deres det dette di din disse du
		eller en er et etter for fordi fra ha hadde han hans har henne hennes her hun hva hvem hvilken hvis hvor
		hvordan hvorfor i ikke ingen jeg kan kom kunne man mange med meg meget mellom men mer min mitt mot noe noen nar
		na og ogsa om opp oss over pa sa samme seg selv si sin sitt skal skulle slik som til um under ut uten var vart
		ved vi vil ville vare vart`,
	Danish: `af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig din disse dog du efter
		eller en end er et for fordi fra ham han hans har havde have hende hendes her hos hun hvad hvem hver hvilken
		hvis hvor hvordan hvorfor i ikke ind jeg jer jo kan kunne man mange med meget men mig min mine mit mod nar noget
		nogle nu og ogsa om op os over pa sadan selv sig sin sine sit skal skulle som til thi ud under var ved vi vil
		ville vor være været`,
	Finnish: `ei eika eivat en ennen eras etta ettei han hanen hanet he heidan heita hyvin ja jo joka jolla jos josta
		jotka kaikki kanssa keta kuin kuinka kuka kun kunnes me meidan meilla mika mikali miksi mina minulla minun
		minut missa mita miten mukaan mutta myos ne niiden niin nyt oli olen olet olette oli olivat olla olleet ollut
		on ovat poikki saa sekä se sen siella siina sina sinun sita siita taas tai tama tassa te teidan tuo vaan vai
		vaikka vain viela voi yli`,
	Hungarian: `a abban ahogy aki akkor ami amely amikor az azert azok azon azt azutan be belul bele csak de e egy egyes
		egyik el eleg elso en ennek es ez ezek ezen ezert ezt fel felett hanem hat hogy hogyan hol igen igy ill is itt
		jo kell ki kit lehet lenne lesz lett majd meg mert mi mint minden mit mikor most nagy ne nekem nem nincs o ok
		olyan ossze ot pedig s saját sem semmi sok szamara szemben szinte talan te tehat tobb ugy ugyanis uj utan vagy
		vagyok van vannak volt voltak voltam`,
	Romanian: `a acea aceasta aceste acest acesta acolo acum ai aia al ale alt am ar are as asa asta atunci au avea
		avem avut ca cand care ce cea cei cel cele cine cu cum da daca dar de deci din dintre doar dupa e ea ei el ele
		era erau este eu fara fi fie fiecare fost i ia ii il in inca intr intre isi la le li lor lui ma mai mea mei meu
		mi mult nici nimic noastra noi nostru nu o ori pana pe pentru peste poate prin s sa sale sau se si spre sub sunt
		suntem ta tot toate toti tu un una unde unei unor unui va voi vom vor vostru`,
	Turkish: `acaba ama ancak artik asla aslinda az bana bazi belki ben benden beni benim bile bir biri birkac birsey
		biz bize bizim bu buna bunda bundan bunlar bunu bunun burada cok cunku da daha de defa degil diger diye dolayi
		en gibi hala hangi hatta hem henuz hep hepsi her hic icin ile ise iste kadar kendi ki kim kimse mi mu nasil ne
		neden nerede o olan olarak oldu oldugu olmak olsa olur on ona ondan onlar onu onun oyle sana sanki sen senin
		sey siz sizin sonra su tum uzere var ve veya ya yani yok zaten`,
	Russian: `а без был была были было быть в вам вас весь во вот все всего вы где да для до его ее если есть еще же за
		здесь и из или им их к как ко когда кто ли либо мне может мои мой мы на надо наш не него нее нет ни них но ну о
		об он она они оно от очень по под при с со так также такои там те тем то того тоже тои только том ты у уже хотя
		чего чеи чем что чтобы чье эта эти это этого этот я`,
	Arabic: `في من على الى إلى عن مع هذا هذه ذلك تلك التي الذي الذين ما ماذا متى أين كيف لماذا هل لا لم لن ليس كان
		كانت يكون قد أن ان إن أو او و ثم بل كل بعض غير بعد قبل عند منذ حتى هو هي هم نحن انا أنا انت أنت كما لكن اي أي`,
	Tamil: `ஒரு என்று மற்றும் இந்த இது என்ற கொண்டு என்பது பல ஆகும் அல்லது அவர் நான் உள்ள அந்த இவர் என முதல் என்ன
		இருந்து சில என் போன்ற வேண்டும் வந்து இதன் அது அவன் தான் பலரும் என்னும் மேலும் பின்னர் கொண்ட இருக்கும் தனது`,
}

// functionWordOf says which languages have a function word, by its form.
var functionWordOf = func() map[string]LanguageSet {
	all := map[string]LanguageSet{}
	for l, words := range functionWords {
		for w := range strings.FieldsSeq(words) {
			form := normal(w)
			all[form] = all[form].With(Language(l))
		}
	}
	return all
}()

// A script is one whose words have languages.
type script uint8

const (
	latinScript script = iota
	cyrillicScript
	arabicScript
	tamilScript
	scripts     // how many there are
	otherScript = scripts
)

// scriptOf returns the script of a form.
func scriptOf(form string) script {
	switch r, _ := utf8.DecodeRuneInString(form); {
	case r < utf8.RuneSelf || unicode.Is(unicode.Latin, r):
		return latinScript
	case unicode.Is(unicode.Cyrillic, r):
		return cyrillicScript
	case unicode.Is(unicode.Arabic, r):
		return arabicScript
	case unicode.Is(unicode.Tamil, r):
		return tamilScript
	}
	return otherScript
}

// detector counts what tells the language of a text, word by word.
type detector struct {
	words    int
	scripts  [scripts + 1]int
	function [languages]int
}

// detectWords is how many words of a text are looked at for its language.
const detectWords = 1000

func (d *detector) add(t tokenInfo) {
	if d.words == detectWords {
		return
	}
	d.words++
	d.scripts[t.script]++
	for set := t.function; set != 0; set &= set - 1 {
		d.function[bits.TrailingZeros32(uint32(set))]++
	}
}

// language returns the language with most function words; without any, or among equals,
// the first one of the script.
func (d *detector) language() Language {
	best := English
	for l := range languages {
		if d.function[l] > d.function[best] {
			best = l
		}
	}
	if d.function[best] > 0 {
		return best
	}
	most := max(d.scripts[latinScript], d.scripts[cyrillicScript], d.scripts[arabicScript], d.scripts[tamilScript])
	switch most {
	case d.scripts[latinScript]:
		return English
	case d.scripts[cyrillicScript]:
		return Russian
	case d.scripts[arabicScript]:
		return Arabic
	}
	return Tamil
}
