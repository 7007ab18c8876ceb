package textindex

import "testing"

func TestLanguage(t *testing.T) {
	for text, want := range map[string]Language{
		"":                     English,
		"kubectl apply -f x":   English,
		"The cat is on a mat.": English,
		"Die Katze ist nicht auf der Matte, sondern unter dem Tisch.": German,
		"Le chat n'est pas sur le tapis, il est dans la cuisine.":     French,
		"El gato no está en la cocina, sino con los vecinos.":         Spanish,
		"Il gatto non è nella cucina, ma con gli altri.":              Italian,
		"O gato não está na cozinha, mas com os vizinhos.":            Portuguese,
		"De kat is niet in de keuken, maar bij het raam.":             Dutch,
		"Katten är inte i köket, utan på mattan och sover.":           Swedish,
		"Katten er ikke på kjøkkenet, men hun sover hos meg.":         Norwegian,
		"Kissa ei ole keittiössä, mutta se on siellä.":                Finnish,
		"A macska nincs a konyhában, hanem az ablakban van.":          Hungarian,
		"Pisica nu este în bucătărie, ci pe covor și doarme.":         Romanian,
		"Kedi mutfakta değil, ama bu evde çok var.":                   Turkish,
		"Кошка не на кухне, она спит под столом.":                     Russian,
		"القطة ليست في المطبخ بل على السجادة":                         Arabic,
		"деплой сервер":                                               Russian,
		"東京に行く":                                                       English, // no words that have stems
	} {
		if got := read("", text).language; got != want {
			t.Errorf("%q is in language %d, want %d", text, got, want)
		}
	}
}

func TestStems(t *testing.T) {
	for _, test := range []struct {
		language     Language
		one, another string
	}{
		{English, "connection", "connected"},
		{English, "city", "cities"},
		{English, "go", "went"},
		{English, "going", "gone"},
		{English, "child", "children"},
		{English, "saw", "saws"}, // the tool
		{English, "saw", "see"},
		{German, "Häuser", "haus"}, // a query may lack the umlaut
		{French, "préférait", "préférer"},
		{French, "chevaux", "cheval"},
		{Spanish, "corrieron", "corrió"},
		{Russian, "городов", "город"},
		{Finnish, "taloissa", "talot"},
	} {
		if !shareStem(test.language, test.one, test.another) {
			t.Errorf("language %d: %q and %q have no stem in common", test.language, test.one, test.another)
		}
	}
	if shareStem(English, "university", "unicorn") {
		t.Error("university and unicorn have the same stem")
	}
}

func shareStem(l Language, one, another string) bool {
	for _, x := range stems(l, one, fold(one)) {
		for _, y := range stems(l, another, fold(another)) {
			if x == y {
				return true
			}
		}
	}
	return false
}

// A stemmer must stand any word.
func FuzzStems(f *testing.F) {
	for _, word := range []string{"running", "y", "ll", "", "éé", "\xff", "größte", "бежать", "ﷺ", "ம"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		for l := range languages {
			for _, stem := range stems(l, word, fold(word)) {
				if stem == "" && fold(word) != "" {
					t.Fatalf("language %d: %q has an empty stem", l, word)
				}
			}
		}
	})
}
