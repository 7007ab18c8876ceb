package embedding

import (
	"encoding/json"
	"fmt"
)

// body returns what is sent.
//
// Sources: the API references of OpenAI (create embeddings), Voyage AI (text embeddings) and
// Ollama (generate embeddings).
func (h *HTTP) body(texts []string, purpose Purpose) any {
	o := h.opts
	switch o.API {
	case Voyage:
		kind := "document"
		if purpose == Query {
			kind = "query"
		}
		return struct {
			Model      string   `json:"model"`
			Input      []string `json:"input"`
			InputType  string   `json:"input_type"`
			Truncation bool     `json:"truncation"`
			Dimension  int      `json:"output_dimension,omitempty"`
		}{o.Model, texts, kind, true, o.Dimensions}
	case Ollama:
		return struct {
			Model      string   `json:"model"`
			Input      []string `json:"input"`
			Truncate   bool     `json:"truncate"`
			Dimensions int      `json:"dimensions,omitempty"`
		}{o.Model, texts, true, o.Dimensions}
	}
	return struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Format     string   `json:"encoding_format"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{o.Model, texts, "float", o.Dimensions}
}

// parse returns the vectors of an answer to count texts.
func (h *HTTP) parse(text []byte, count int) ([][]float32, error) {
	// An error of package json may repeat a part of the answer.
	notJSON := fmt.Errorf("%w: the answer is not of the API %q", ErrVectors, h.opts.API)
	if h.opts.API == Ollama {
		var answer struct {
			Embeddings [][]float32 `json:"embeddings"`
		}
		if json.Unmarshal(text, &answer) != nil {
			return nil, notJSON
		}
		return answer.Embeddings, nil
	}
	var answer struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if json.Unmarshal(text, &answer) != nil {
		return nil, notJSON
	}
	vectors := make([][]float32, count)
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= count || vectors[d.Index] != nil {
			return nil, fmt.Errorf("%w: the answer has an index twice, or one of no text", ErrVectors)
		}
		vectors[d.Index] = d.Embedding
	}
	if len(answer.Data) != count {
		return nil, fmt.Errorf("%w: %d for %d texts", ErrVectors, len(answer.Data), count)
	}
	return vectors, nil
}
