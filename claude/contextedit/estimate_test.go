package contextedit_test

import (
	"testing"

	"memento/claude/contextedit"
)

// The counts are those of Anthropic's published tokenizer (@anthropic-ai/tokenizer).
func TestEstimateText(t *testing.T) {
	for _, tt := range []struct {
		kind, text string
		tokens     int
	}{
		{"English", "The customer called on Tuesday because the steam wand of her machine drips. We advised her to tighten the nut by hand and to let the machine cool down overnight. She prefers to be contacted by e-mail in the evening.", 47},
		{"German", "Die Kundin hat am Dienstag angerufen, weil die Dampfdüse ihrer Maschine tropft. Wir haben ihr geraten, die Überwurfmutter von Hand nachzuziehen und das Gerät über Nacht abkühlen zu lassen. Sie möchte Nachrichten am liebsten abends per E-Mail erhalten, und zwar auf Deutsch. ", 85},
		{"Russian", "Клиентка позвонила во вторник, потому что паровая трубка её кофемашины протекает. Мы посоветовали затянуть гайку вручную и дать прибору остыть. Она предпочитает получать письма вечером. ", 97},
		{"Chinese", "客户星期二打来电话，因为她的咖啡机蒸汽管漏水。我们建议她用手拧紧螺母，并让机器冷却一夜。她希望晚上通过电子邮件收到消息。", 72},
		{"Japanese", "お客様は火曜日に電話をかけてきました。コーヒーマシンのスチーム管から水が漏れているためです。手でナットを締め、一晩冷ますように勧めました。", 69},
		{"Go", "func (e *editor) tokens(n int) int {\n\tif e.Scale == 0 {\n\t\treturn n\n\t}\n\treturn int(math.Round(float64(n) * e.Scale))\n}\n", 51},
		{"JSON", `{"type":"tool_use","id":"toolu_1","name":"memory","input":{"command":"view","path":"/memories/notes.md","view_range":[1,20]}}`, 43},
		{"a hash", "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed", 39},
	} {
		got := contextedit.EstimateText(tt.text)
		if share := float64(got) / float64(tt.tokens); share < 0.7 || share > 1.5 {
			t.Errorf("%s: %d tokens are estimated, and it has %d", tt.kind, got, tt.tokens)
		}
	}
}
