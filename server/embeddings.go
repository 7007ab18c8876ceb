package server

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"memento"
	"memento/backend/embedding"
)

// Embeddings configures the search by meaning; see package embedding.
type Embeddings struct {
	URL        string // of the service; "": search by words alone
	API        embedding.API
	Model      string
	Dimensions int    // 0: the model's own
	KeyFile    string // with the API key of the service; "": Key
	Key        string // from MEMENTO_EMBEDDINGS_KEY; "": none
}

// embeddingsKeyVariable is the environment variable with the API key of the service.
const embeddingsKeyVariable = "MEMENTO_EMBEDDINGS_KEY"

// Searcher returns the search by meaning over a backend; nil if the configuration has none.
// The caller closes it before the backend.
func (e Embeddings) Searcher(b memento.Backend, d memento.Detector, log *slog.Logger) (*embedding.Searcher, error) {
	if e.URL == "" {
		return nil, nil
	}
	service, err := e.service()
	if err != nil {
		return nil, err
	}
	s, err := embedding.New(b, embedding.Options{Embedder: service, Detector: d, Logger: log})
	if err == nil && service.Exposed() {
		log.Warn("the contents of memories cross the network unencrypted to the service of embeddings; use https", "setting", "embeddings.url")
	}
	return s, err
}

func (e Embeddings) service() (*embedding.HTTP, error) {
	return embedding.NewHTTP(embedding.HTTPOptions{API: e.API, URL: e.URL, Model: e.Model, Dimensions: e.Dimensions, Key: e.key})
}

// key returns the API key. The file is read for each request, so that a key can be replaced.
func (e Embeddings) key() (string, error) {
	if e.KeyFile == "" {
		return e.Key, nil
	}
	info, err := os.Stat(e.KeyFile)
	if err == nil && info.Size() > maxKeyFile {
		err = fmt.Errorf("larger than %d bytes", maxKeyFile)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(e.KeyFile)
	}
	if err != nil {
		return "", errors.New("it cannot be read: " + cause(err))
	}
	return strings.TrimSpace(string(text)), nil
}

// checkEmbeddings returns what is wrong with the settings of the search by meaning.
func (c *Config) checkEmbeddings() (faults ConfigErrors) {
	e := c.Embeddings
	if e.URL == "" {
		return nil
	}
	if e.Model == "" {
		return ConfigErrors{c.SettingError("embeddings.model", "embeddings.url requires the name of a model")}
	}
	key, err := e.key()
	if err != nil {
		faults = append(faults, c.SettingError("embeddings.key_file", "%v", err))
	}
	if e.Dimensions > embedding.MaxDimensions {
		return append(faults, c.SettingError("embeddings.dimensions", "must be at most %d", embedding.MaxDimensions))
	}
	if service, err := e.service(); err != nil {
		faults = append(faults, c.SettingError("embeddings.url", "must be a URL of http or https without user and query, such as http://127.0.0.1:11434"))
	} else if key != "" && service.Exposed() {
		faults = append(faults, c.SettingError("embeddings.url", "must be https: the key would cross the network in clear text"))
	}
	return faults
}

// newMeaning makes the search by meaning, if the configuration has one.
func (s *Server) newMeaning(d Deps) (err error) {
	s.meaning, err = s.config.Embeddings.Searcher(d.Backend, d.Detector, s.logger)
	if err != nil {
		return ConfigErrors{s.config.SettingError("embeddings.url", "%v", err)}
	}
	if s.meaning != nil {
		s.metrics.registry.MustRegister(measures{"memento_embeddings_", s.meaning, s.logger})
	}
	return nil
}

// closeMeaning ends the search by meaning.
func (s *Server) closeMeaning() {
	if s.meaning != nil {
		_ = s.meaning.Close() // it has nothing to lose
	}
}

// searcher returns what searches instead of the backend; nil if the backend does.
func (s *Server) searcher() memento.Searcher {
	if s.meaning == nil {
		return nil
	}
	return s.meaning
}

// storeWritten has the vectors of a store brought up to date.
func (s *Server) storeWritten(store memento.StoreID) {
	if s.meaning != nil {
		s.meaning.Changed(store)
	}
}
