// Package retrieval measures how well a search answers questions, on a data set with known
// answers.
package retrieval

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A Dataset is a set of texts and of queries with known answers, in the usual form:
// corpus.jsonl and queries.jsonl with objects that have _id and text, and qrels.tsv with
// query, text and relevance.
type Dataset struct {
	Name    string
	Corpus  []Text
	Queries []Text // those that have an answer
	Answers map[string]map[string]int
}

// A Text is a text of the corpus, or a query.
type Text struct {
	ID    string `json:"_id"`
	Title string `json:"title"`
	Text  string `json:"text"`

	// Group separates data sets of many small stores: a query is asked only in the store of
	// its group. "" is a group too.
	Group string `json:"group"`

	Kind string `json:"kind"` // of a query, if the data set tells kinds apart
}

// Load reads the data set in a folder.
func Load(folder string) (*Dataset, error) {
	d := &Dataset{Name: filepath.Base(folder), Answers: map[string]map[string]int{}}
	var err error
	if d.Corpus, err = readTexts(filepath.Join(folder, "corpus.jsonl")); err != nil {
		return nil, err
	}
	queries, err := readTexts(filepath.Join(folder, "queries.jsonl"))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, "qrels.tsv")
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(strings.TrimRight(string(data), "\r\n"), "\n") {
		fields := strings.Split(strings.TrimRight(line, "\r"), "\t")
		if i == 0 && fields[0] == "query-id" {
			continue
		}
		if len(fields) != 3 {
			return nil, fmt.Errorf("%s, line %d: has %d fields; query, text and relevance are needed", file, i+1, len(fields))
		}
		relevance, err := strconv.Atoi(fields[2])
		if err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, i+1, err)
		}
		if relevance <= 0 {
			continue
		}
		if d.Answers[fields[0]] == nil {
			d.Answers[fields[0]] = map[string]int{}
		}
		d.Answers[fields[0]][fields[1]] = relevance
	}
	for _, q := range queries {
		if d.Answers[q.ID] != nil {
			d.Queries = append(d.Queries, q)
		}
	}
	if len(d.Queries) == 0 {
		return nil, fmt.Errorf("%s: no query has an answer", folder)
	}
	return d, nil
}

// Kinds returns the kinds of the queries, in the order in which they come.
func (d *Dataset) Kinds() (kinds []string) {
	for _, q := range d.Queries {
		if q.Kind != "" && !slices.Contains(kinds, q.Kind) {
			kinds = append(kinds, q.Kind)
		}
	}
	return kinds
}

func readTexts(file string) (texts []Text, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for n := 1; s.Scan(); n++ {
		var t Text
		if err := json.Unmarshal(s.Bytes(), &t); err != nil {
			return nil, fmt.Errorf("%s, line %d: %w", file, n, err)
		}
		if t.ID == "" {
			return nil, fmt.Errorf("%s, line %d: has no _id", file, n)
		}
		texts = append(texts, t)
	}
	return texts, s.Err()
}
